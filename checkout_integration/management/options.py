"""Values that options take. Each refuses any other with one sentence, which argparse completes with the option's name."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

Number = TypeVar("Number", int, float)
KINDS: Final = {int: "a whole number", float: "a number"}


def filled(text: str) -> str:
    """Text that says something: an empty variable of a script must not stand for "all". Raises ``ArgumentTypeError``."""
    if not text.strip():
        raise ArgumentTypeError("it is empty; leave the option out, or give it a value")
    return text


def between(kind: type[Number], least: float, most: float) -> Callable[[str], Number]:
    """A parser of numbers of this kind from ``least`` to ``most``; "nan" is none. It raises ``ArgumentTypeError``."""

    def parse(text: str) -> Number:
        with suppress(ValueError):
            number = kind(text)
            if least <= number <= most:
                return number
        raise ArgumentTypeError(f"{text!r} is not {KINDS[kind]} from {least} to {most}")

    return parse
