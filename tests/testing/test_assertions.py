"""Each assertion of the test kit fails with a message that names the problem."""

from __future__ import annotations

import pytest
from django.http import HttpResponse

from checkout_integration import flows
from checkout_integration.testing.assertions import (
    assert_acknowledged,
    assert_granted,
    assert_in_review,
    assert_not_granted,
    assert_revoked,
)
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory

pytestmark = pytest.mark.django_db


def test_an_open_checkout_is_neither_granted_nor_taken_back() -> None:
    """The message has the state of the checkout."""
    checkout = CheckoutFactory()
    assert_not_granted(checkout)
    with pytest.raises(AssertionError, match="The checkout is open; no order is bound to it"):
        assert_granted(checkout)
    with pytest.raises(AssertionError, match="The checkout is open"):
        assert_revoked(checkout)


def test_a_paid_checkout_is_granted_once_its_receivers_ran() -> None:
    """Paid is not enough: goods are granted by receivers."""
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout)
    with pytest.raises(AssertionError, match="The receivers of checkout_paid have not run yet"):
        assert_granted(checkout)
    flows.run_due()
    assert_granted(checkout)
    with pytest.raises(AssertionError, match="The checkout is paid"):
        assert_not_granted(checkout)


def test_a_reversed_checkout_is_taken_back_once_its_receivers_ran() -> None:
    """As with granting."""
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout, status="refunded")
    with pytest.raises(AssertionError, match="The receivers of checkout_reversed have not run yet"):
        assert_revoked(checkout)
    flows.run_due()
    assert_revoked(checkout)


def test_a_review_has_its_reason() -> None:
    """Another reason is named."""
    order = OrderFactory()
    assert_in_review(order)
    with pytest.raises(AssertionError, match="The reason is 'unbound', not 'amount'"):
        assert_in_review(order, "amount")
    with pytest.raises(AssertionError, match="The verdict is verified"):
        assert_in_review(OrderFactory(checkout=CheckoutFactory()))


@pytest.mark.parametrize("answer", [HttpResponse(status=204), HttpResponse("ok")])
def test_an_acknowledgement_is_an_empty_200(answer: HttpResponse) -> None:
    """Another status, or one byte of body, acknowledges nothing."""
    with pytest.raises(AssertionError):
        assert_acknowledged(answer)
    assert_acknowledged(HttpResponse())
