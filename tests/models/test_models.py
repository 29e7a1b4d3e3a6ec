"""The tables: querysets of a shop, exact numbers, and public names."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import IntegrityError, transaction

from checkout_integration import models
from checkout_integration.flows import run_due
from checkout_integration.models import Checkout, CheckoutUser, Notification, Order
from checkout_integration.models.columns import as_column_money
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.shop import Failing, Listening

pytestmark = pytest.mark.django_db


def test_paid_orders_are_those_that_pay_for_something() -> None:
    """Processed and verified; not in review, not reversed."""
    paid = OrderFactory(checkout=CheckoutFactory())
    OrderFactory()
    reversed_one = OrderFactory(checkout=CheckoutFactory(), status="refunded")
    OrderFactory(checkout=CheckoutFactory(), status="created")
    assert list(Order.objects.paid()) == [paid]
    assert list(Order.objects.refunded()) == [reversed_one]


def test_orders_of_an_account_are_those_of_its_checkouts() -> None:
    """A stranger's order that names the account is not among them."""
    ada = User.objects.create_user("ada")
    mine = OrderFactory(checkout=CheckoutFactory(user=ada))
    OrderFactory(checkout=CheckoutFactory())
    assert list(Order.objects.for_user(ada)) == [mine]


def test_orders_awaiting_receivers(listen: Listening) -> None:
    """Announced, and not done by all; not those without receivers."""
    listen(checkout_paid, Failing())
    waiting = OrderFactory(checkout=CheckoutFactory())
    assert list(Order.objects.awaiting_receivers()) == [waiting]
    run_due()
    assert list(Order.objects.awaiting_receivers()) == [waiting]
    OrderFactory()
    run_due()
    assert list(Order.objects.awaiting_receivers()) == [waiting]


def test_references_cannot_be_guessed() -> None:
    """128 bits as 32 hex digits, each its own."""
    references = {Checkout().reference for _ in range(100)}
    assert len(references) == 100
    assert all(len(each) == 32 and int(each, 16) >= 0 for each in references)


@pytest.mark.parametrize(
    ("amount", "stored"),
    [
        ("9.99", "9.99"),
        ("0.0001", "0.0001"),
        ("999999999999999.9999", "999999999999999.9999"),
        ("0.00001", "0"),
        ("0.00015", "0.0002"),
        ("1000000000000000", None),
        ("-5", "-5"),
    ],
)
def test_column_rounds_money_that_it_cannot_hold(amount: str, stored: str | None) -> None:
    """Sums stay complete; the exact value is in the document."""
    assert as_column_money(Decimal(amount)) == (None if stored is None else Decimal(stored))


def test_document_keeps_the_digits_of_numbers(checkout_deliver: Deliver) -> None:
    """Neither a float nor a rounded decimal: what the service wrote; the column rounds it."""
    fine = Decimal("0.1234567890123456789")
    checkout_deliver(order={**OrderDocumentFactory(), "amount": fine, "rate_of_tomorrow": fine})
    order = Order.objects.get()
    assert (order.amount, order.snapshot.amount) == (Decimal("0.12"), fine)
    assert order.whole_document["rate_of_tomorrow"] == fine


def test_refreshing_forgets_what_was_parsed(checkout_deliver: Deliver) -> None:
    """A refreshed instance has the fields of the new document."""
    document = OrderDocumentFactory(receipt_url="https://service.example.com/1")
    checkout_deliver(order=document)
    order = Order.objects.get()
    assert order.receipt_url == "https://service.example.com/1"
    checkout_deliver(order={**document, "receipt_url": "https://service.example.com/2"})
    order.refresh_from_db()
    assert order.receipt_url == "https://service.example.com/2"


def test_identity_of_an_order_is_unique() -> None:
    """Per project, enforced by the database."""
    order = OrderFactory()
    with pytest.raises(IntegrityError), transaction.atomic():
        Order.objects.bulk_create([Order(project=order.project, order_id=order.order_id)])
    Order.objects.bulk_create([Order(project="other", order_id=order.order_id)])


def test_user_is_the_specifications_word() -> None:
    """Importable by both names, but never in place of Django's User by an import of all."""
    assert models.User is CheckoutUser and "User" not in models.__all__


def test_customer_tells_the_latest_order(checkout_deliver: Deliver) -> None:
    """Name and e-mail are stored with the orders; a customer without orders has neither."""
    checkout_deliver(
        order=OrderDocumentFactory(user__external_id="p", user__name="Old", created_at="2026-01-01T00:00:00Z")
    )
    checkout_deliver(
        order=OrderDocumentFactory(user__external_id="p", user__name="New", created_at="2026-02-01T00:00:00Z")
    )
    assert CheckoutUser.objects.get().name == "New"
    assert CheckoutUser(project="default", external_id="nobody").external_id == "nobody"


def test_names_of_rows_are_short_and_impersonal(checkout_deliver: Deliver) -> None:
    """They stand in lists, logs and titles."""
    checkout_deliver(order=OrderDocumentFactory(receipt_email="canary@example.com", user__name="canary"))
    for model in (
        Order,
        Notification,
        CheckoutUser,
        models.Transition,
        models.OutboxMessage,
        models.PersonalData,
    ):
        for row in model._default_manager.all():
            assert str(row) and "canary" not in str(row)


def test_no_migration_is_missing() -> None:
    """The tables are those that the models describe."""
    call_command("makemigrations", "checkout_integration", check=True, dry_run=True, verbosity=0)


@pytest.mark.spec("RFD-01", "RFD-02", "RFD-03", "RFD-04", "RFD-05", "RFD-06", "ORD-31")
@pytest.mark.parametrize("amount", ["4", "2.50"])
def test_refund_of_a_notification_is_an_attribute_and_a_row(amount: str, checkout_deliver: Deliver) -> None:
    """What was refunded in all, and what the notification says of it."""
    refund = {
        "amount": Decimal(amount), "currency": "USD", "reason": f"Because {amount}", "code": f"c-{amount}",
        "receipt_number": f"R-{amount}", "receipt_url": f"https://service.example.com/receipt/{amount}",
    }  # fmt: skip
    document = OrderDocumentFactory(
        status="refunded", refunded=True, charge_amount=Decimal("9.99"), refund=refund
    )
    checkout_deliver(event="payment.refund", order=document)
    order = Order.objects.get()
    for read in (order.refund, order.refunds.get()):
        assert read is not None
        assert {name: getattr(read, name) for name in refund} == refund
