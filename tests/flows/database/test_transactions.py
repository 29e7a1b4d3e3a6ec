"""Known behaviour of a database connection."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from checkout_integration.flows.database.transactions import keeps_old_snapshots


@pytest.mark.parametrize(
    ("vendor", "level", "keeps"),
    [
        ("mysql", "repeatable read", True),
        ("mysql", "Read Committed", False),
        ("mysql", None, True),
        ("postgresql", "repeatable read", False),
        ("sqlite", None, False),
    ],
)
def test_only_mariadb_keeps_old_snapshots(vendor: str, level: str | None, keeps: bool) -> None:
    """And only below READ COMMITTED."""
    connection: Any = SimpleNamespace(vendor=vendor, settings_dict={"OPTIONS": {"isolation_level": level}})
    assert keeps_old_snapshots(connection) is keeps
