"""Texts in the cells of tables: no word is so long that a table is wider than its window, or breaks in its middle."""

from __future__ import annotations

import re
from typing import Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from checkout_integration.admin.site.values import NOTHING, Value, visible

LONGEST_WORD: Final = 20
"""Characters of a word that stay on one line."""
LONGEST_IN_LIST: Final = 80
_SIGNS: Final = "._/@:&=?"
# A line may end at a hyphen anyway.
_LONG_WORD: Final = re.compile(rf"([^\s-]{{{LONGEST_WORD + 1},}})")
_PIECE: Final = re.compile(rf"[^{_SIGNS}]{{1,{LONGEST_WORD}}}[{_SIGNS}]*|[{_SIGNS}]+")


def breakable(text: Value) -> Value:
    """Return a text whose long words may end a line after a sign, such as the dots of a receiver's name. HTML stays."""
    parts = [] if isinstance(text, SafeString) else _LONG_WORD.split(str(text))
    if len(parts) < 2:
        return text
    parts[1::2] = [_broken(word) for word in parts[1::2]]
    return format_html_join("", "{}", ((part,) for part in parts))


def in_list(value: object) -> Value:
    """Return a text for a cell of a list: long ids show their beginning and end, and in whole under a resting mouse."""
    whole = visible(value)
    cut = whole if len(whole) <= LONGEST_IN_LIST else whole[:LONGEST_IN_LIST] + "…"
    words = [_shortened(word) for word in re.split(r"(\s+)", cut)]
    shown = "".join(words)
    if shown == whole:
        return breakable(shown) or NOTHING
    css_class = "ci-id" if len(words) == 1 and len(shown) <= LONGEST_WORD else ""
    return format_html('<span class="{}" title="{}">{}</span>', css_class, whole, breakable(shown))


def _broken(word: str) -> SafeString:
    return format_html_join(SafeString("<wbr>"), "{}", ((piece,) for piece in _PIECE.findall(word)))


def _shortened(word: str) -> str:
    """Return the beginning and the end of a long word; names of code are made of parts that say something each."""
    is_name = "." in word and all(part.isidentifier() for part in word.rstrip("…").split("."))
    return word if len(word) <= LONGEST_WORD or is_name else f"{word[:8]}…{word[-4:]}"
