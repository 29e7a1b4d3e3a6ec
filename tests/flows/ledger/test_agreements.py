"""Agreements: what recurring payments pay for lasts for some days after the last one that stands."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import permutations
from typing import Any, Final

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client

from checkout_integration import flows
from checkout_integration.models import Checkout, Grant, Order
from checkout_integration.policy.fulfilment import Payment, owned_until
from checkout_integration.protocol.creation_values import CreationError
from checkout_integration.sandbox import Sandbox
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.admin.screens import page_address
from tests.support.flows.shop import notification, record_listed

pytestmark = pytest.mark.django_db
BEGIN: Final = datetime.now(UTC).replace(microsecond=0) - timedelta(days=100)
MONTH: Final = 31


@pytest.fixture
def ada() -> User:
    """An account."""
    return User.objects.create_user("ada")


@pytest.fixture
def sold(ada: User) -> Checkout:
    """A pass of which each payment lasts for a month."""
    checkout: Checkout = CheckoutFactory(user=ada, type="product", products=["pass"], lasts_days=MONTH)
    return checkout


def after(days: float) -> datetime:
    """So many days after the beginning."""
    return BEGIN + timedelta(days=days)


def success(checkout: Checkout, order_id: str, days: float) -> dict[str, Any]:
    """The notification of a payment that was made then."""
    document = order_document_for(
        checkout, id=order_id, recurring=True, recurring_id="agreement", created_at=after(days).isoformat()
    )
    return notification("payment.success", document, at=after(days))


def refund(paid: dict[str, Any], days: float, status: str = "refunded") -> dict[str, Any]:
    """The notification of its reversal."""
    event = "payment.refund" if status == "refunded" else "payment.chargeback"
    return notification(event, {**paid["object"], "status": status}, at=after(days))


def owns_after(account: User, days: float) -> bool:
    """Whether the account owns the pass then."""
    with time_machine.travel(after(days), tick=False):
        return Checkout.objects.owns(account, "pass")


def test_it_ends_unless_it_is_renewed(checkout_deliver: Deliver, ada: User, sold: Checkout) -> None:
    """After the days of the last payment; a renewal that comes late gives it again."""
    checkout_deliver(success(sold, "first", 0))
    assert [owns_after(ada, days) for days in (1, 30.9, 31, 60)] == [True, True, False, False]
    checkout_deliver(success(sold, "second", 31))
    assert [owns_after(ada, days) for days in (40, 61.9, 62)] == [True, True, False]
    checkout_deliver(success(sold, "third", 90))
    assert owns_after(ada, 100)
    sold.refresh_from_db()
    assert (sold.owned_until, sold.renewed_at, sold.has_ended) == (after(121), after(90), False)
    assert (sold.status, Grant.objects.filter(renewal=True).count()) == ("paid", 2)


REVERSALS: Final = ["refund", "chargeback", "revoke"]


@pytest.mark.parametrize("how", REVERSALS)
def test_the_last_payment_that_stands_counts(
    checkout_deliver: Deliver, ada: User, sold: Checkout, how: str
) -> None:
    """What is refunded, charged back or revoked by hand lasts no longer; what it had renewed ends as before."""
    paid = [success(sold, name, days) for name, days in (("first", 70), ("second", 95))]
    for each in paid:
        checkout_deliver(each)
    assert owns_after(ada, 120)
    if how == "revoke":
        order = Order.objects.get(order_id="second")
        flows.operations.revoke_payment(order, staff=None, reason="sold on")
    else:
        checkout_deliver(refund(paid[1], 96, "refunded" if how == "refund" else "chargeback"))
    assert owns_after(ada, 100) and not owns_after(ada, 101)
    if how == "revoke":
        flows.operations.accept_payment(order, staff=None, reason="a brother")
        assert owns_after(ada, 120)


def test_any_order_of_arrival_ends_alike(checkout_deliver: Deliver, ada: User) -> None:
    """By notification or from the list."""
    ends = set()
    for number, order in enumerate(permutations(range(3))):
        checkout = CheckoutFactory(user=ada, type="product", products=["pass"], lasts_days=MONTH)
        paid = [success(checkout, f"{number}-{each}", 30 * each) for each in range(2)]
        steps: list[Callable[[], Any]] = [
            lambda paid=paid: checkout_deliver(paid[0]),  # type: ignore[misc]
            lambda paid=paid: checkout_deliver(paid[1]),  # type: ignore[misc]
            lambda paid=paid: record_listed([paid[1]["object"]]),  # type: ignore[misc]
        ]
        for step in order:
            steps[step]()
        checkout.refresh_from_db()
        ends.add(checkout.owned_until)
    assert ends == {after(30 + MONTH)}


def test_without_days_it_lasts_for_ever(checkout_deliver: Deliver, ada: User) -> None:
    """However long no renewal came."""
    checkout = CheckoutFactory(user=ada, type="product", products=["pass"])
    checkout_deliver(success(checkout, "first", 0))
    checkout.refresh_from_db()
    assert (checkout.owned_until, checkout.renewed_at, checkout.has_ended) == (None, None, False)
    assert owns_after(ada, 9_000)


def test_a_payment_without_a_time_ends_nothing(checkout_deliver: Deliver, ada: User, sold: Checkout) -> None:
    """Nobody loses what was paid for since a date cannot be read."""
    checkout_deliver(success(sold, "first", 0))
    record_listed([{**success(sold, "second", 31)["object"], "created_at": "some day"}])
    assert owns_after(ada, 500)


def test_a_gift_ends_for_its_recipient(checkout_deliver: Deliver, ada: User) -> None:
    """As for a buyer."""
    ben = User.objects.create_user("ben")
    checkout = CheckoutFactory(
        user=ada, recipient=ben, gift=True, type="product", products=["pass"], lasts_days=MONTH
    )
    checkout_deliver(success(checkout, "first", 0))
    assert (owns_after(ben, 30), owns_after(ben, 32), owns_after(ada, 30)) == (True, False, False)


def test_it_is_paid_until_the_grace_begins(checkout_deliver: Deliver, ada: User) -> None:
    """It is owned for the days of grace after that, and each renewal is counted from its own payment."""
    sold: Checkout = CheckoutFactory(
        user=ada, type="product", products=["pass"], lasts_days=MONTH, grace_days=3
    )
    for name, day in (("first", 0), ("second", 33)):
        checkout_deliver(success(sold, name, day))
        assert [owns_after(ada, day + days) for days in (30.9, 33.9, 34)] == [True, True, False]
        sold.refresh_from_db()
        assert (sold.paid_until, sold.owned_until, sold.renewed_at) == (
            after(day + 31),
            after(day + 34),
            after(day),
        )


@pytest.mark.parametrize(
    ("days", "grace"), [(31, -1), (31, 3651), (31, "2"), (31, 2.0), (31, None), (None, 2)]
)
def test_grace_is_whole_and_of_something_that_ends(
    checkout_sandbox: Sandbox, ada: User, days: Any, grace: Any
) -> None:
    """Anything else is refused before anything is stored."""
    with pytest.raises(CreationError, match="grace_days"):
        flows.create_checkout(user=ada, amount=Decimal(9), currency="USD", lasts_days=days, grace_days=grace)
    assert not Checkout.objects.exists()


@pytest.mark.parametrize("days", [0, -1, 3651, "31", 31.0, True])
def test_days_are_whole(checkout_sandbox: Sandbox, ada: User, days: Any) -> None:
    """Anything else is refused before anything is stored."""
    with pytest.raises(CreationError, match="lasts_days"):
        flows.create_checkout(user=ada, amount=Decimal(9), currency="USD", lasts_days=days)
    assert not Checkout.objects.exists()


def test_other_days_are_another_purchase(checkout_sandbox: Sandbox, ada: User) -> None:
    """A month, a year, and a month with another grace, within a second."""
    sold = [
        flows.create_checkout(user=ada, amount=Decimal(9), currency="USD", lasts_days=days, grace_days=grace)
        for days, grace in ((31, 0), (366, 0), (31, 0), (31, 2))
    ]
    assert [each.lasts_days for each in sold] == [31, 366, 31, 31]
    assert sold[0] == sold[2] and len({each.pk for each in sold}) == 3


def payments(*stands: bool, days: tuple[int, ...]) -> list[Payment]:
    """Payments of these days."""
    made: dict[str, Any] = {"reversed": False, "ended": False, "decided": False, "pays": True}
    return [
        Payment(order_id=str(day), moment=after(day).isoformat().replace("+00:00", "Z"), stands=each, **made)
        for each, day in zip(stands, days, strict=True)
    ]


def test_it_is_a_function_of_the_set() -> None:
    """The latest that stands, whatever the sequence."""
    known = payments(True, True, False, days=(0, 31, 62))
    assert {owned_until(order, MONTH) for order in permutations(known)} == {after(62)}
    assert owned_until(known, None) is owned_until([], MONTH) is owned_until(known[2:], MONTH) is None


def test_staff_see_agreements(admin_client: Client, checkout_deliver: Deliver, ada: User) -> None:
    """On the page of the checkout and of the customer, and as a filter of the list."""
    lasting, ended = (
        CheckoutFactory(user=ada, type="product", products=[name], lasts_days=MONTH)
        for name in ("new", "old")
    )
    checkout_deliver(success(lasting, "lasting", 90))
    checkout_deliver(success(ended, "ended", 0))
    for choice, row in (("lasting", lasting), ("ended", ended)):
        page = admin_client.get(f"/admin/checkout_integration/checkout/?agreement={choice}")
        assert list(page.context["cl"].queryset) == [row]
    assert "aid until" in admin_client.get(page_address("checkout", lasting)).content.decode()
    order = Order.objects.get(order_id="lasting")
    text = admin_client.get(page_address("checkoutuser", order.user)).content.decode()
    table = text.partition("Agreements</h2>")[2].partition("</section>")[0]
    assert table.index(">new<") < table.index("lasts") < table.index(">old<") < table.index("ended")
