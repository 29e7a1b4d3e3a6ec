"""Locations of errors without values and messages."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable

import pytest

from checkout_integration.policy.log_safety import LAST_FRAMES, error_location, traceback_of
from checkout_integration.protocol.values import Secret

CANARY = "canary-of-a-traceback"


class OutOfStock(Exception):
    """A shop's own exception."""


def raised_by(act: Callable[[], object]) -> Exception:
    """The exception that this raises, with its frames."""
    try:
        act()
    except Exception as error:  # noqa: BLE001  # whatever it is
        return error
    raise AssertionError("it raised nothing")


def reserve(stock: dict[str, int], name: str = CANARY) -> int:
    """Fails with the value in the exception, in a variable and in a note."""
    try:
        return stock[name]
    except KeyError as error:
        error.add_note(CANARY)
        raise OutOfStock(f"no {name}") from error


def line_of(function: Callable[..., object], text: str) -> int:
    """The number of the line of this file's function in which the text stands."""
    source = inspect.getsource(function).splitlines()
    return int(function.__code__.co_firstlineno) + next(i for i, row in enumerate(source) if text in row)


def test_the_first_line_is_the_shops_own() -> None:
    """The class, and the file and line in which the shop's code raised."""
    first = traceback_of(raised_by(lambda: reserve({}))).splitlines()[0]
    expected = f"tests.policy.test_log_safety.OutOfStock at {__file__}:{line_of(reserve, 'raise OutOfStock')} in reserve"
    assert first == expected


def test_every_frame_follows() -> None:
    """Outermost first, as Python's own tracebacks."""
    lines = traceback_of(raised_by(lambda: reserve({}))).splitlines()
    functions = [line.rpartition(" in ")[2] for line in lines if line.startswith("  ")]
    assert functions[0] == "raised_by" and functions[2] == "reserve"


def test_what_it_was_caused_by_is_described_too() -> None:
    """The class and the line of the first exception, which is often the real fault."""
    assert f"caused by: KeyError at {__file__}:" in traceback_of(raised_by(lambda: reserve({})))


def test_no_value_and_no_message_is_in_it() -> None:
    """Neither of the exception, nor of its cause, its notes, or a variable."""
    assert CANARY not in traceback_of(raised_by(lambda: reserve({})))


def test_messages_are_in_it_where_requested() -> None:
    """Of each exception of the chain."""
    text = traceback_of(raised_by(lambda: reserve({})), messages=True)
    assert f"no {CANARY}" in text and f"'{CANARY}'" in text


def test_a_failure_inside_a_library_names_the_shops_call() -> None:
    """Django, the standard library and this app are never where the shop's engineer begins to look."""

    def parse() -> object:
        return json.loads("{")

    assert traceback_of(raised_by(parse)).splitlines()[0].endswith("<locals>.parse")
    assert "<locals>.parse (" in error_location(raised_by(parse))


def test_our_own_failure_names_our_line() -> None:
    """Without a frame of the shop's code, the innermost frame is named."""
    error = raised_by(lambda: Secret(None))  # type: ignore[arg-type]
    assert error.__traceback__ is not None
    error.__traceback__ = error.__traceback__.tb_next and error.__traceback__.tb_next.tb_next
    assert "values.py" in traceback_of(error).splitlines()[0]


def test_members_of_a_group_are_described() -> None:
    """Each with its own frames."""

    def fail_twice() -> None:
        raise ExceptionGroup(CANARY, [raised_by(lambda: reserve({})), OutOfStock()])

    text = traceback_of(raised_by(fail_twice))
    assert text.count("in the group: ") == 2 and CANARY not in text


def test_a_deep_recursion_is_cut() -> None:
    """A thousand equal frames say no more than fifty."""

    def fall() -> None:
        fall()

    lines = traceback_of(raised_by(fall)).splitlines()
    assert len(lines) < LAST_FRAMES + 20 and any("more ..." in line for line in lines)


def test_a_chain_that_bites_its_tail_ends() -> None:
    """Each exception is described once."""
    error, other = raised_by(lambda: reserve({})), OutOfStock()
    error.__cause__, other.__cause__ = other, error
    assert traceback_of(error).count("caused by: ") == 1


def test_a_message_that_cannot_be_read_is_no_failure() -> None:
    """An exception may have any __str__."""

    class Odd(Exception):
        def __str__(self) -> str:
            raise ValueError

    def fail() -> None:
        raise Odd

    assert "(its message cannot be read: ValueError)" in traceback_of(raised_by(fail), messages=True)


@pytest.mark.parametrize("error", [ValueError(CANARY), SystemExit(3)])
def test_an_exception_that_was_never_raised_has_a_class(error: BaseException) -> None:
    """It has no frames."""
    assert traceback_of(error) == error_location(error) == type(error).__name__
