"""The pages for shops are few enough to be read: at most 30,000 words, without code and without the reference."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.documents import ROOT

MOST = 30_000
OTHER_HOUSES = ("Reference", "Inside")
PAGE = re.compile(r"\]\(([\w./-]+\.md)")
CODE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
WORD = re.compile(r"[^\W_]")


def pages_for_shops() -> set[Path]:
    """Return the pages of the first page's sections but those of the other houses."""
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^## (.+)$", index, flags=re.MULTILINE)
    sections = zip(parts[::2], parts[1::2], strict=True)
    names = {page for name, text in sections if name not in OTHER_HOUSES for page in PAGE.findall(text)}
    return {(ROOT / "docs" / name).resolve() for name in names if not name.startswith("reference/")}


def words_of(page: Path) -> int:
    """Return how many words a page has besides its blocks of code; what has no letter and no digit is none."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    return sum(bool(WORD.search(word)) for word in text.split())


def test_the_house_for_shops_has_at_most_so_many_words() -> None:
    """If it has more, shorten a page, or move what no shop needs to the section Inside."""
    words = {page.name: words_of(page) for page in pages_for_shops()}
    assert len(words) > 20
    assert sum(words.values()) <= MOST, sorted(words.items(), key=lambda each: -each[1])
