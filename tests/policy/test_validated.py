"""Merging what only user.validate says of a customer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from checkout_integration.policy.fields import Stamp, stamps_to_json
from checkout_integration.policy.moments import stamp
from checkout_integration.policy.validated import merge_validated, with_validated
from checkout_integration.protocol.user import parse_user

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
STATEMENTS: list[tuple[dict[str, Any], datetime | None]] = [
    ({"notify_new_region": True, "notify_new_region_email": "one@example.com"}, NOON),
    ({"notify_new_region": False}, NOON + timedelta(hours=1)),
    ({"notify_new_region_email": ""}, NOON + timedelta(hours=2)),
    ({"notify_new_region_email": "no-time@example.com"}, None),
]


@pytest.mark.spec("USR-13", "USR-14")
@pytest.mark.parametrize("order", list(permutations(STATEMENTS)))
def test_the_latest_statement_stands_in_every_order(
    order: list[tuple[dict[str, Any], datetime | None]],
) -> None:
    """Absent keys and empty texts do not count; a statement without a time yields to one with a time."""
    merged: dict[str, Any] = {}
    for document, at in order:
        merged = merge_validated(merged, parse_user(document), at)
    expected = {"notify_new_region": False, "notify_new_region_email": "one@example.com"}
    assert with_validated({}, {}, merged) == expected


def test_a_statement_without_a_time_is_one() -> None:
    """Where the order says nothing of the field."""
    validated = merge_validated({}, parse_user({"notify_new_region": True}), None)
    assert with_validated({"id": "1"}, {}, validated) == {"id": "1", "notify_new_region": True}


@pytest.mark.parametrize("value", ["yes", 1, {"a": 1}, None])
def test_values_of_another_type_are_no_statement(value: object) -> None:
    """The service says true or false."""
    assert merge_validated({}, parse_user({"notify_new_region": value}), NOON) == {}


@pytest.mark.parametrize(("hours", "expected"), [(1, False), (-1, True)])
def test_an_order_that_says_it_too_is_compared_by_time(hours: int, expected: bool) -> None:
    """Older services say both with payments: the later of the two stands."""
    validated = merge_validated({}, parse_user({"notify_new_region": False}), NOON + timedelta(hours=hours))
    stamps = stamps_to_json({"user.notify_new_region": Stamp(at=stamp(NOON), source="notification")})
    user = with_validated({"notify_new_region": True, "id": "1"}, stamps, validated)
    assert user == {"notify_new_region": expected, "id": "1"}
