"""A signal carries the facts of the order that it is about, whichever order's event made it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.models import Order, OutboxMessage, ReceiverRun
from checkout_integration.models.order import state_of
from checkout_integration.signals import SIGNALS, checkout_paid, checkout_reversed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.flows.shop import Failing, Heard, Listening, make_due, notification, record_listed

pytestmark = pytest.mark.django_db

START = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def heard(listen: Listening) -> Iterator[Heard]:
    """Listen to every signal about an order, and check the arguments of each call against the rows of that moment."""
    calls: Heard = []
    wrong: list[str] = []

    def check(**arguments: Any) -> None:
        calls.append(arguments)
        order, transition = Order.objects.get(pk=arguments["order"].pk), arguments["transition"]
        real = order.is_production if order.live is None else order.live
        own = {
            "transition": transition is None or transition.order_id == order.pk,
            "previous_status": arguments["previous_status"]
            in (("", order.status) if transition is None else (transition.from_status,)),
            "live": arguments["live"] is real,
            "partial": arguments["partial"] is state_of(order).partial,
        }
        wrong.extend(f"{arguments['signal'].name}: {name}" for name, is_own in own.items() if not is_own)

    for name, signal in SIGNALS.items():
        if name.startswith(("payment_", "checkout_", "order_")):
            listen(signal, check, name=f"check.{name}")
    yield calls
    assert not wrong


def events(first: dict[str, Any], second: dict[str, Any]) -> list[Callable[[Deliver], Any]]:
    """Return what happens to two orders of one checkout: both are paid, one is refunded in part, the other whole."""
    parts = {"refund": {"amount": Decimal("2.00"), "currency": "USD"}, "refunded": True}
    sent = [
        ("payment.success", first, START),
        ("payment.success", second, START + timedelta(minutes=1)),
        ("payment.refund", first | parts | {"status": "refunded"}, START + timedelta(minutes=2)),
        ("payment.chargeback", second | {"status": "chargeback"}, START + timedelta(minutes=3)),
    ]

    def by(event: str, order: dict[str, Any], at: datetime) -> Callable[[Deliver], Any]:
        return lambda deliver: deliver(notification(event, order, at=at))

    return [by(*each) for each in sent]


@pytest.mark.parametrize("sequence", list(permutations(range(4))), ids=str)
def test_each_order_of_arrival(checkout_deliver: Deliver, heard: Heard, sequence: tuple[int, ...]) -> None:
    """Of two payments the later one is reviewed, also when it came first: then the signal is about the other order."""
    checkout = CheckoutFactory()
    first, second = order_document_for(checkout), order_document_for(checkout, id="second")
    happening = events(first, second)
    for position in sequence:
        happening[position](checkout_deliver)
    assert {each["order"].order_id for each in heard} == {first["id"], "second"}


def test_two_orders_of_one_page(heard: Heard) -> None:
    """Both are new in one step: each signal has the transition of its own order, and the list says nothing of ``live``."""
    checkout = CheckoutFactory()
    page = [order_document_for(checkout, id=each, is_production=True) for each in ("first", "second")]
    record_listed(page)
    record_listed([{**row, "status": "refunded", "refunded": True} for row in page])
    flows.run_due()
    assert {each["transition"].order.order_id for each in heard if each["transition"]} == {
        row["id"] for row in page
    }
    assert {each["live"] for each in heard} == {True}


def test_signal_about_the_other_order_has_no_transition(checkout_deliver: Deliver, heard: Heard) -> None:
    """The second payment came first: the event of the first one asks for a review of the other, which it did not change."""
    checkout = CheckoutFactory()
    first = order_document_for(checkout)
    second = order_document_for(checkout, id="second")
    checkout_deliver(notification(order=second, at=START + timedelta(minutes=1)))
    checkout_deliver(notification(order=first, at=START))
    (review,) = [each for each in heard if each["signal"].name == "payment_review"]
    message = OutboxMessage.objects.get(signal="payment_review")
    assert (message.order, message.order_id) == (review["order"], review["order"].pk)
    transition = review["transition"]
    assert transition is None or transition.order_id == review["order"].pk


def test_grant_that_was_handed_over(checkout_deliver: Deliver, listen: Listening) -> None:
    """The receiver runs when another order pays: that order's facts, and nothing of what happened to the first one."""
    shaky = Failing(times=1)
    calls = listen(checkout_paid, shaky, name="shaky")
    checkout = CheckoutFactory()
    first, second = order_document_for(checkout), order_document_for(checkout, id="second")
    checkout_deliver(notification(order=first, at=START))
    checkout_deliver(notification(order=second, at=START + timedelta(minutes=1)))
    refunded = first | {"status": "refunded", "refunded": True}
    checkout_deliver(notification("payment.refund", refunded, at=START + timedelta(minutes=2)))
    make_due()
    flows.run_due()
    (call,) = calls
    assert (call["order"].order_id, call["transition"]) == ("second", None)
    assert (call["previous_status"], call["partial"], call["live"]) == ("", False, False)


def test_review_of_renamed_receivers_is_about_no_grant(checkout_deliver: Deliver, listen: Listening) -> None:
    """The review has no grant, so it is no renewal's; what it says of its order is true when it is sent."""
    listen(checkout_paid, name="old.name")
    checkout = CheckoutFactory()
    document = order_document_for(checkout)
    checkout_deliver(order=document)
    listen.end()
    listen(checkout_paid, name="new.name")
    listen.connect(checkout_reversed, lambda **kwargs: None, "undo")
    OutboxMessage.objects.update(arguments={"renewal": True, "previous_status": "created"})
    checkout_deliver(notification("payment.refund", document | {"status": "refunded", "refunded": True}))
    assert ReceiverRun.objects.filter(receiver="undo").exists()
    for review in OutboxMessage.objects.filter(signal="payment_review"):
        arguments = review.all_arguments
        assert (arguments["renewal"], arguments["previous_status"], review.transition) == (False, "", None)
