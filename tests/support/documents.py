"""The code blocks of the pages that people read, as the tests execute them.

A block is named by its first line: a comment that says which file it goes into, for the shell its first command.
A page of short calls may say its imports once, and is executed as a whole.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = (
    "README.md",
    "SECURITY.md",
    *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")),
)
_BLOCK: Final = re.compile(
    r"^( *)```(python|console|crontab|js|dockerfile|ini|yaml(?=\n *# )|sql(?=\n *-- ))\n(.*?)^\1```$",
    re.MULTILINE | re.DOTALL,
)

_TEMPLATE: Final = re.compile(r"^( *)```html\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def blocks_of(page: str) -> list[str]:
    """Return the blocks that a page's reader copies, in order: Python, shell commands, and files that are named."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [textwrap.dedent(body) for _, _, body in _BLOCK.findall(text)]


def name_of(block: str) -> str:
    """Return the name of a block: its first line."""
    return block.partition("\n")[0]


def block(page: str, name: str) -> str:
    """Return one block of a page. The caller executes it: `tests/test_documents.py` relies on that."""
    (found,) = [each for each in blocks_of(page) if name_of(each) == name]
    return found


def template(page: str, name: str) -> str:
    """Return one block of HTML of a page, named by the comment in its first line."""
    text = (ROOT / page).read_text(encoding="utf-8")
    (found,) = [textwrap.dedent(body) for _, body in _TEMPLATE.findall(text) if name in name_of(body)]
    return found


def snippets(page: str) -> list[str]:
    """Return all blocks of a page whose blocks are calls without a file; the caller executes each of them."""
    return blocks_of(page)
