"""Locations of errors without their values: an exception's text may contain personal data or secrets."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

MOST_ERRORS: Final = 10
"""How many exceptions of a chain are described."""
FIRST_FRAMES, LAST_FRAMES = 10, 40
"""How many frames of a deep recursion are given."""

_THIS_APP: Final = str(Path(__file__).resolve().parents[1])
_STANDARD: Final = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
_FRAMEWORK: Final = frozenset({"django", "asgiref"})


class Place(NamedTuple):
    """A line of code that was running: ``/srv/shop/receivers.py:12 in grant``."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        """Return the text for a log, which any database and any terminal can show."""
        text = f"{self.file}:{self.line} in {self.function}"
        return text.encode("ascii", "backslashreplace").decode("ascii")


def error_location(error: BaseException) -> str:
    """Return the exception's class and where it was raised, for instance ``KeyError in grant (shop/receivers.py:12)``."""
    place = _innermost_of_the_shop(_places(error))
    if place is None:
        return type(error).__name__
    return f"{type(error).__name__} in {place.function} ({place.file}:{place.line})"


def traceback_of(error: BaseException, *, messages: bool = False) -> str:
    """Return the classes and frames of an exception and of its causes; their messages only on request.

    The first line names the innermost frame of the shop's own code, where its engineer begins to look.
    """
    chain = _chain(error)
    return "\n".join(line for relation, each in chain for line in _description(relation, each, messages))


def _description(relation: str, error: BaseException, messages: bool) -> Iterator[str]:
    places = _places(error)
    at = _innermost_of_the_shop(places)
    yield f"{relation}{_class_of(error)}" + (f" at {at}" if at else "")
    if messages:
        yield f"  {_message_of(error)}"
    if len(places) > FIRST_FRAMES + LAST_FRAMES:
        yield from (f"  {place}" for place in places[:FIRST_FRAMES])
        yield f"  ... {len(places) - FIRST_FRAMES - LAST_FRAMES} more ..."
        places = places[-LAST_FRAMES:]
    yield from (f"  {place}" for place in places)


def _chain(error: BaseException) -> list[tuple[str, BaseException]]:
    """Return the exception, its causes and contexts, and the members of groups; each once."""
    found: list[tuple[str, BaseException]] = []
    waiting: list[tuple[str, BaseException | None]] = [("", error)]
    while waiting and len(found) < MOST_ERRORS:
        relation, each = waiting.pop(0)
        if each is None or any(each is known for _, known in found):
            continue
        found.append((relation, each))
        if isinstance(each, BaseExceptionGroup):
            waiting += [("in the group: ", member) for member in each.exceptions]
        if each.__cause__ is not None:
            waiting.append(("caused by: ", each.__cause__))
        elif not each.__suppress_context__:
            waiting.append(("raised while handling: ", each.__context__))
    return found


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as failed:  # noqa: BLE001  # the exception is the shop's own class
        return f"(its message cannot be read: {type(failed).__name__})"


def _class_of(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _places(error: BaseException) -> list[Place]:
    """Return the frames that the exception passed, outermost first."""
    frames = traceback.walk_tb(error.__traceback__)
    return [Place(frame.f_code.co_filename, line, frame.f_code.co_qualname) for frame, line in frames]


def _innermost_of_the_shop(places: list[Place]) -> Place | None:
    """Return the innermost place in the shop's code.

    If the shop is installed like a library, its code is recognised only by the call from this app: then the outermost place
    is returned.
    """
    foreign = [place for place in places if not _is_ours_or_standard(place.file)]
    own = [place for place in foreign if _INSTALLED.isdisjoint(Path(place.file).parts)]
    installed = [place for place in foreign if _FRAMEWORK.isdisjoint(Path(place.file).parts)]
    found = own[-1:] or installed[:1] or places[-1:]
    return found[0] if found else None


def _is_ours_or_standard(file: str) -> bool:
    path = Path(file)
    if file.startswith("<") or path.is_relative_to(_THIS_APP):
        return True
    return _INSTALLED.isdisjoint(path.parts) and any(path.is_relative_to(folder) for folder in _STANDARD)
