"""A database of its own on the PostgreSQL of this run, for the processes of a shop."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.databases import databases_for
from tests.support.documents import block

PASSWORD = dict(line.split("=", 1) for line in block("docs/containers.md", "# shop.env").splitlines()[1:])[
    "DATABASE_PASSWORD"
]


@contextmanager
def new_database() -> Iterator[dict[str, str]]:
    """Make a database for the shop on the PostgreSQL of this run; gives what names it, with the containers' variables."""
    import psycopg
    from psycopg import sql

    server = databases_for({**os.environ, "CHECKOUT_TEST_DATABASE": "postgres"})["default"]
    name, role = f"shop_{uuid.uuid4().hex[:12]}", f"shop_{uuid.uuid4().hex[:12]}"
    where = {
        "host": server["HOST"],
        "port": server["PORT"] or "5432",
        "user": server["USER"],
        "password": server["PASSWORD"],
    }
    with psycopg.connect(dbname=server["NAME"], autocommit=True, **where) as admin:
        words = {
            "name": sql.Identifier(name),
            "role": sql.Identifier(role),
            "secret": sql.Literal(PASSWORD),
        }
        admin.execute(sql.SQL("CREATE ROLE {role} LOGIN PASSWORD {secret}").format(**words))
        admin.execute(sql.SQL("CREATE DATABASE {name} OWNER {role}").format(**words))
        try:
            yield {
                "DATABASE_HOST": where["host"],
                "DATABASE_PORT": where["port"],
                "NAME": name,
                "USER": role,
            }
        finally:
            admin.execute(sql.SQL("DROP DATABASE {name} WITH (FORCE)").format(**words))
            admin.execute(sql.SQL("DROP ROLE {role}").format(**words))
