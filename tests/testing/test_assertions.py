"""Each assertion of the test kit fails with a message that names the problem."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.http import HttpResponse

from checkout_integration import flows
from checkout_integration.models import Checkout, ReceiverRun
from checkout_integration.signals import RetryLater, checkout_paid, checkout_reversed, payment_success
from checkout_integration.testing.assertions import (
    assert_acknowledged,
    assert_granted,
    assert_in_review,
    assert_not_granted,
    assert_revoked,
)
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.flows.shop import Failing, Listening

pytestmark = pytest.mark.django_db


@pytest.fixture
def listen() -> Iterator[Listening]:
    """Connect receivers for the length of the test."""
    listening = Listening()
    yield listening
    listening.end()


def test_an_open_checkout_is_neither_granted_nor_taken_back() -> None:
    """The message has the state of the checkout."""
    checkout = CheckoutFactory()
    assert_not_granted(checkout)
    with pytest.raises(AssertionError, match="The checkout is open; no order is bound to it"):
        assert_granted(checkout)
    with pytest.raises(AssertionError, match="The checkout is open"):
        assert_revoked(checkout)


def test_a_paid_checkout_is_granted_once_its_receivers_ran(listen: Listening) -> None:
    """Paid is not enough: goods are granted by receivers."""
    listen(checkout_paid)
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout)
    with pytest.raises(AssertionError, match=r"Not done: test\.checkout_paid: due"):
        assert_granted(checkout)
    flows.run_due()
    assert_granted(checkout)
    with pytest.raises(AssertionError, match="The checkout is paid"):
        assert_not_granted(checkout)


def test_what_a_receiver_waits_for_is_in_the_message(listen: Listening) -> None:
    """In its own words."""

    def wait(**arguments: object) -> None:
        raise RetryLater(60, "not claimed yet")

    listen(checkout_paid, wait)
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout)
    flows.run_due()
    with pytest.raises(AssertionError, match=r"Not done: test\.checkout_paid: due not claimed yet\."):
        assert_granted(checkout)


def test_a_reversed_checkout_is_taken_back_once_its_receivers_ran(listen: Listening) -> None:
    """As with granting."""
    listen(checkout_reversed)
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout, status="refunded")
    with pytest.raises(AssertionError, match=r"Not done: test\.checkout_reversed: due"):
        assert_revoked(checkout)
    flows.run_due()
    assert_revoked(checkout)


def test_what_was_refunded_and_paid_again_is_granted(listen: Listening) -> None:
    """The receiver waited for the first payment until it was refunded, and has run for the second one."""
    listen(checkout_paid)
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout, status="refunded")
    OrderFactory(checkout=checkout, id="another-order")
    flows.run_due()
    assert sorted(ReceiverRun.objects.values_list("state", flat=True)) == ["done", "superseded"]
    assert_granted(checkout)


@pytest.mark.parametrize("state", [each for each in ReceiverRun.State if each != ReceiverRun.State.DONE])
def test_nothing_but_done_is_granted(listen: Listening, state: str) -> None:
    """A receiver that is due, runs, was given up or was superseded has granted nothing."""
    listen(checkout_paid)
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout)
    flows.run_due()
    assert_granted(checkout)
    ReceiverRun.objects.update(state=state)
    with pytest.raises(AssertionError, match=rf"Not done: test\.checkout_paid: {state}"):
        assert_granted(checkout)


@pytest.mark.parametrize(
    "state", [each for each in ReceiverRun.State if each != ReceiverRun.State.SUPERSEDED]
)
def test_a_receiver_that_ran_or_will_run_has_granted(listen: Listening, state: str) -> None:
    """Also one that waits or was given up: staff can run it again. Only a superseded one never runs."""
    listen(checkout_paid)
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout)
    flows.run_due()
    Checkout.objects.update(status="open")
    ReceiverRun.objects.update(state=state)
    with pytest.raises(AssertionError, match="1 receivers of checkout_paid have run, or will"):
        assert_not_granted(checkout)
    ReceiverRun.objects.update(state=ReceiverRun.State.SUPERSEDED)
    assert_not_granted(checkout)


def test_other_checkouts_and_signals_do_not_count(listen: Listening) -> None:
    """What waits for another sale, or for a fact of the service, says nothing about the goods of this one."""
    listen(checkout_paid)
    checkout, other = CheckoutFactory(), CheckoutFactory()
    OrderFactory(checkout=checkout)
    flows.run_due()
    OrderFactory(checkout=other)
    assert_granted(checkout)
    listen.end()
    listen(payment_success)
    only_a_fact = CheckoutFactory()
    OrderFactory(checkout=only_a_fact)
    Checkout.objects.filter(pk=only_a_fact.pk).update(status="open")
    assert ReceiverRun.objects.filter(message__checkout=only_a_fact).exists()
    assert_not_granted(only_a_fact)


def test_a_receiver_that_fails_has_revoked_nothing(listen: Listening) -> None:
    """One with nothing to undo is superseded, and that is as good as done."""
    listen(checkout_paid)
    listen(checkout_reversed, Failing())
    checkout = CheckoutFactory()
    order = OrderFactory(checkout=checkout)
    flows.run_due()
    OrderFactory(checkout=checkout, id=order.order_id, status="refunded")
    flows.run_due()
    with pytest.raises(AssertionError, match=r"Not done: test\.checkout_reversed: due ValueError"):
        assert_revoked(checkout)
    ReceiverRun.objects.update(state=ReceiverRun.State.SUPERSEDED)
    assert_revoked(checkout)


def test_a_review_has_its_reason() -> None:
    """Another reason is named."""
    order = OrderFactory()
    assert_in_review(order)
    with pytest.raises(AssertionError, match="The reason is 'unbound', not 'amount'"):
        assert_in_review(order, "amount")
    with pytest.raises(AssertionError, match="The verdict is verified"):
        assert_in_review(OrderFactory(checkout=CheckoutFactory()))


@pytest.mark.spec("EP5-02", "EVT-09")
@pytest.mark.parametrize("answer", [HttpResponse(status=204), HttpResponse("ok")])
def test_an_acknowledgement_is_an_empty_200(answer: HttpResponse) -> None:
    """Another status, or one byte of body, acknowledges nothing."""
    with pytest.raises(AssertionError):
        assert_acknowledged(answer)
    assert_acknowledged(HttpResponse())
