"""A guest whom staff linked to an account is one person with it: they are exported and erased together."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.models import CheckoutUser, Order
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import UserDocumentFactory
from tests.support.customer import PRIVACY_REQUEST
from tests.support.tables import columns_with

pytestmark = pytest.mark.django_db(transaction=True)
AS_GUEST, AS_ACCOUNT, OTHER = "guest@canary.example", "ada@canary.example", "eve@canary.example"


def buy(deliver: Deliver, user_id: str, email: str, account: User | None = None) -> Order:
    """Buy something, as a guest unless there is an account."""
    external_id = str(account.pk) if account else None
    document = order_document_for(CheckoutFactory(user=account))
    deliver(order={**document, "user": UserDocumentFactory(id=user_id, external_id=external_id, email=email)})
    return Order.objects.get(order_id=document["id"])


@pytest.fixture
def ada() -> User:
    """An account of the shop."""
    return User.objects.create_user("ada")


@pytest.fixture
def guest(checkout_deliver: Deliver, ada: User) -> Order:
    """A guest's order; staff have linked the guest to the account. Somebody else has bought, too."""
    buy(checkout_deliver, "service-9", OTHER)
    order = buy(checkout_deliver, "service-7", AS_GUEST)
    assert order.user is not None
    assert flows.operations.link_account(order.user, ada, reason="their receipt")
    return order


def erase(**whom: Any) -> None:
    """Erase the one customer."""
    (person,) = flows.privacy.find_persons(**whom)
    flows.privacy.erase_customer(person, PRIVACY_REQUEST)


def test_the_account_takes_the_guest_along(checkout_deliver: Deliver, ada: User, guest: Order) -> None:
    """Found by the id of the account, or by the row of its customer."""
    own = buy(checkout_deliver, "service-8", AS_ACCOUNT, ada)
    (person,) = flows.privacy.find_persons(customer=own.user)
    assert set(person.orders) == {own, guest}
    assert columns_with([AS_GUEST]) and columns_with([AS_ACCOUNT])
    erase(external_id=str(ada.pk))
    assert columns_with([AS_GUEST, AS_ACCOUNT]) == set()
    assert columns_with([OTHER])


def test_the_guest_takes_the_account_along(checkout_deliver: Deliver, ada: User, guest: Order) -> None:
    """Erasing one of their orders leaves none of the person."""
    buy(checkout_deliver, "service-8", AS_ACCOUNT, ada)
    erase(order_id=guest.order_id)
    assert columns_with([AS_GUEST, AS_ACCOUNT]) == set()
    assert columns_with([OTHER])


def test_an_account_that_has_bought_nothing_itself(ada: User, guest: Order) -> None:
    """The link alone makes the guest's orders theirs."""
    erase(external_id=str(ada.pk))
    assert columns_with([AS_GUEST]) == set()
    assert CheckoutUser.objects.filter(linked_at__isnull=False).count() == 0


def test_a_link_that_was_undone_says_nothing(checkout_deliver: Deliver, ada: User, guest: Order) -> None:
    """The account's own go, and the guest stays."""
    buy(checkout_deliver, "service-8", AS_ACCOUNT, ada)
    assert guest.user is not None
    assert flows.operations.unlink_account(guest.user, staff=None, reason="another person")
    erase(external_id=str(ada.pk))
    assert columns_with([AS_ACCOUNT]) == set()
    assert columns_with([AS_GUEST])


def test_a_customer_whom_a_hook_has_named_is_no_link(checkout_deliver: Deliver, ada: User) -> None:
    """Without staff's word a guess of the shop's code erases nobody else."""
    guest = buy(checkout_deliver, "service-7", AS_GUEST)
    assert guest.user is not None
    CheckoutUser.objects.filter(pk=guest.user.pk).update(account=ada)
    buy(checkout_deliver, "service-8", AS_ACCOUNT, ada)
    erase(external_id=str(ada.pk))
    assert columns_with([AS_GUEST])
