"""A plug-in for `pytest --collect-only` that writes which statements the items are marked with, as pytest sees it."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

REPORT = "CHECKOUT_MARKS_REPORT"
"""Environment variable that names the file to write."""
PLAIN = ("-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:schemathesis", "-p", "no:playwright")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Write a line for each test and statement: the test's name, the statement, and whether all its items have it."""
    items: Counter[str] = Counter()
    marked: Counter[tuple[str, str]] = Counter()
    for item in session.items:
        test = item.nodeid.partition("[")[0]
        items[test] += 1
        marked.update({(test, id_) for mark in item.iter_markers("spec") for id_ in mark.args})
    lines = [
        f"{test}\t{id_}\t{'all' if times == items[test] else 'some'}" for (test, id_), times in marked.items()
    ]
    Path(os.environ[REPORT]).write_text("\n".join(lines) + "\n", encoding="utf-8")
