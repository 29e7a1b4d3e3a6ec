"""The marks of the tests against the statements of the specification."""

from __future__ import annotations

from tests.specification.mapping import PAGE, page, proofs, statements


def test_there_are_231_statements() -> None:
    """The copy of the specification's statements is whole."""
    assert len({statement.id for statement in statements()}) == 231


def test_every_statement_is_proven_and_no_other() -> None:
    """A statement without a proof is a promise; a mark that names no statement proves nothing."""
    assert set(proofs()) == {statement.id for statement in statements()}


def test_the_map_is_the_one_of_these_tests() -> None:
    """After a change of marks or citations, `python3 -m tests.specification` writes the page anew."""
    assert PAGE.read_text(encoding="utf-8") == page()
