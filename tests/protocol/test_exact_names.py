"""Which texts name something: of a document with broken bytes."""

from __future__ import annotations

import pytest

from checkout_integration.protocol.exact_names import problem_of, unclear_name
from checkout_integration.protocol.strict_json import loads


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (rb'{"a":"x"}', ""),
        (rb'{"a":"\u0000"}', ""),
        (rb'{"a":1e400}', ""),
        (rb'{"id":"\u0000"}', "id"),
        (rb'{"event":"\u0000"}', "event"),
        (rb'{"object":{"items":[{},{"id":"\u0000"}]}}', "id"),
        (rb'{"refund":{"currency":"\u0000"}}', "currency"),
        (rb'{"from_the_future":[[{"transaction":"\u0000"}]]}', "transaction"),
        (rb'{"metadata":{"id":"\u0000","note":"\u0000"}}', ""),
        (rb'{"user":{"metadata":{"status":"\u0000"}}}', ""),
        (rb'{"metadata":{"our":"\u0000"}}', "metadata"),
        (rb'{"object":{"metadata":{"our":"\u0000"}}}', "metadata"),
        (rb'{"user":{"metadata":{"our":"\u0000"}}}', ""),
        (rb'{"metadata":{"a\u0000":1}}', "a key"),
        (rb'{"x":[{"a\u0000":{"id":"\u0000"}}]}', "a key"),
        (rb'{"description":"\u0000","status":"\u0000"}', "status"),
    ],
)
def test_names(body: bytes, name: str) -> None:
    """At any depth, but for the shop's own metadata, of which our reference is one."""
    assert unclear_name(loads(body, tolerant=True), "our") == name


def test_other_values_have_none() -> None:
    """Whatever was read otherwise."""
    values: list[object] = [None, [], "id", {"id": "\ufffd"}]
    assert [unclear_name(value) for value in values] == ["", "", "", ""]


def test_the_problem_is_a_sentence() -> None:
    """It goes into the reason of a quarantine."""
    assert problem_of("a key") == "a key has characters that cannot be read"
