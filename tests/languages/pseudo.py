"""Pseudo-localisation: a language that puts marks around each translated text, and what a page has outside the marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any

from django.utils import translation
from django.utils.translation import trans_real

BEGIN, END = "⟦", "⟧"
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w*\}")
SPOKEN = ("aria-label", "title", "placeholder", "alt", "data-label", "data-ci-copy")
"""Attributes that people read or hear."""
SILENT = {"script", "style", "pre"}
"""Elements without a text of ours: code and raw documents."""
WITHOUT_END = {"br", "hr", "img", "input", "link", "meta", "path", "rect", "line", "use"}
INLINE = {"a", "span", "strong", "time", "b", "em", "code"}
"""Elements within which a translated text may begin or end."""


class MarkedLanguage:
    """A catalogue, as Django keeps one for the active language, that knows each text. Numbers and dates are German."""

    def gettext(self, message: str) -> str:
        """Return the text in marks, and each placeholder outside: its value has to be translated by itself."""
        text = message.rpartition(trans_real.CONTEXT_SEPARATOR)[2]
        return PLACEHOLDER.sub(lambda found: f"{END}{found[0]}{BEGIN}", f"{BEGIN}{text}{END}")

    def ngettext(self, singular: str, plural: str, number: float) -> str:
        """Return the form of the number in marks."""
        return self.gettext(singular if number == 1 else plural)

    def language(self) -> str:
        """Return the language of numbers and dates."""
        return "de"

    to_language = language


@contextmanager
def marked_texts() -> Iterator[None]:
    """Let each translated text have marks."""
    before = translation.get_language()
    active: Any = vars(trans_real)["_active"]  # read now: a test that changes the languages replaces it
    active.value = MarkedLanguage()
    try:
        yield
    finally:
        translation.activate(before or "en-us")


class UnmarkedTexts(HTMLParser):
    """The texts of a page outside marks, with those of its spoken attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self._depth = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        silent = tag in SILENT or attributes.get("translate") == "no"
        if tag not in WITHOUT_END:
            self._open.append((tag, silent))
        if tag not in INLINE:
            self._depth = 0
        spoken = [attributes.get(name) or "" for name in SPOKEN]
        if attributes.get("type") in {"submit", "button"}:
            spoken.append(attributes.get("value") or "")
        for text in spoken:
            self.found.append(_outside(text, 0)[0])

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass
        if tag not in INLINE:  # a mark whose text was cut ends with its block
            self._depth = 0

    def handle_data(self, data: str) -> None:
        if any(silent for _tag, silent in self._open):
            return
        text, self._depth = _outside(data, self._depth)
        self.found.append(text)


def unmarked_words(html: str, data: Iterable[str]) -> list[str]:
    """Return texts of a page that are neither translated nor among these data, as far as they have words."""
    known = sorted(set(data), key=len, reverse=True)
    rest = (_without(" ".join(text.split()), known) for text in UnmarkedTexts(html).found)
    return sorted({text for text in rest if re.search(r"\b[^\W\d_]{2,}\b", text)})


def _outside(text: str, depth: int) -> tuple[str, int]:
    outside = []
    for letter in text:
        depth += (letter == BEGIN) - (letter == END and depth > 0)
        if depth == 0 and letter != END:
            outside.append(letter)
    return "".join(outside), depth


def _without(text: str, data: list[str]) -> str:
    for each in data:
        text = text.replace(each, "")
    return text
