"""Whether the database can be written: a read-only one responds to every question."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from django.db import connection, connections
from django.db.backends.sqlite3.base import DatabaseWrapper

from checkout_integration.flows.database import is_read_only
from checkout_integration.flows.database.server import _is_read_only_file


@pytest.mark.django_db
def test_the_database_of_the_tests_can_be_written() -> None:
    """Inside a transaction, too."""
    assert not is_read_only()


@pytest.mark.django_db(transaction=True)
def test_asking_leaves_no_transaction_open() -> None:
    """And no patience changed."""
    assert not is_read_only() and not is_read_only()
    assert connection.get_autocommit() and not connection.in_atomic_block


@pytest.mark.postgres
@pytest.mark.django_db
def test_a_session_that_may_only_read() -> None:
    """As each of a replica is."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL transaction_read_only = on")
    assert is_read_only()


@pytest.mark.django_db
@pytest.mark.parametrize(("mode", "expected"), [("ro", True), ("rw", False)])
def test_a_file_that_may_only_be_read(tmp_path: Path, mode: str, expected: bool) -> None:
    """SQLite refuses every change; a file that somebody else writes to just now can be written."""
    path = tmp_path / "database.sqlite3"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("CREATE TABLE checkout_integration_installation (project TEXT)")
    settings = {
        **connections.databases["default"],
        "NAME": f"file:{path}?mode={mode}",
        "OPTIONS": {"uri": True},
    }
    wrapper = DatabaseWrapper({**settings, "ENGINE": "django.db.backends.sqlite3", "TIME_ZONE": None}, "file")
    try:
        assert _is_read_only_file(wrapper) is expected
        writer.execute("BEGIN IMMEDIATE")
        assert _is_read_only_file(wrapper) is expected
    finally:
        writer.close()
        wrapper.close()
