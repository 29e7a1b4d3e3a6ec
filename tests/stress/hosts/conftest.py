"""Every host of the table, one at a time, shared by all cases."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from checkout_integration.sandbox import Sandbox, SandboxProject, SandboxServer
from tests.stress.hosts.running import KIND, Running, migrate, running
from tests.stress.hosts.table import HOSTS, SERVERS
from tests.support.scale import FULL
from tests.support.wire import SECRET


def _served() -> list[object]:
    """Each host under its own server; in the full run under all of them that can serve it."""
    return [
        pytest.param(
            (name, server),
            id=f"{name}, {server}",
            marks=[pytest.mark.django_db] if host.every_database else [],
        )
        for name, host in HOSTS.items()
        for server in (SERVERS if FULL else [host.server])
    ]


@pytest.fixture(scope="session")
def service() -> Iterator[str]:
    """The sandbox, in the place of the service; it sends nothing."""
    project = SandboxProject(project_id="test-project", secret_key=SECRET)
    with Sandbox([project]) as sandbox, SandboxServer(sandbox) as server:
        yield server.url


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives a SQLite file with a host's tables, made once for each model of accounts."""
    made: dict[object, Path] = {}

    def give(name: str) -> Path:
        accounts = HOSTS[name].changes.get("AUTH_USER_MODEL")
        if accounts not in made:
            folder = tmp_path_factory.mktemp("tables")
            made[accounts] = folder / "migrated.sqlite3"
            migrate(name, folder, str(made[accounts]))
        return made[accounts]

    return give


@pytest.fixture(scope="session", params=_served())
def host(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    tables: Callable[[str], Path],
    service: str,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[Running]:
    """A running host; no request made it raise."""
    name, server = request.param
    folder = tmp_path_factory.mktemp("host")
    if HOSTS[name].every_database and KIND != "sqlite":
        database = _on_the_server(name, folder, django_db_blocker)
    else:
        database = _copied(tables(name), folder)
    with database as named, running(name, server, folder, named, service) as served:
        yield served
    assert "Traceback" not in served.log(), served.log()[-5000:]


@contextmanager
def _copied(file: Path, folder: Path) -> Iterator[str]:
    """A file of the host's own, and the same again as its replica."""
    shutil.copy(file, folder / "replica.sqlite3")
    yield str(shutil.copy(file, folder / "host.sqlite3"))


@contextmanager
def _on_the_server(name: str, folder: Path, blocker: DjangoDbBlocker) -> Iterator[str]:
    """A database of the host's own on the server of this run."""
    database = f"test_host_{os.getpid()}"

    def execute(statement: str) -> None:
        with blocker.unblock(), connection._nodb_cursor() as cursor:
            cursor.execute(f"{statement} {database}")

    execute("CREATE DATABASE")
    try:
        migrate(name, folder, database)
        yield database
    finally:
        execute("DROP DATABASE")
