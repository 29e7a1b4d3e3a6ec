"""Which checkout a payment pays for, and when goods are granted."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.models import Checkout, Incident, Installation, Order, OutboxMessage
from checkout_integration.signals import checkout_paid, checkout_reversed, payment_review, payment_success
from checkout_integration.testing.assertions import assert_granted, assert_in_review, assert_revoked
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.shop import Listening, ShopHooks, notification, record_listed

pytestmark = pytest.mark.django_db


def settle(settings: Any, **changes: Any) -> None:
    """Change settings of the app."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **changes}


@pytest.mark.spec("ORD-01", "ORD-32", "EP2-17")
@pytest.mark.parametrize("bound_by", ["order id", "reference", "both"])
def test_payment_is_bound_to_its_checkout(
    checkout_deliver: Deliver, listen: Listening, bound_by: str
) -> None:
    """By the id that the service gave us, or by our own reference: "try again" makes a new id."""
    heard = listen(checkout_paid)
    checkout = CheckoutFactory()
    document = order_document_for(checkout)
    if bound_by == "order id":
        document["metadata"] = {}
    if bound_by == "reference":
        document["id"] = "another-try"
    checkout_deliver(order=document)
    assert_granted(checkout)
    assert [each["checkout"] for each in heard] == [checkout]


def test_notification_may_come_before_the_creation_answers(checkout_deliver: Deliver) -> None:
    """The checkout is committed first, and has no order id yet."""
    checkout = CheckoutFactory(order_id="", status="new", payment_form_url="")
    checkout_deliver(order=order_document_for(checkout, id="early"))
    assert_granted(checkout)
    assert checkout.order_id == "early"


def test_foreign_reference_binds_nothing(checkout_deliver: Deliver, settings: Any) -> None:
    """A checkout of one project is not paid by another project's order."""
    own = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]
    other = {"PROJECT_ID": "other", "SECRET_KEY": "sandbox_other_secret"}
    settle(settings, PROJECTS={"default": own, "other": other})
    checkout = CheckoutFactory()
    checkout_deliver(order=order_document_for(checkout), project="other")
    checkout.refresh_from_db()
    assert (checkout.status, Order.objects.get().verdict_reason) == ("open", "unbound")


@pytest.mark.spec("ORD-22", "ORD-23")
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"amount": Decimal("9.98")}, "amount"),
        ({"amount": Decimal("0.01")}, "amount"),
        ({"amount": Decimal("10.00")}, "amount"),
        ({"currency": "EUR"}, "currency"),
        ({"type": "product"}, "type"),
        ({"is_production": True}, "mode"),
    ],
    ids=str,
)
def test_other_payment_than_sold_is_reviewed(
    checkout_deliver: Deliver, listen: Listening, changes: dict[str, Any], reason: str
) -> None:
    """Anyone can make an order with our reference: a signature alone does not verify a payment."""
    granted, review = listen(checkout_paid), listen(payment_review)
    checkout = CheckoutFactory()
    checkout_deliver(order=order_document_for(checkout, **changes))
    assert_in_review(Order.objects.get(), reason)
    assert (granted, [each["reason"] for each in review]) == ([], [reason])
    checkout.refresh_from_db()
    assert (checkout.status, checkout.paid_order) == ("review", None)


@pytest.mark.spec("ORD-42", "WHK-04")
@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("is_production", [True, False])
@pytest.mark.parametrize("test", [True, False])
def test_mode_of_checkout_and_payment_agree(
    checkout_deliver: Deliver, live: bool, is_production: bool, test: bool
) -> None:
    """A live checkout takes live production payments, a test checkout test payments."""
    checkout = CheckoutFactory(test=test)
    document = order_document_for(checkout, is_production=is_production)
    checkout_deliver({**notification(order=document), "live": live})
    verified = Order.objects.get().verdict == "verified"
    assert verified is (live is is_production is not test)


@pytest.mark.spec("ORD-33", "ORD-41")
def test_value_added_tax_for_the_buyer_is_added(checkout_deliver: Deliver) -> None:
    """The price is in original_amount then; where the seller pays it, in amount."""
    checkout = CheckoutFactory()
    document = order_document_for(
        checkout, amount=Decimal("11.89"), original_amount=Decimal("9.99"), vat_payer="buyer"
    )
    checkout_deliver(order=document)
    assert Order.objects.get().verdict == "verified"


@pytest.mark.spec("ORD-30", "ITM-01")
@pytest.mark.parametrize(
    ("products", "verdict"), [(["sword"], "verified"), (["pebble"], "review"), ([], "review")]
)
def test_products_are_those_sold(checkout_deliver: Deliver, products: list[str], verdict: str) -> None:
    """Items are compared by id; none at all cannot be compared."""
    checkout = CheckoutFactory(type="product", products=["sword"])
    checkout_deliver(order=order_document_for(checkout, products=products))
    assert Order.objects.get().verdict == verdict


def test_second_payment_is_reviewed(checkout_deliver: Deliver, listen: Listening) -> None:
    """Two tries of one checkout were both paid: goods once, and staff look at the second."""
    granted, review = listen(checkout_paid), listen(payment_review)
    checkout = CheckoutFactory()
    checkout_deliver(order=order_document_for(checkout))
    checkout_deliver(order=order_document_for(checkout, id="second"))
    assert len(granted) == 1
    assert [each["reason"] for each in review] == ["paid_twice"]
    assert set(Order.objects.values_list("verdict", flat=True)) == {"verified"}
    assert Incident.objects.get().order == Order.objects.get(order_id="second")


@pytest.mark.spec("ORD-46", "ORD-47")
@pytest.mark.parametrize("same", [True, False])
def test_renewal_pays_again(checkout_deliver: Deliver, listen: Listening, same: bool) -> None:
    """A further payment of the same recurring agreement; of another one it is a second payment."""
    granted = listen(checkout_paid)
    checkout = CheckoutFactory()
    agreement = {"recurring": True, "recurring_id": "agreement-1"}
    checkout_deliver(order=order_document_for(checkout, **agreement))
    later = agreement if same else {**agreement, "recurring_id": "agreement-2"}
    checkout_deliver(order=order_document_for(checkout, id="month-2", **later))
    assert [each["renewal"] for each in granted] == ([False, True] if same else [False])


def test_renewal_on_the_page_of_its_first_payment_pays_again(listen: Listening) -> None:
    """Both notifications were lost."""
    granted = listen(checkout_paid)
    checkout = CheckoutFactory()
    agreement = {"recurring": True, "recurring_id": "agreement-1"}
    first, second = (order_document_for(checkout, id=f"month-{number}", **agreement) for number in (1, 2))
    record_listed([second, first])
    flows.run_due()
    assert [each["renewal"] for each in granted] == [False, True]


@pytest.mark.spec("STA-05", "EVT-06")
def test_declined_order_and_a_second_try(checkout_deliver: Deliver, listen: Listening) -> None:
    """The form's "try again" makes a new order with the same reference; that one pays the checkout."""
    granted = listen(checkout_paid)
    checkout = CheckoutFactory()
    checkout_deliver(notification("payment.cancel", order_document_for(checkout, status="rejected")))
    checkout_deliver(order=order_document_for(checkout, id="second-try"))
    assert Order.objects.get(order_id=checkout.order_id).status == "rejected"
    assert [each["order"].order_id for each in granted] == ["second-try"]
    assert_granted(checkout)


@pytest.mark.parametrize(
    ("setting", "verdict", "granted"), [("review", "review", 0), ("accept", "accepted", 1)]
)
def test_unbound_payment(
    checkout_deliver: Deliver, listen: Listening, settings: Any, setting: str, verdict: str, granted: int
) -> None:
    """The setting decides; by default staff do. Its fact is announced either way."""
    heard, facts = listen(checkout_paid), listen(payment_success)
    settle(settings, UNBOUND_ORDERS=setting)
    checkout_deliver(order=OrderDocumentFactory())
    assert (Order.objects.get().verdict, len(heard), len(facts)) == (verdict, granted, 1)
    assert all(each["checkout"] is None for each in heard)


def test_accepting_unbound_payments_still_checks_the_mode(
    checkout_deliver: Deliver, listen: Listening, settings: Any
) -> None:
    """A shop that takes live payments grants nothing for a test payment."""
    heard = listen(checkout_paid)
    settle(settings, UNBOUND_ORDERS="accept", ACCEPT_TEST_PAYMENTS=False)
    checkout_deliver(order=OrderDocumentFactory(is_production=False))
    assert_in_review(Order.objects.get(), "mode")
    assert heard == []


def test_hook_names_the_checkout(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """An order that was made in the browser is compared like any other."""
    checkout = CheckoutFactory()
    hooks.resolve = staticmethod(lambda order: checkout)
    checkout_deliver(order=OrderDocumentFactory(id="in-browser"))
    assert_granted(checkout)
    cheap = OrderDocumentFactory(id="cheap", amount=Decimal("0.01"))
    other = CheckoutFactory()
    hooks.resolve = staticmethod(lambda order: other)
    checkout_deliver(order=cheap)
    assert_in_review(Order.objects.get(order_id="cheap"), "amount")


def test_hook_cannot_name_a_checkout_of_another_project(
    checkout_deliver: Deliver, hooks: type[ShopHooks], listen: Listening
) -> None:
    """A verified payment needs the same project, also with a hook."""
    heard = listen(checkout_paid)
    foreign = CheckoutFactory()
    Checkout.objects.filter(pk=foreign.pk).update(project="other")
    hooks.resolve = staticmethod(lambda order: foreign)
    assert checkout_deliver(order=OrderDocumentFactory()).status_code == 200
    assert_in_review(Order.objects.get(), "unbound")
    assert heard == []


def test_staff_accept_a_payment(checkout_deliver: Deliver, listen: Listening) -> None:
    """It is granted as if it were verified, once."""
    heard = listen(checkout_paid)
    checkout = CheckoutFactory()
    checkout_deliver(order=order_document_for(checkout, amount=Decimal("5")))
    staff = User.objects.create_user("staff")
    flows.operations.accept_payment(Order.objects.get(), staff=staff, reason="The rest came by post")
    with pytest.raises(ValueError, match="in review"):
        flows.operations.accept_payment(Order.objects.get(), staff=staff, reason="again")
    flows.run_due()
    assert len(heard) == 1
    assert_granted(checkout)


def test_reversed_payment_cannot_be_accepted(checkout_deliver: Deliver) -> None:
    """The money is gone."""
    checkout = CheckoutFactory()
    document = order_document_for(checkout, amount=Decimal("5"))
    checkout_deliver(order=document)
    checkout_deliver(
        notification("payment.refund", order_document_for(checkout, status="refunded", amount=Decimal("5")))
    )
    with pytest.raises(ValueError, match="in review"):
        flows.operations.accept_payment(
            Order.objects.get(), staff=User.objects.create_user("staff"), reason=""
        )


def test_first_sync_announces_nothing_of_the_past(listen: Listening) -> None:
    """Orders from before this installation are historic: listed, and silent."""
    heard = listen(payment_success), listen(checkout_paid), listen(payment_review)
    Installation.objects.create(project="default", installed_at=timezone.now())
    old = (timezone.now() - timedelta(days=3)).isoformat()
    record_listed([OrderDocumentFactory(created_at=old)])
    flows.run_due()
    assert (Order.objects.get().status, Order.objects.get().verdict) == ("processed", "historic")
    assert (heard, OutboxMessage.objects.count(), Incident.objects.count()) == (([], [], []), 0, 0)


def test_old_checkout_of_this_shop_is_not_historic(listen: Listening) -> None:
    """A bound order is granted at any age: only unbound orders are historic."""
    heard = listen(checkout_paid)
    Installation.objects.create(project="default", installed_at=timezone.now())
    old = (timezone.now() - timedelta(days=3)).isoformat()
    record_listed([order_document_for(CheckoutFactory(), created_at=old)])
    flows.run_due()
    assert [each["source"] for each in heard] == ["sync"]


def test_listed_rejection_of_a_paid_order_takes_nothing_back(
    checkout_deliver: Deliver, listen: Listening
) -> None:
    """A paid order whose receiver failed for 48 h turns rejected in the list although it is paid."""
    heard = listen(checkout_reversed)
    checkout = CheckoutFactory()
    checkout_deliver(order=order_document_for(checkout))
    record_listed([order_document_for(checkout, status="rejected")], at=timezone.now() + timedelta(days=2))
    flows.run_due()
    assert (Order.objects.get().status, heard) == ("processed", [])
    assert "listed_canceled_though_paid" in set(Incident.objects.values_list("kind", flat=True))


@pytest.mark.spec("STA-06")
def test_stale_list_row_never_undoes_a_refund(checkout_deliver: Deliver) -> None:
    """No silent upgrade: once a refund is known, nothing but staff makes it paid again."""
    checkout = CheckoutFactory()
    checkout_deliver(order=order_document_for(checkout))
    checkout_deliver(notification("payment.refund", order_document_for(checkout, status="refunded")))
    record_listed([order_document_for(checkout)], at=timezone.now() + timedelta(days=1))
    checkout_deliver(
        notification(order=order_document_for(checkout), at=timezone.now() + timedelta(days=1)),
        delivery_try=1,
    )
    assert Order.objects.get().status == "refunded"
    assert_revoked(checkout)
