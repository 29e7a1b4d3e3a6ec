"""Which database the tests run on, as Django's `DATABASES`.

Each process gets databases of its own, so that several test runs can share one checkout and one server.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

POSTGRES_URL = "postgresql://postgres@127.0.0.1:5432/postgres"
MARIADB_URL = "mysql://root@127.0.0.1:3306/mysql"


def databases_for(environment: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return `DATABASES` for the kind that `CHECKOUT_TEST_DATABASE` names (sqlite when unset)."""
    kind = environment.get("CHECKOUT_TEST_DATABASE", "sqlite")
    if kind == "sqlite":
        return {"default": _sqlite()}
    if kind == "postgres":
        return {"default": _server("postgresql", environment.get("CHECKOUT_TEST_POSTGRES") or POSTGRES_URL)}
    if kind == "mariadb":
        return {"default": _mariadb(environment.get("CHECKOUT_TEST_MARIADB") or MARIADB_URL)}
    raise ValueError(f"CHECKOUT_TEST_DATABASE is {kind!r}; it must be sqlite, postgres or mariadb.")


def _sqlite() -> dict[str, Any]:
    """Return a file database: an in-memory one cannot show what WAL and several connections do."""
    stem = f"{tempfile.gettempdir()}/checkout-{os.getpid()}"
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": f"{stem}.sqlite3",
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
        "TEST": {"NAME": f"{stem}-test.sqlite3"},
    }


def _mariadb(url: str) -> dict[str, Any]:
    """Return a database as a host has it by default: Django's READ COMMITTED, the server's strict mode, utf8mb4."""
    settings = _server("mysql", url)
    settings["TEST"]["CHARSET"] = "utf8mb4"  # a server from before MariaDB 11.6 may make latin1 databases
    return settings


def _server(engine: str, url: str) -> dict[str, Any]:
    """Return a database on the server at `url`.

    In its query, `host` names a socket folder, and `disable_server_side_cursors` says that a pooler is before the server.
    """
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    return {
        "ENGINE": f"django.db.backends.{engine}",
        "NAME": unquote(parts.path.lstrip("/")) or "postgres",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.get("host", [unquote(parts.hostname or "")])[0],
        "PORT": str(parts.port or ""),
        "DISABLE_SERVER_SIDE_CURSORS": "disable_server_side_cursors" in query,
        "TEST": {"NAME": f"test_checkout_{os.getpid()}"},
    }
