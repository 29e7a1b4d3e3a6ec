"""The sandbox's own JSON: accepted input, and the exact bytes of its output."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from checkout_integration.sandbox.wire.json_text import NotJsonError, read_json, write_json


@pytest.mark.spec("AUT-04", "ORD-22")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("100.00"), "100"),
        (Decimal("9.90"), "9.9"),
        (Decimal("0.12"), "0.12"),
        (Decimal("1E+3"), "1000"),
        (Decimal(0), "0"),
        (True, "true"),
        (None, "null"),
        ("a<b>&c", '"a\\u003cb\\u003e\\u0026c"'),
        ("Zoë Ω 😀", '"Zoë Ω 😀"'),
        ("line\u2028end", '"line\\u2028end"'),
        ({"b": [1, "x"], "a": {}}, '{"b":[1,"x"],"a":{}}'),
    ],
)
def test_it_writes_as_the_service_does(value: Any, text: str) -> None:
    """Numbers come as from a double, `< > &` are escaped, other characters are raw, keys keep their order."""
    assert write_json(value) == text


@pytest.mark.spec("EP1-15", "EP2-04")
def test_numbers_are_read_exactly() -> None:
    """A fraction becomes the Decimal of its own digits."""
    assert read_json(b'{"amount": 0.1000}')["amount"] == Decimal("0.1000")


@pytest.mark.spec("SVC-08")
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b"NaN", b"[1e999999999]", b"[" * 100_000, b"1" * 5000, '{"a":1}'.encode("utf-16")],
)
def test_anything_else_is_not_json(body: bytes) -> None:
    """Whatever the bytes are, they are read or refused by the one error."""
    with pytest.raises(NotJsonError):
        read_json(body)


def test_a_lone_surrogate_is_replaced() -> None:
    """Half a surrogate pair, which UTF-8 cannot write, does not come through."""
    assert write_json(read_json(b'"a\\ud800"')).encode() == b'"a?"'
