"""An app for the tests: its `flush`, which Django calls after each test with transactions, leaves what never changes."""
