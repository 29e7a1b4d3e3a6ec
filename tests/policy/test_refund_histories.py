"""Histories of refunds by chance: sums, questions and goods do not depend on the order of arrival, and no sum falls."""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Final

from checkout_integration.policy.refunds import Returned
from checkout_integration.policy.state import OrderState
from tests.support.policy.observations import known, message
from tests.support.policy.refund_histories import (
    CENTS,
    History,
    Payment,
    RefundEvent,
    Way,
    expected,
    histories,
)
from tests.support.scale import times

HISTORIES: Final = times(1_000, 100_000, quick_run=300)
SEED: Final = 20261126
BESIDE_PARTS: Final = frozenset({"refund_mixed"})
"""A question that ends when one currency is complete."""


def cents(sums: dict[str, Decimal]) -> dict[str, int]:
    """Sums in cents."""
    return {currency: int(amount * CENTS) for currency, amount in sums.items()}


def shown(returned: Returned, payment: Payment) -> Fraction:
    """The part of the payment that the order's one amount is."""
    amount = Fraction(returned.shown.amount or 0) * CENTS
    total = payment.totals.get(returned.shown.currency)
    return amount / total if total else Fraction(int(amount > 0))


def rows_of(returned: Returned) -> dict[str, int]:
    """The sums of the rows: of documents, and of what no document has."""
    sums: dict[str, Decimal] = {}
    rest = [(currency, amount) for currency, amount in returned.rest.items()]
    for currency, amount in [*((each.currency, each.amount) for each in returned.documents.values()), *rest]:
        if amount is not None:
            sums[currency] = sums.get(currency, Decimal(0)) + amount
    return cents(sums)


def assert_nothing_fell(before: OrderState, after: OrderState, payment: Payment) -> None:
    """No sum, no part, no full refund, and no question is taken back."""
    was, now = before.returned, after.returned
    assert all(now.sums[currency] >= amount for currency, amount in was.sums.items())
    assert shown(now, payment) >= shown(was, payment)
    assert now.full >= was.full
    assert was.problems - BESIDE_PARTS <= now.problems


def arrivals(history: History, success_at: int) -> list[RefundEvent | None]:
    """The events in their order of arrival, and the success (None) among them; a document waits for its order."""
    events: list[RefundEvent | None] = list(history.events)
    events.insert(success_at, None)
    known_at = next(
        place for place, each in enumerate(events) if each is None or each.way is not Way.DOCUMENT
    )
    return [events[known_at], *events[:known_at], *events[known_at + 1 :]]


def ended(history: History, success_at: int) -> OrderState:
    """The state after all of it, with a look at each step."""
    state, payment, seen = OrderState(), history.payment, list[RefundEvent]()
    for event in arrivals(history, success_at):
        success = message("payment.success", 1, **payment.document)
        after = known(event.observation(payment) if event else success, before=state)
        seen += [event] if event else []
        if seen:
            assert_nothing_fell(state, after, payment)
            assert_says_what_it_is(after, payment, seen)
        state = after
    return state


def assert_says_what_it_is(state: OrderState, payment: Payment, events: Sequence[RefundEvent]) -> None:
    """Sums, rows, goods and questions are those of the events so far."""
    truth, returned = expected(payment, events), state.returned
    assert cents(dict(returned.sums)) == truth.sums == rows_of(returned)
    assert (returned.full, state.fully_reversed, state.partial) == (truth.full, truth.full, not truth.full)
    assert returned.problems == truth.questions <= state.contradictions
    if returned.sums:
        amount = returned.shown.amount
        assert amount == returned.sums[returned.shown.currency]


def test_every_history_adds_up_in_any_order_of_arrival() -> None:
    """By notification, by documents and rows of the list, repeated and late, in both currencies and in others."""
    source = random.Random(SEED)
    for history in histories(HISTORIES, SEED):
        end = ended(history, 0)
        other = ended(history.shuffled(source), source.randint(0, len(history.events)))
        assert end.returned == other.returned, history
        assert (end.status, end.stands, end.contradictions) == (
            other.status,
            other.stands,
            other.contradictions,
        )
