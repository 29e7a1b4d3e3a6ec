"""The screen of user.validate: the decision, its author, and whether it was late."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from tests.support.admin import rows
from tests.support.admin.screens import page_address

pytestmark = pytest.mark.django_db
LIST = "/admin/checkout_integration/validationdecision/"


def test_late_decisions_of_the_last_days_are_counted(admin_client: Client) -> None:
    """The list says above its rows how many there were, and finds them."""
    now = datetime.now(UTC)
    for late, age in ((True, 1), (True, 2), (True, 8), (False, 1)):
        rows.make_decision(late=late, decided_at=now - timedelta(days=age))
    page = admin_client.get(LIST).content.decode()
    assert "2 decisions of the last 7 days took longer than VALIDATE_BUDGET." in page
    assert "3 validation decisions" in admin_client.get(LIST, {"late": "yes"}).content.decode()


def test_nothing_is_said_where_none_was_late(admin_client: Client) -> None:
    """A calm list stays calm."""
    rows.make_decision(decided_at=datetime.now(UTC))
    assert "VALIDATE_BUDGET" not in admin_client.get(LIST).content.decode()


def test_the_page_says_who_decided_and_where_a_validator_failed(admin_client: Client) -> None:
    """With the file and line of the shop's own code."""
    decision = rows.make_decision(
        decided_by="failure", failure="KeyError in check (shop/hooks.py:12)", late=True
    )
    page = admin_client.get(page_address("validationdecision", decision)).content.decode()
    for words in ("a validator failed", "KeyError in check (shop/hooks.py:12)", "late"):
        assert words in page
