"""Hooks that misbehave, and two payments for the checkout that a hook names."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.models import Installation, Notification, Order
from checkout_integration.signals import checkout_paid, payment_review, payment_success
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.shop import Listening, ShopHooks, notification, record_listed

pytestmark = pytest.mark.django_db


@pytest.mark.django_db(transaction=True)
def test_an_account_that_cannot_be_found_keeps_no_payment_out(
    checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """The account is optional; the hook's failed writes are rolled back, and the order is recorded."""
    accounts = get_user_model().objects
    accounts.create_user("taken")
    hooks.find = staticmethod(lambda user: accounts.create_user("taken"))
    assert checkout_deliver(order=OrderDocumentFactory()).status_code == 200
    order = Order.objects.select_related("user").get()
    assert order.user is not None
    assert (order.status, order.user.account, Notification.objects.get().state) == (
        "processed",
        None,
        "applied",
    )


def test_two_payments_on_one_page_for_the_checkout_that_the_hook_names(
    hooks: type[ShopHooks], listen: Listening
) -> None:
    """One pays it, the other is paid twice: as if they had come on two pages."""
    heard, review = listen(checkout_paid), listen(payment_review)
    checkout = CheckoutFactory()
    hooks.resolve = staticmethod(lambda order: checkout)
    document = {
        "amount": checkout.expected_amount,
        "original_amount": checkout.expected_amount,
        "metadata": {},
    }
    record_listed(
        [order_document_for(checkout, id=each, transaction=each, **document) for each in ("one", "two")]
    )
    flows.run_due()
    assert set(Order.objects.values_list("verdict", flat=True)) == {"verified"}
    assert (len(heard), [each["reason"] for each in review]) == (1, ["paid_twice"])


@pytest.mark.parametrize(("refunded", "status"), [("9.99", "reversed"), ("1.00", "paid")])
def test_the_hook_is_called_also_where_only_a_refund_is_known(
    checkout_deliver: Deliver, hooks: type[ShopHooks], refunded: str, status: str
) -> None:
    """The success was lost: the refund is judged as it would have been, and the form is not offered again."""
    checkout = CheckoutFactory()
    hooks.resolve = staticmethod(lambda order: checkout)
    document = order_document_for(checkout, id="in the browser", status="refunded", metadata={})
    document["refund"] = {**document["refund"], "amount": Decimal(refunded)}
    checkout_deliver(notification("payment.refund", document))
    checkout.refresh_from_db()
    assert checkout.status == status


def test_an_order_that_was_open_at_installation_and_is_paid_afterwards_is_news(
    checkout_deliver: Deliver, listen: Listening
) -> None:
    """Only orders that ended before the installation are historic: this customer pays now."""
    heard, review = listen(payment_success), listen(payment_review)
    Installation.objects.create(project="default", installed_at=timezone.now())
    created_at = (timezone.now() - timedelta(minutes=20)).isoformat()
    record_listed([OrderDocumentFactory(id="open", status="created", transaction="", created_at=created_at)])
    checkout_deliver(order=OrderDocumentFactory(id="open", created_at=created_at))
    assert Order.objects.get().verdict == "review"
    assert (len(heard), [each["reason"] for each in review]) == (1, ["unbound"])
