"""Each event of the service is announced once, whatever the order of arrival."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice, permutations

import pytest

from checkout_integration.policy.observation import Observation
from checkout_integration.policy.signals import new_events
from checkout_integration.policy.state import OrderState
from checkout_integration.protocol.vocabulary import Event
from tests.support.policy.histories import trial
from tests.support.policy.observations import at, creation, known, message, paid, row, written

SUCCESS, REFUND = Event.PAYMENT_SUCCESS, Event.PAYMENT_REFUND
CHARGEBACK, CANCEL = Event.PAYMENT_CHARGEBACK, Event.PAYMENT_CANCEL

PAY = paid(10)
CANCELED = message("payment.cancel", 20, status="canceled")
DECLINED = message("payment.cancel", 20, status="rejected")
REFUNDED = message("payment.refund", 30, status="refunded", refunded_at=written(at(30)))
CHARGED_BACK = message("payment.chargeback", 40, status="chargeback")
PARTLY = message("payment.refund", 30, status="refunded", refund={"amount": "1", "currency": "USD"})


def announced(*observations: Observation) -> list[Event]:
    """The events announced on the way, in their order."""
    events: list[Event] = []
    before = OrderState()
    for observation in observations:
        after = known(observation, before=before)
        events += new_events(before, after)
        before = after
    return events


@pytest.mark.spec("EVT-03", "EVT-04", "EVT-05", "EVT-06")
@pytest.mark.parametrize(
    ("observations", "events"),
    [
        ([creation()], []),
        ([row("created"), row("pending")], []),
        ([PAY], [SUCCESS]),
        ([row("processed")], [SUCCESS]),
        ([CANCELED], [CANCEL]),
        ([DECLINED], [CANCEL]),
        ([row("canceled")], [CANCEL]),
        ([row("rejected")], [CANCEL]),
        ([PAY, REFUNDED], [SUCCESS, REFUND]),
        ([PAY, row("refunded", 60)], [SUCCESS, REFUND]),
        ([PAY, CHARGED_BACK], [SUCCESS, CHARGEBACK]),
        ([PAY, CANCELED], [SUCCESS, CANCEL]),
        ([PAY, REFUNDED, CHARGED_BACK], [SUCCESS, REFUND, CHARGEBACK]),
        ([message("payment.unheard_of", status="processed")], []),
    ],
)
def test_each_event_is_announced_when_it_is_first_known(
    observations: list[Observation], events: list[Event]
) -> None:
    """By notification or by list, and not again."""
    assert announced(*observations) == events
    assert announced(*observations, *observations) == events


@pytest.mark.spec("EVT-03", "EVT-04")
def test_one_message_may_tell_of_two_events() -> None:
    """A late success with the order read after the chargeback: only the chargeback is announced."""
    assert announced(message("payment.success", 60, delivery_try=6, status="chargeback")) == [CHARGEBACK]


@pytest.mark.parametrize("reversal", [REFUNDED, CHARGED_BACK, row("refunded", 60), row("chargeback", 60)])
@pytest.mark.parametrize("success", [PAY, row("processed", 5)])
def test_a_late_success_of_a_reversed_payment_is_not_announced(
    reversal: Observation, success: Observation
) -> None:
    """Goods are not granted for money that was returned."""
    assert SUCCESS not in announced(reversal, success)


def test_a_late_success_of_a_partly_refunded_payment_is_announced() -> None:
    """The rest of the money stayed."""
    assert announced(
        message("payment.refund", 30, refund={"amount": "1", "currency": "USD"}, amount="9.99"), PAY
    ) == [
        REFUND,
        SUCCESS,
    ]


@pytest.mark.spec("EVT-06")
@pytest.mark.parametrize("end", ["rejected", "canceled"])
def test_a_listed_end_of_a_paid_order_is_no_cancel(end: str) -> None:
    """It was not cancelled: the service gave up retrying a failing receiver."""
    assert announced(PAY, row(end, 2900)) == [SUCCESS]


@pytest.mark.spec("EVT-06", "STA-08")
def test_a_signed_cancel_of_a_paid_order_is_announced() -> None:
    """A signed notification counts, whether or not the list showed it first."""
    assert announced(PAY, row("rejected", 2900), DECLINED) == [SUCCESS, CANCEL]


def test_any_order_of_arrival_announces_the_same_events() -> None:
    """Except the success of a payment that was already reversed."""
    announcements = {
        frozenset(announced(*each)) - {SUCCESS}
        for each in permutations([PAY, REFUNDED, CHARGED_BACK, CANCELED])
    }
    assert announcements == {frozenset({REFUND, CHARGEBACK, CANCEL})}


@pytest.mark.spec("EVT-03", "EVT-04", "EVT-05", "EVT-06")
def test_no_event_is_announced_twice() -> None:
    """Over the generator's orderings, repetitions included.

    A cancel alone may be: known from the list, then doubted because of a success, then signed. The outbox's unique key keeps
    it to once.
    """
    for history, arrivals in (
        (history, each) for history, orders in islice(trial(7), 200) for each in orders
    ):
        events = announced(*arrivals)
        often = {event for event, times in Counter(events).items() if times > 1}
        assert often <= ({CANCEL} if history.contradicts_itself else set())
        _assert_no_success_after_a_reversal(events)


def _assert_no_success_after_a_reversal(events: Sequence[Event]) -> None:
    reversals = [events.index(each) for each in (REFUND, CHARGEBACK) if each in events]
    assert SUCCESS not in events or all(events.index(SUCCESS) < each for each in reversals)
