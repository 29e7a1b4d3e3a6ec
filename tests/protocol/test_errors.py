"""The error object of the service."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.protocol.errors import ErrorObject, parse_error


@pytest.mark.spec("ERR-01", "ERR-02", "ERR-03", "HTT-01", "HTT-16")
def test_code_message_and_details_are_read() -> None:
    """Any code is text: their list is not shown."""
    body = b'{"code":"fm000048","message":"Bad","details":"amount"}'
    assert parse_error(body) == ErrorObject(code="fm000048", message="Bad", details="amount")


@pytest.mark.spec("ERR-01", "ERR-02", "ERR-03", "HTT-01")
@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"message":"Unauthorized"}', ErrorObject(message="Unauthorized")),
        (b'{"code":5,"message":null,"details":{}}', ErrorObject()),
        (b"", ErrorObject()),
        (b"<html>Bad gateway</html>", ErrorObject()),
        (b"[1]", ErrorObject()),
        (b'{"code":"a","code":"b"}', ErrorObject()),
        (b'{"message":"a\\nb\\u001b[31m\\u2028c"}', ErrorObject(message="a b [31m c")),
        (b'{"message":"' + b"x" * 5000 + b'"}', ErrorObject(message="x" * 500)),
    ],
)
def test_other_bodies_give_what_they_have(body: bytes, error: ErrorObject) -> None:
    """Details may be missing, a body may be no JSON, and texts become one bounded line."""
    assert parse_error(body) == error


@pytest.mark.spec("HTT-01")
@given(st.binary(max_size=200))
def test_no_body_raises(body: bytes) -> None:
    """An error while reading an error would hide it."""
    assert isinstance(parse_error(body), ErrorObject)
