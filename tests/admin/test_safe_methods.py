"""A link can be put anywhere, and sends no CSRF token: nothing is done but by POST."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from checkout_integration.models import Order
from tests.admin.test_buttons import address, verdict_of
from tests.admin.test_buttons import in_review as in_review  # noqa: PLC0414  # a fixture

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "OPTIONS"])
def test_a_button_acts_on_post_alone(admin_client: Client, in_review: Order, method: str) -> None:
    """Whatever the address says beside it: the page asks, the payment stays in review, and nothing is logged."""
    typed = "reason=paid+by+phone&confirm=on&x=1"
    admin_client.generic(method, f"{address(in_review, 'accept')}?{typed}", typed)
    assert verdict_of(in_review) == "review"
    assert not LogEntry.objects.exists()
