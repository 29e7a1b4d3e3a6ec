"""The type of an order in its row, which lists, filters and files show: one word, whatever the service says."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from checkout_integration import flows
from checkout_integration.models import Checkout, Incident, Order
from checkout_integration.testing.service import running_sandbox

pytestmark = pytest.mark.django_db(transaction=True)
SOLD: dict[str, dict[str, Any]] = {
    "product": {"type": "product", "products": ["sword"]},
    "virtual_currency": {"type": "virtual_currency", "products": ["gems-500"]},
    "key": {"type": "key", "products": ["quest"]},
}


@pytest.mark.spec("ORD-35")
@pytest.mark.parametrize("profile", ["field", "spec"])
@pytest.mark.parametrize("sold", SOLD)
def test_one_word_for_each_type(settings: Any, live_server: LiveServer, profile: str, sold: str) -> None:
    """By an order and by a token, before and after the payment; without an incident, and verified."""
    with running_sandbox(settings, live_server.url, profile=profile) as sandbox:
        checkouts = [
            flows.create_checkout(**SOLD[sold]),
            flows.create_order_from_token(flows.create_token(**SOLD[sold])),
        ]
        assert set(Order.objects.values_list("type", flat=True)) == {sold}
        for checkout in checkouts:
            sandbox.pay(checkout.order_id)
        flows.run_due()
    assert list(Order.objects.filter(type=sold).values_list("verdict", flat=True)) == ["verified"] * 2
    assert set(Checkout.objects.values_list("status", flat=True)) == {"paid"}
    assert not Incident.objects.exists()
