"""The tests mirror the package: who knows a room of the one finds it in the other, and finds nothing but tests there."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import checkout_integration
from tests.support.documents import ROOT

PACKAGE: Final = Path(checkout_integration.__file__).parent
TESTS: Final = ROOT / "tests"
PROGRAMS: Final = {"agreement", "languages", "pictures", "reference", "specification", "stress", "support"}
"""Folders of `tests/` with more than tests: tables, generators, what breaks the product, and what tests share."""
OF_THE_ROOT: Final = {"__main__.py", "settings.py", "typed_settings.py"}
ELSEWHERE: Final = {
    "admin/order": "admin",
    "admin/reports": "admin",
    "admin/screens": "admin",
    "admin/site": "admin",
    "management/commands": "management",
    "signals": "test_signals.py",
}
"""Rooms whose tests stand together with their neighbours'."""
ROOMS: Final = sorted(
    folder.relative_to(PACKAGE).as_posix()
    for folder in (file.parent for file in PACKAGE.rglob("__init__.py"))
    if folder != PACKAGE and "migrations" not in folder.parts
)


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_has_its_tests(room: str) -> None:
    """In the folder of the same path."""
    place = TESTS / ELSEWHERE.get(room, room)
    assert place.is_file() or list(place.glob("test_*.py")), f"no tests in {place}"


def test_helpers_stand_in_support() -> None:
    """A folder of tests holds tests, fixtures and addresses, and nothing else."""
    others = {
        file.relative_to(TESTS).as_posix()
        for file in TESTS.rglob("*.py")
        if file.relative_to(TESTS).parts[0] not in PROGRAMS
        if not file.name.startswith("test_") and file.name not in {"__init__.py", "conftest.py", "urls.py"}
    }
    assert others == OF_THE_ROOT


def test_support_holds_no_tests() -> None:
    """What tests share is not collected."""
    assert list((TESTS / "support").rglob("test_*.py")) == []
