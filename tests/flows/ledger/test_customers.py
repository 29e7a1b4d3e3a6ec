"""The account that the service's customer is."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import models

from checkout_integration import flows
from checkout_integration.flows.ledger import account_key
from checkout_integration.protocol.user import parse_user
from checkout_integration.testing.payloads import UserDocumentFactory


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
