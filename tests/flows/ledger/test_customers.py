"""The account that the service's customer is."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import models

from checkout_integration import flows
from checkout_integration.flows.ledger import account_key
from checkout_integration.models import CheckoutUser
from checkout_integration.protocol.user import parse_user
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory, UserDocumentFactory


@pytest.mark.spec("USR-03")
@pytest.mark.django_db
def test_the_account_that_was_sent_is_found() -> None:
    """By its key, as `create_checkout` writes it; whether it is active is for the hook to decide."""
    account = User.objects.create_user("ada", is_active=False)
    user = parse_user(UserDocumentFactory(external_id=str(account.pk)))
    assert flows.account_of(user) == account


@pytest.mark.django_db
@pytest.mark.parametrize("text", [None, "", " {}", "{} ", "0{}", "+{}", "{}.0", "x", "9" * 30, "\0", "-1"])
def test_another_text_is_no_account(text: str | None) -> None:
    """Any caller may send any text: nothing is raised, and nobody is taken for somebody else."""
    key = User.objects.create_user("ada").pk
    sent = text.format(key) if text is not None else None
    assert flows.account_of(parse_user(UserDocumentFactory(external_id=sent))) is None


def test_keys_of_any_type_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the field of the shop's accounts reads them."""
    key, field = uuid4(), models.UUIDField(primary_key=True)
    field.set_attributes_from_name("id")
    monkeypatch.setattr(User._meta, "pk", field)
    found: Any = account_key(str(key))
    assert found == key and isinstance(found, UUID)
    assert [account_key(text) for text in (key.hex, str(key).upper(), f"{{{key}}}", "7", "")] == [None] * 5


@pytest.mark.django_db
@pytest.mark.parametrize("strangers_first", [True, False])
def test_the_account_is_learned_from_any_order(strangers_first: bool, checkout_deliver: Deliver) -> None:
    """Whichever came first: an order that nobody here made says nothing of an account, and the other one does."""
    account = User.objects.create_user("ada")
    person = UserDocumentFactory(external_id=str(account.pk))
    own = order_document_for(CheckoutFactory(user=account), user=person)
    stranger = OrderDocumentFactory(user=person)
    for document in (stranger, own) if strangers_first else (own, stranger):
        assert checkout_deliver(order=document).status_code == 200
    customer = CheckoutUser.objects.get(external_id=str(account.pk))
    assert (customer.account, customer.linked_at, customer.orders.count()) == (account, None, 2)


@pytest.mark.django_db
def test_a_link_of_staff_stays(checkout_deliver: Deliver) -> None:
    """Whatever account a later order is for."""
    account, other = (User.objects.create_user(name) for name in ("ada", "bob"))
    person = UserDocumentFactory(external_id=str(account.pk))
    checkout_deliver(order=OrderDocumentFactory(user=person))
    customer = CheckoutUser.objects.get()
    flows.operations.link_account(customer, other, staff=account, reason="asked")
    checkout_deliver(order=order_document_for(CheckoutFactory(user=account), user=person))
    assert CheckoutUser.objects.get().account == other
