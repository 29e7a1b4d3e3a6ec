"""What differs between an order here and its rows of the list."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from checkout_integration.policy import facts
from checkout_integration.policy.drift import Difference, differences, text_of, text_of_state
from checkout_integration.policy.moments import stamp
from checkout_integration.policy.observation import Observation, Source, Timing
from checkout_integration.policy.reversal_documents import reversal_of
from checkout_integration.policy.state import OrderState, observe
from checkout_integration.protocol.order import Order, parse_order
from checkout_integration.protocol.vocabulary import OrderStatus

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
SINCE = stamp(NOW - timedelta(minutes=15))


def order(status: str = "processed", identifier: str = "a", **changes: Any) -> Order:
    """An Order of 9.99 USD."""
    known = {"amount": Decimal("9.99"), "currency": "USD", "created_at": "2024-05-01T08:00:00Z"}
    return parse_order({"id": identifier, "status": status, **known, **changes})


def signed(event: str, document: Order, at: datetime = NOW - timedelta(hours=3)) -> Observation:
    """A notification."""
    return Observation(source=Source.NOTIFICATION, order=document, event=event, observed_at=at)


def known(*observations: Observation) -> OrderState:
    """The order here after these observations."""
    state = OrderState()
    for observation in observations:
        state = observe(state, observation, Timing())
    return state


def compared(before: OrderState | None, *rows: Order) -> list[Difference]:
    """The differences of an order whose rows are recorded now."""
    after = before or OrderState()
    for row in rows:
        seen = Observation(source=Source.LIST, order=row, observed_at=NOW)
        after = observe(after, seen if row.id == "a" else reversal_of("a", seen), Timing())
    return list(differences("a", before, after, rows, SINCE))


PAID = known(signed("payment.success", order()))


def test_equal_sides_have_no_difference() -> None:
    """A field that is missing says nothing."""
    assert compared(PAID, order()) == []
    assert compared(PAID, order(amount=None, currency=None)) == []


@pytest.mark.parametrize("minutes", [5, 60])
def test_a_list_may_lag_behind_a_notification(minutes: int) -> None:
    """For a quarter of an hour; after that it disagrees."""
    before = known(signed("payment.success", order(), NOW - timedelta(minutes=minutes)))
    found = [(each.kind, each.healed) for each in compared(before, order("rejected"))]
    assert found == ([] if minutes == 5 else [("status", False)])


def test_a_decision_of_staff_overrules_the_list() -> None:
    """They have seen what the list says; what it says later is another thing."""
    rejected = Observation(source=Source.LIST, order=order("rejected"), observed_at=NOW)
    state = observe(PAID, rejected, Timing())
    decided = OrderState(facts=facts.decide(state.facts, OrderStatus.PROCESSED, NOW), merged=state.merged)
    assert compared(decided, order("rejected")) == []
    assert [each.there for each in compared(decided, order("canceled"))] == ["canceled 9.99 USD"]


@pytest.mark.spec("STA-06")
def test_a_reversal_and_its_document_are_one_difference() -> None:
    """The order's own row may say so too."""
    refund = order("refunded", "document", refunded_at="2024-05-01T10:00:00Z")
    assert len(compared(PAID, order("refunded"), refund)) == 1
    assert len(compared(PAID, order(), refund)) == 1
    assert len(compared(None, order(), refund)) == 1


def test_a_document_explains_the_row_of_its_order() -> None:
    """That may still say processed, whenever it is read again."""
    refund = order("refunded", "document", refunded_at="2024-05-01T10:00:00Z")
    seen = Observation(source=Source.LIST, order=refund, observed_at=NOW)
    assert compared(observe(PAID, reversal_of("a", seen), Timing()), order()) == []
    assert len(compared(observe(PAID, signed("payment.refund", order("refunded")), Timing()), order())) == 1


@pytest.mark.spec("ORD-39", "ORD-40")
def test_a_charge_is_compared_too() -> None:
    """And shown where it is not the price."""
    before = known(signed("payment.success", order(charge_amount=Decimal(8), charge_currency="EUR")))
    (found,) = compared(before, order(charge_amount=Decimal(9), charge_currency="EUR"))
    assert (found.kind, found.here, found.there, found.healed) == (
        "amount",
        "processed 9.99 USD, charged 8 EUR",
        "processed 9.99 USD, charged 9 EUR",
        False,
    )


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (order(), "processed 9.99 USD"),
        (order("refunded"), "refunded 9.99 USD"),
        (order("refunded", refund={"amount": Decimal("1.50"), "currency": "USD"}), "refunded 1.50 USD"),
        (order("created", amount=None), "created"),
        (order("Jane Doe", currency="jane@example.com"), "unreadable 9.99 unreadable"),
        (order("processed", amount=Decimal("1e-30")), "processed 0.0000000000000000000000 USD"),
    ],
)
def test_texts_have_words_and_amounts_only(row: Order, text: str) -> None:
    """Whatever the service sends."""
    assert text_of(row) == text


@pytest.mark.spec("RFD-01", "RFD-02")
def test_the_text_of_a_refunded_order_has_the_refunded_amount() -> None:
    """In the currency of the charge."""
    refund = order("refunded", refund={"amount": Decimal("1.50"), "currency": "USD"})
    assert text_of_state(known(signed("payment.refund", refund))) == "refunded 1.50 USD"
