"""How much was given back: what notifications state, and what reversal documents add up to."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations

import pytest

from checkout_integration.policy.refunds import Refunded, from_json, join, to_json, total

STATED = {"stated": Refunded(amount=Decimal(5), currency="USD")}


def document(name: str, amount: str | None, currency: str = "USD") -> dict[str, Refunded]:
    """A reversal document of this amount."""
    return {f"document:{name}": Refunded(amount=Decimal(amount) if amount else None, currency=currency)}


def joined(*parts: dict[str, Refunded]) -> dict[str, Refunded]:
    """All of them together, in this order."""
    together: dict[str, Refunded] = {}
    for part in parts:
        together = join(together, part)
    return together


@pytest.mark.spec("RFD-01")
def test_documents_add_up() -> None:
    """Each is a refund of its own, and the same one twice is one."""
    refunds = joined(STATED, document("a", "5"), document("b", "4.99"), document("a", "5"))
    assert total(refunds, "USD") == Decimal("9.99")


def test_a_notification_states_the_same_money_again() -> None:
    """The larger of both is the refunded amount."""
    assert total(joined(STATED, document("a", "3")), "USD") == 5
    assert total(STATED, "USD") == 5


def test_the_order_of_arrival_does_not_matter() -> None:
    """Two statements in one place: the larger one stands."""
    parts = [
        STATED,
        {"stated": Refunded(amount=Decimal(7), currency="USD")},
        document("a", "3"),
        document("a", None),
    ]
    ends = [joined(*order) for order in permutations(parts)]
    assert all(end == ends[0] for end in ends)
    assert total(ends[0], "USD") == 7


@pytest.mark.parametrize("other", [document("a", None), document("a", "1", "EUR")])
def test_an_amount_that_is_not_known_is_no_sum(other: dict[str, Refunded]) -> None:
    """Callers treat the refund as a full one."""
    assert total(joined(STATED, other), "USD") is None
    assert total({}, "USD") is None


def test_the_row_keeps_them() -> None:
    """To the last digit."""
    refunds = joined(STATED, document("a", "4.990"), document("b", None))
    assert from_json(to_json(refunds)) == refunds
