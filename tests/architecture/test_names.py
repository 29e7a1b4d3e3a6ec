"""Names say what a thing is: five words that fit everything are no part of a name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.test_tree import ROOT, tracked

VAGUE = {"told", "held", "kept", "asked", "wanted"}
FIELDS_OF_NAMES = ("id", "attr", "arg", "name", "names", "asname", "rest", "kwd_attrs")
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def names_in(source: str) -> Iterator[tuple[int, str]]:
    """Yield each name that a module defines or uses, with its line."""
    for node in ast.walk(ast.parse(source)):
        for field in FIELDS_OF_NAMES:
            value = getattr(node, field, None)
            for name in value if isinstance(value, list) else [value]:
                if isinstance(name, str):
                    yield getattr(node, "lineno", 0), name


def is_vague(name: str) -> bool:
    """Return whether one of the five words is a part of this name."""
    return not VAGUE.isdisjoint(part.lower() for part in PART.findall(name))


@pytest.mark.slow
def test_no_name_has_a_vague_word() -> None:
    """Neither a variable, an attribute, a function or a class, nor a file or a folder."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    modules = [path for path in tracked() if path.suffix == ".py"]
    vague = {
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in modules
        for line, name in names_in(path.read_text(encoding="utf-8"))
        if is_vague(name)
    }
    assert vague | {str(path) for path in tracked() if is_vague(named_by(path))} == set()


def named_by(path: Path) -> str:
    """Return the names of a file and of its folders in the repository, as one name."""
    return "_".join(path.relative_to(ROOT).parts)


@pytest.mark.parametrize(
    "source",
    [
        "told = 1",
        "row.held",
        "def keep(kept_rows): ...",
        "call(asked=1)",
        "class WantedRows: ...",
        "import rows as TOLD",
        "def test_it_is_told(): ...",
        "async def run(*held): ...",
    ],
)
def test_a_vague_name_is_found(source: str) -> None:
    """Wherever Python writes a name."""
    assert [name for _, name in names_in(source) if is_vague(name)] != []


def test_words_that_contain_one_are_allowed() -> None:
    """And so are all words in strings."""
    names = names_in("withheld = unwanted = shelter = basked = 'told'")
    assert [name for _, name in names if is_vague(name)] == []
