"""PostgreSQL behind a pooler that gives each transaction another connection: the tests of the guarantees pass there too."""
