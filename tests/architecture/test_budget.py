"""The size of the package: each part has a budget of lines, in `budget.toml`."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Final

import checkout_integration

PACKAGE: Final = Path(checkout_integration.__file__).parent
BUDGET: Final = Path(__file__).parent / "budget.toml"


def test_every_part_keeps_to_its_budget() -> None:
    """Files in the root of the package count as the part ``.``; a new part needs a budget of its own."""
    budget: dict[str, int] = tomllib.loads(BUDGET.read_text(encoding="utf-8"))["lines"]
    used = Counter[str]()
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0]
        if room != "migrations":
            used[room if room in budget else "."] += len(path.read_text(encoding="utf-8").splitlines())
    assert {room: lines for room, lines in used.items() if lines > budget[room]} == {}


def test_every_folder_has_a_budget() -> None:
    """A folder without one would count as a part of the root."""
    folders = {path.parent.name for path in PACKAGE.glob("*/*.py")} - {"migrations"}
    budget = tomllib.loads(BUDGET.read_text(encoding="utf-8"))["lines"]
    assert folders == set(budget) - {"."}
