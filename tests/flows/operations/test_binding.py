"""Binding an order to a checkout by hand, and accepting payments from before the installation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection

from checkout_integration import flows
from checkout_integration.flows.operations import CheckoutDescription
from checkout_integration.models import (
    Checkout,
    Grant,
    Incident,
    Installation,
    Order,
    OutboxMessage,
    Receiver,
    Transition,
)
from checkout_integration.signals import checkout_paid, checkout_reversed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.documents import block
from tests.support.flows.shop import Listening, make_due, notification, record_listed

pytestmark = pytest.mark.django_db
PAID = {"type": "simple", "amount": Decimal("9.99"), "original_amount": Decimal("9.99"), "currency": "USD"}


@pytest.fixture
def staff() -> User:
    """A member of staff."""
    return User.objects.create_user("grace", is_staff=True)


def unbound(deliver: Deliver, **changes: Any) -> Order:
    """A payment of 9.99 USD that names no checkout of this shop."""
    document = OrderDocumentFactory(**{**PAID, "metadata": {}, **changes})
    deliver(order=document)
    order = Order.objects.get(order_id=document["id"])
    assert (order.verdict, order.verdict_reason) == ("review", "unbound")
    return order


def new_checkout(**columns: Any) -> Checkout:
    """A checkout of 9.99 USD."""
    made: Checkout = CheckoutFactory(
        **{"type": "simple", "expected_amount": "9.99", "currency": "USD", **columns}
    )
    return made


def test_what_pays_for_the_checkout_is_verified_and_granted(
    checkout_deliver: Deliver, listen: Listening, staff: User
) -> None:
    """The receiver gets the checkout; order, checkout and history have the member of staff and the reason."""
    heard, order, checkout = listen(checkout_paid), unbound(checkout_deliver), new_checkout()
    change = flows.operations.bind_order(order, to=checkout, staff=staff, reason="The buyer sent the receipt")
    assert (change.verdict_before, change.verdict_after) == ("review (unbound)", "verified")
    assert (change.checkout_before, change.checkout_after) == ("open", "paid")
    assert change.signals == ("checkout_paid",)
    flows.run_due()
    assert [each["checkout"] for each in heard] == [checkout]
    order.refresh_from_db()
    assert (order.checkout, order.verdict) == (checkout, "verified")
    transition = Transition.objects.latest("pk")
    assert (transition.staff, transition.reason) == (staff, "The buyer sent the receipt")
    assert Incident.objects.get(kind="review:unbound").staff == staff


def test_what_does_not_is_in_review_until_it_is_accepted(
    checkout_deliver: Deliver, listen: Listening, staff: User
) -> None:
    """Bound, it is judged like any other payment; accepted, its goods are granted for that checkout."""
    heard, order, checkout = (
        listen(checkout_paid),
        unbound(checkout_deliver),
        new_checkout(expected_amount="12"),
    )
    change = flows.operations.bind_order(order, to=checkout, staff=staff, reason="a discount")
    assert (change.verdict_after, change.incidents) == ("review (amount)", ("review:amount",))
    flows.run_due()
    assert heard == []
    order.refresh_from_db()
    (expected,) = flows.operations.preview_decision(order, Transition.Act.ACCEPT)
    assert flows.operations.accept_payment(order, staff=staff, reason="a discount") == expected
    assert (expected.checkout_after, expected.signals) == ("paid", ("checkout_paid",))
    flows.run_due()
    assert [each["checkout"] for each in heard] == [checkout]
    assert not Incident.objects.filter(resolved_at=None).exists()


@pytest.mark.parametrize(
    ("described", "verdict"),
    [
        (CheckoutDescription(amount=Decimal("9.99"), currency="USD", description="500 gems"), "verified"),
        (CheckoutDescription(amount=Decimal("12"), currency="USD"), "review (amount)"),
        (CheckoutDescription(amount=Decimal("9.99"), currency="EUR"), "review (currency)"),
        (CheckoutDescription(type="product", amount=Decimal("9.99"), currency="USD"), "review (type)"),
    ],
)
def test_a_new_checkout_is_what_staff_describe(
    checkout_deliver: Deliver, staff: User, described: CheckoutDescription, verdict: str
) -> None:
    """For a payment that no checkout was made for; it is judged by the description."""
    order = unbound(checkout_deliver)
    change = flows.operations.bind_order(order, to=described, staff=staff, reason="sold by phone")
    checkout = Checkout.objects.get()
    assert (change.checkout, change.verdict_after) == (checkout.reference, verdict)
    assert (checkout.type, checkout.expected_amount, checkout.currency, checkout.description) == (
        *(described.type, described.amount, described.currency),
        described.description,
    )
    assert (checkout.order_id, checkout.status) == (order.order_id, change.checkout_after)


@pytest.mark.spec("ORD-30", "ITM-01")
def test_products_of_a_new_checkout_are_those_of_the_order(checkout_deliver: Deliver, staff: User) -> None:
    """The service set their price."""
    items = [{"id": "sword"}, {"id": "shield"}]
    order = unbound(checkout_deliver, type="product", items=items)
    change = flows.operations.bind_order(
        order, to=CheckoutDescription(type="product"), staff=staff, reason="by phone"
    )
    assert change.verdict_after == "verified"
    assert sorted(Checkout.objects.get().products) == ["shield", "sword"]


def test_an_accepted_order_keeps_its_grant(checkout_deliver: Deliver, listen: Listening, staff: User) -> None:
    """Bound later, nothing is granted twice; a refund then reverses the checkout."""
    heard, taken, order, checkout = (
        listen(checkout_paid),
        listen(checkout_reversed),
        unbound(checkout_deliver),
        new_checkout(),
    )
    flows.operations.accept_payment(order, staff=staff, reason="known buyer")
    flows.run_due()
    change = flows.operations.bind_order(order, to=checkout, staff=staff, reason="found it")
    flows.run_due()
    assert (change.signals, change.checkout_after, len(heard)) == ((), "paid", 1)
    assert Grant.objects.get().checkout == checkout
    document = {**order.whole_document, "status": "refunded", "refunded": True}
    checkout_deliver(notification("payment.refund", document))
    flows.run_due()
    checkout.refresh_from_db()
    assert (checkout.status, len(taken)) == ("reversed", 1)


def test_a_second_payment_of_a_paid_checkout_is_in_review(checkout_deliver: Deliver, staff: User) -> None:
    """It is bound, and staff get an incident."""
    checkout = new_checkout()
    flows.operations.bind_order(unbound(checkout_deliver), to=checkout, staff=staff, reason="first")
    change = flows.operations.bind_order(unbound(checkout_deliver), to=checkout, staff=staff, reason="second")
    assert change.incidents == ("review:paid_twice",)
    assert OutboxMessage.objects.filter(signal="checkout_paid").count() == 1


def test_a_reversal_waits_for_a_receiver_that_began_before_the_order_was_bound(
    checkout_deliver: Deliver, listen: Listening, staff: User
) -> None:
    """Bound and refunded while goods are being granted: they are revoked when that has ended."""
    order, checkout = unbound(checkout_deliver), new_checkout()

    def bind_and_refund(order: Order, **arguments: Any) -> None:
        flows.operations.bind_order(order, to=checkout, staff=staff, reason="found")
        checkout_deliver(notification("payment.refund", {**order.document, "status": "refunded"}))
        flows.run_due()

    granted, revoked = listen(checkout_paid, bind_and_refund), listen(checkout_reversed)
    flows.operations.accept_payment(order, staff=staff, reason="known customer")
    flows.run_due()
    assert (Grant.objects.get().state, len(granted), revoked) == ("closed", 1, [])
    make_due()
    flows.run_due()
    assert len(revoked) == 1


def test_what_cannot_be_bound_is_refused(checkout_deliver: Deliver, staff: User) -> None:
    """And nothing is left of the attempt."""
    order, checkout, foreign = unbound(checkout_deliver), new_checkout(), new_checkout()
    foreign.project = "another"
    wrong: list[tuple[Checkout | CheckoutDescription, str]] = [
        (foreign, "another project"),
        (CheckoutDescription(), "which amount"),
        (CheckoutDescription(type="gift", amount=Decimal(1), currency="USD"), "no type 'gift'"),
        (CheckoutDescription(amount=Decimal(1)), "amount and currency"),
    ]
    for to, message in wrong:
        with pytest.raises(ValueError, match=message):
            flows.operations.bind_order(order, to=to, staff=staff, reason="x")
    flows.operations.bind_order(order, to=checkout, staff=staff, reason="x")
    before = Checkout.objects.count()
    with pytest.raises(ValueError, match="linked to a checkout already"):
        flows.operations.bind_order(
            order, to=CheckoutDescription(amount=Decimal(1), currency="USD"), staff=staff, reason="x"
        )
    assert Checkout.objects.count() == before


def installed(days_ago: float) -> None:
    """Let this app watch the project since then."""
    Installation.objects.update_or_create(
        project="default", defaults={"installed_at": datetime.now(UTC) - timedelta(days=days_ago)}
    )


def before_installation(deliver: Deliver) -> Order:
    """A captured success of two years ago."""
    installed(1)
    at = datetime.now(UTC) - timedelta(days=730)
    deliver(notification(order=OrderDocumentFactory(**PAID, metadata={}, created_at=at.isoformat()), at=at))
    order = Order.objects.get()
    assert (order.verdict, order.verdict_reason) == ("review", "before_installation")
    return order


def historic(deliver: Deliver) -> Order:
    """An old order that is known from the list alone."""
    installed(1)
    at = datetime.now(UTC) - timedelta(days=730)
    record_listed([OrderDocumentFactory(**PAID, metadata={}, created_at=at.isoformat())])
    order = Order.objects.get()
    assert order.verdict == "historic"
    return order


@pytest.mark.parametrize("make", [before_installation, historic])
@pytest.mark.parametrize("bind", [True, False])
def test_payments_from_before_the_installation_can_be_accepted(
    checkout_deliver: Deliver, listen: Listening, staff: User, make: Any, bind: bool
) -> None:
    """Unbound, or bound to a checkout that staff describe; each is granted once."""
    heard, order = listen(checkout_paid), make(checkout_deliver)
    if bind:
        described = CheckoutDescription(amount=Decimal("5"), currency="USD")
        flows.operations.bind_order(order, to=described, staff=staff, reason="migrated")
        order.refresh_from_db()
    (expected,) = flows.operations.preview_decision(order, Transition.Act.ACCEPT)
    assert flows.operations.accept_payment(order, staff=staff, reason="migrated") == expected
    flows.run_due()
    assert [each["checkout"] for each in heard] == [Checkout.objects.first()]
    assert expected.verdict_after == "accepted (by_staff)"
    assert not Incident.objects.filter(resolved_at=None).exists()


def test_the_example_of_the_page_binds_old_orders(
    checkout_deliver: Deliver, listen: Listening, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/ways-back.md: each gets a checkout of its own, of the account that the service names, and pays for it."""
    heard, order = listen(checkout_paid), historic(checkout_deliver)
    ada = User.objects.create_user("ada")
    Order.objects.filter(pk=order.pk).update(
        document={**order.document, "user": {"external_id": str(ada.pk)}}
    )
    exec(block("docs/ways-back.md", "# shop/migrate.py"), {})
    assert "verdict historic → verified" in capsys.readouterr().out
    flows.run_due()
    assert [each["order"] for each in heard] == [order]
    checkout = Checkout.objects.get()
    assert (checkout.description, checkout.owner) == ("from the old shop", ada)


def test_after_a_restored_backup_everything_has_the_key_that_it_had(
    checkout_deliver: Deliver, listen: Listening
) -> None:
    """A system elsewhere has sent the letter: it knows ``idempotency_key`` again, though the checkout is another row."""
    heard, checkout = listen(checkout_paid), new_checkout()
    document = order_document_for(checkout)
    checkout_deliver(order=document)
    flows.run_due()
    with connection.constraint_checks_disabled():
        for model in apps.get_app_config("checkout_integration").get_models():
            if model not in (Installation, Receiver):  # the backup has these alone: it is from before
                model._base_manager.all()._raw_delete("default")
    Installation.objects.update(installed_at=datetime.now(UTC) - timedelta(days=30))
    record_listed([document])
    order = Order.objects.get()
    assert (order.verdict, order.verdict_reason) == ("review", "unbound")
    sold = CheckoutDescription(amount=Decimal("9.99"), currency="USD")
    flows.operations.bind_order(order, to=sold, staff=None, reason="restored")
    flows.run_due()
    first, second = heard
    assert second["checkout"].reference == checkout.reference
    assert first["idempotency_key"] == second["idempotency_key"]


@pytest.mark.parametrize("reference", ["taken", "of-another-shop", "A" * 32])
def test_a_reference_that_is_not_lost_is_not_taken_over(
    checkout_deliver: Deliver, listen: Listening, reference: str
) -> None:
    """That of another checkout, and a text that this app has not made."""
    other = new_checkout()
    Checkout.objects.filter(pk=other.pk).update(project="removed")
    text = other.reference if reference == "taken" else reference
    order = unbound(checkout_deliver, metadata={"checkout_reference": text})
    sold = CheckoutDescription(amount=Decimal("9.99"), currency="USD")
    flows.operations.bind_order(order, to=sold, staff=None, reason="by phone")
    made = Checkout.objects.get(project="default")
    assert made.reference != text and len(made.reference) == 32
