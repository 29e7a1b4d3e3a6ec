"""Which parts of which pages are written from the code.

A part stands between two comments of Markdown, `<!-- from the code: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.reference import calls, kit, rights, surroundings, words
from tests.support.documents import ROOT

FOLDER: Final = ROOT / "docs" / "reference"
PART: Final = re.compile(r"(<!-- from the code: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
SECTIONS: Final[Mapping[str, Callable[[], str]]] = {
    name: section
    for module in (calls, surroundings, kit, words, rights)
    for name, section in vars(module).items()
    if getattr(section, "is_section", False)
}


def pages() -> list[Path]:
    """Return the pages of the reference."""
    return sorted(FOLDER.glob("*.md"))


def written(text: str) -> str:
    """Return a page's text with each of its parts as the code is now."""
    return PART.sub(lambda part: f"{part[1]}\n{SECTIONS[part[2]]()}\n\n{part[3]}", text)
