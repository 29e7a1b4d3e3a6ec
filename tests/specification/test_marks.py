"""The marks of the tests against the statements of the specification."""

from __future__ import annotations

from tests.specification.mapping import proofs, statements


def test_marks_name_existing_statements() -> None:
    """A mark that names no statement proves nothing."""
    assert set(proofs()) <= {statement.id for statement in statements()}


def test_there_are_231_statements() -> None:
    """The copy of the specification's statements is whole."""
    assert len({statement.id for statement in statements()}) == 231
