"""What a page is made of: its elements and their attributes, without the texts in them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser

TEXTS = frozenset({"value", "title"})
"""Attributes that are shown and never followed."""
_DANGEROUS = re.compile(r"\s*(?:javascript|vbscript|data)\s*:", re.IGNORECASE)


@dataclass
class Shape(HTMLParser):
    """How often each element with its names of attributes stands on a page, and addresses that would run."""

    elements: Counter[tuple[str, ...]] = field(default_factory=Counter)
    dangerous: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag, *sorted(name for name, _ in attrs)] += 1
        self.dangerous += [
            value for name, value in attrs if name not in TEXTS and value and _DANGEROUS.match(value)
        ]

    def handle_comment(self, data: str) -> None:
        self.elements["comment",] += 1

    def handle_pi(self, data: str) -> None:
        self.elements["instruction",] += 1


def shape_of(html: str) -> Shape:
    """The shape of a page or of a piece of one."""
    shape = Shape()
    shape.feed(html)
    shape.close()
    return shape


def added(html: str, harmless: str) -> list[object]:
    """What a page has that the harmless one has not: elements, attributes, addresses that run."""
    one, other = shape_of(html), shape_of(harmless)
    return [*(one.elements - other.elements), *one.dangerous]
