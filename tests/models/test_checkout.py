"""What an account owns: its paid checkouts, truthfully after refunds and chargebacks."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User
from django.db import connection

from checkout_integration import flows
from checkout_integration.models import Checkout
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.plans import analyze, empty_tables, multiply

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    """An account."""
    return User.objects.create_user("ada")


def bought(account: User | None, *products: str, **changes: Any) -> Checkout:
    """Return a checkout of an account, and the order that pays for it or does not."""
    checkout = CheckoutFactory(user=account, type="product", products=list(products))
    OrderFactory(checkout=checkout, id=checkout.order_id, **changes)
    checkout.refresh_from_db()
    return checkout


def test_what_is_paid_is_owned(ada: User) -> None:
    """Each of its products, by the one who bought it, and nothing else."""
    checkout = bought(ada, "sword", "shield")
    assert list(Checkout.objects.owned_by(ada)) == [checkout]
    assert list(Checkout.objects.owned_by(ada, "shield")) == [checkout]
    assert Checkout.objects.owns(ada, "sword")
    for other in ("swor", "Sword", "sword ", "swörd", '"sword"', "sword%", "helmet", ""):
        assert not Checkout.objects.owns(ada, other), other
    assert not Checkout.objects.owns(User.objects.create_user("eve"), "sword")


def test_a_guest_owns_nothing() -> None:
    """Neither what another guest has bought."""
    checkout = bought(None, "sword")
    assert checkout.status == "paid"
    assert not Checkout.objects.owns(AnonymousUser(), "sword")
    assert not Checkout.objects.owned_by(AnonymousUser())


@pytest.mark.parametrize("status", ["created", "canceled", "rejected", "refunded", "chargeback"])
def test_what_is_not_paid_or_was_reversed_is_not_owned(ada: User, status: str) -> None:
    """Neither before the payment nor after its reversal."""
    bought(ada, "sword", status=status)
    assert not Checkout.objects.owns(ada, "sword")


def test_a_payment_in_review_is_owned_once_staff_accept_it(ada: User) -> None:
    """It is not verified: it pays for another product."""
    checkout = bought(ada, "sword", products=["dagger"])
    assert not Checkout.objects.owns(ada, "sword")
    flows.operations.accept_payment(checkout.orders.get(), staff=None, reason="by phone")
    assert Checkout.objects.owns(ada, "sword")
    assert not Checkout.objects.owns(ada, "dagger")


def test_a_partial_refund_takes_nothing_away(ada: User) -> None:
    """As the goods stay."""
    bought(
        ada,
        "sword",
        status="refunded",
        amount=Decimal("9.99"),
        refund={"amount": Decimal("1.00"), "currency": "USD"},
    )
    assert Checkout.objects.owns(ada, "sword")


def test_bought_twice_and_refunded_once_is_still_owned(ada: User) -> None:
    """The other one stands."""
    bought(ada, "sword", status="refunded")
    stands = bought(ada, "sword")
    assert Checkout.objects.owned_by(ada, "sword").get() == stands


def test_the_shops_own_object_is_owned(ada: User) -> None:
    """The subject of the checkout, which the service does not know."""
    basket, other = Group.objects.create(name="basket"), Group.objects.create(name="other")
    checkout = CheckoutFactory(user=ada, subject=basket)
    OrderFactory(checkout=checkout, id=checkout.order_id)
    assert Checkout.objects.owns(ada, basket)
    assert not Checkout.objects.owns(ada, other)
    assert not Checkout.objects.owns(ada, ada)


def test_an_index_finds_it(ada: User) -> None:
    """The paid checkouts of the account, however many others there are; MariaDB names all indexes that could serve."""
    if connection.vendor == "postgresql":
        empty_tables()
        multiply(CheckoutFactory(user=User.objects.create_user("eve"), status="paid"), "reference", 1_000)
        analyze()
    plan = Checkout.objects.owned_by(ada, "sword").explain()
    assert "ci_checkout_owned" in plan
