"""The pictures of the pages: made by a command, shown by a page, and small."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.documents import PAGES, ROOT
from tests.support.paths.example import Example

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = ROOT / "docs" / "pictures"
SHOWN = re.compile(r"!\[([^\]]+)\]\((?:docs/)?(pictures/[\w-]+\.webp)\)")
LARGEST = 100_000
"""Bytes of a picture: each one that is made anew stays in the repository's history."""


@pytest.mark.browser
def test_each_picture_can_be_made_anew(browser: Browser, example: Example, tmp_path: Path) -> None:
    """What `python3 -m tests.pictures` walks through is still there, and there are no other pictures."""
    from tests.pictures.taking import take

    assert take(browser, example, tmp_path) == {path.name for path in FOLDER.iterdir()}


def test_each_picture_is_shown_and_small() -> None:
    """By a page of docs or the README, with words for those who do not see it."""
    shown = {name for page in PAGES for _, name in SHOWN.findall((ROOT / page).read_text(encoding="utf-8"))}
    assert shown == {f"pictures/{path.name}" for path in FOLDER.iterdir()}
    assert [path.name for path in FOLDER.iterdir() if path.stat().st_size > LARGEST] == []
