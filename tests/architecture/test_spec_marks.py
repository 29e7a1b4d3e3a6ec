"""The `spec` marks: each names statements that the specification has."""

from __future__ import annotations

import ast
import csv
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


def marks() -> Iterator[tuple[str, str]]:
    """Yield each file of tests with each statement id that it marks."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.spec":
                yield from ((path.name, ast.literal_eval(argument)) for argument in node.args)


def test_marks_name_statements_of_the_specification() -> None:
    """A mark with an unknown id would prove nothing."""
    ledger = os.environ.get("CHECKOUT_SPEC_LEDGER")
    if not ledger:
        pytest.skip("CHECKOUT_SPEC_LEDGER does not name the list of statements")
    with Path(ledger).open(encoding="utf-8", newline="") as lines:
        known = {row["id"] for row in csv.DictReader(lines)}
    assert [mark for mark in marks() if mark[1] not in known] == []
