"""Which statement is obeyed where and proven by what, read from the source itself; on each side of the wire.

Code cites a statement's id in a comment or docstring at the line that obeys it; `marks` says what a test proves.
The package has two readings of the specification that share no parser: the client and the app on one side, the
sandbox on the other. A statement is obeyed and proven on both, or `one_sided.toml` says why one side has nothing to
show. Standard library only, so that the map can be made anywhere.
"""

from __future__ import annotations

import ast
import csv
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.specification.marks import Claim, claims_of

ROOT = Path(__file__).resolve().parents[2]
STATEMENTS = Path(__file__).with_name("statements.csv")
ONE_SIDED = Path(__file__).with_name("one_sided.toml")
APP, SANDBOX = "app", "sandbox"
SIDES = (APP, SANDBOX)
_CITING = {".py", ".html", ".js", ".yaml"}
_ID = re.compile(r"\b[A-Z]{2}[A-Z0-9]-\d\d\b")
_SPAN = re.compile(r"\b([A-Z]{2}[A-Z0-9])-(\d\d) to \1-(\d\d)\b")

Files = dict[str, list[Claim]]
"""The claims of each module of tests, by its path from the root."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement of the specification, with its chapter."""

    id: str
    section: str
    text: str


def statements() -> list[Statement]:
    """Return all statements, in the specification's order."""
    with STATEMENTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [Statement(id=row["id"], section=row["section"], text=row["statement"]) for row in rows]


def claims() -> Files:
    """Return the claims of all modules of tests that make any."""
    read = {
        path.relative_to(ROOT).as_posix(): list(claims_of(ast.parse(text)))
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if "pytest.mark.spec(" in (text := path.read_text(encoding="utf-8"))
    }
    return {path: made for path, made in read.items() if made}


def citations() -> dict[str, list[str]]:
    """For each id that the product cites, the files that do; "ORD-01 to ORD-47" cites each of them."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "checkout_integration").rglob("*")):
        if path.suffix not in _CITING or not path.is_file():
            continue
        for id_ in sorted(set(_cited(path.read_text(encoding="utf-8")))):
            found.setdefault(id_, []).append(path.relative_to(ROOT).as_posix())
    return found


def one_sided() -> dict[tuple[str, str], str]:
    """Return why a side does not show a statement, by statement and side."""
    rows = tomllib.loads(ONE_SIDED.read_text(encoding="utf-8"))["statement"]
    return {(row["id"], row["side"]): row["why"] for row in rows}


def sides_of(path: str) -> tuple[str, ...]:
    """Return the sides that a file of the tests or of the package speaks of; the tests of their agreement, of both."""
    if path.startswith("tests/agreement/"):
        return SIDES
    return (SANDBOX,) if path.startswith(("tests/sandbox/", "checkout_integration/sandbox/")) else (APP,)


def _cited(text: str) -> Iterator[str]:
    yield from _ID.findall(text)
    for chapter, first, last in _SPAN.findall(text):
        yield from (f"{chapter}-{number:02}" for number in range(int(first), int(last) + 1))
