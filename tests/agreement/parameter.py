"""One row of the table, and values that many rows share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter of creation.

    Attributes:
        statements: where the specification speaks of it.
        order, token: its path in the two requests; "" where it has none.
        good: values that it may have, limits included.
        bad: values that it may not have: other types, and one beyond each limit.
        empty_is_absent: "" means "not given", as for every text.
    """

    name: str
    statements: tuple[str, ...]
    order: str
    token: str
    good: Sequence[Any]
    bad: Sequence[Any]
    empty_is_absent: bool = True


TEXT_GOOD: Final = ("x", "Größe ✓", "x" * 255)
TEXT_BAD: Final = (5, True, ["x"], {"value": "x"}, "x" * 256)
FLAG_BAD: Final[tuple[Any, ...]] = ("yes", 1, [], {}, "")
OBJECT_BAD: Final = ("x", 5, True, ["x"], "")
