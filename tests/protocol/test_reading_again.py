"""Reading a document that shares values with one that was read: the same as reading all of it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.protocol.order import ITEM, parse_order, reread_order
from tests.support.protocol.vectors import vector

COMPLETE = vector("order")
ITEMS = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("platform", "platform_id", "id", "amount"), st.sampled_from(["steam", "gog", "", None, 5])
    ),
)
VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        "",
        "text",
        False,
        True,
        7,
        Decimal("9.99"),
        "2024-05-01T10:00:00Z",
        {},
        {"amount": "x"},
        {"id": "1"},
        [],
        [1],
    ]
)
CHANGES = st.dictionaries(st.sampled_from([*COMPLETE, "unheard_of"]), VALUES, max_size=6)
LOST = st.sets(st.sampled_from([*COMPLETE]), max_size=6)


@given(CHANGES, CHANGES, LOST)
def test_an_order_is_read_again(before: dict[str, Any], after: dict[str, Any], lost: set[str]) -> None:
    """Whichever values differ, disappear or were unreadable, in the first document or in the second."""
    first = {**COMPLETE, **before}
    second = {name: value for name, value in {**first, **after}.items() if name not in lost}
    order = reread_order(second, parse_order(first))
    assert order == parse_order(second)
    assert order.document is second


@given(ITEMS, ITEMS)
def test_a_second_name_is_read_again(before: dict[str, Any], after: dict[str, Any]) -> None:
    """A field that is sent under two names differs as soon as one of them does."""
    assert ITEM.reread(after, ITEM(before)) == ITEM(after)


def test_what_is_shared_is_not_read_again() -> None:
    """Parts with snapshots of their own are the same objects."""
    first = parse_order(COMPLETE)
    second = reread_order({**COMPLETE, "status": "refunded"}, first)
    assert (second.items is first.items, second.user is first.user) == (True, True)
