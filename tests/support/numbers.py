"""Numbers of JSON that the service's and our own readers accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def numbers(node: Any) -> Iterator[float]:
    """Yield every number with a fraction or exponent."""
    if isinstance(node, float):
        yield node
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from numbers(inner)


def readable(number: float) -> bool:
    """Tell whether a number is in the range that is read."""
    return number == 0 or 1e-20 <= abs(number) < 1e21
