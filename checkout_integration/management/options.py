"""Values of options. Each parser refuses a wrong one with one sentence, to which argparse adds the option's name."""

from __future__ import annotations

import getpass
import os
from argparse import ArgumentTypeError
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, TypeVar
from urllib.parse import urlsplit

Number = TypeVar("Number", int, float)
KINDS: Final = {int: "a whole number", float: "a number"}


def filled(text: str) -> str:
    """Return a text that is not empty: an empty variable of a script must not mean "all". Raises ``ArgumentTypeError``."""
    if not text.strip():
        raise ArgumentTypeError("it is empty; leave the option out, or give it a value")
    return text


def between(kind: type[Number], least: float, most: float) -> Callable[[str], Number]:
    """Return a parser of numbers from ``least`` to ``most``; "nan" is refused. It raises ``ArgumentTypeError``."""

    def parse(text: str) -> Number:
        with suppress(ValueError):
            number = kind(text)
            if least <= number <= most:
                return number
        raise ArgumentTypeError(f"{text!r} is not {KINDS[kind]} from {least} to {most}")

    return parse


def moment(text: str) -> datetime:
    """Return a date, or a time, as an aware time; one without a zone is in UTC. Raises ``ArgumentTypeError``."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(
            f"{text!r} is no date or time such as 2026-05-31 or 2026-05-31T12:00+02:00"
        ) from None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def system_user() -> str:
    """Return the name of the system's user who runs this process; their number where the system has no name for them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # in a container
        return f"user {os.getuid()}"


def address(text: str) -> str:
    """Return the address of a site, without a path. Raises ``ArgumentTypeError``."""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
        raise ArgumentTypeError(f"{text!r} is no address of a site such as https://your.host")
    return text.rstrip("/")
