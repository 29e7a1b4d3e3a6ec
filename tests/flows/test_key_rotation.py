"""SECURITY.md's way of replacing a secret key, walked step by step: checkouts, payments and syncs go on at every moment."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from checkout_integration import flows
from checkout_integration.models import Checkout, Order
from checkout_integration.sandbox import Sandbox
from checkout_integration.testing.service import running_sandbox
from tests.support.documents import block

pytestmark = pytest.mark.django_db(transaction=True)
OLD, NEW = "sandbox_key_before_the_switch", "sandbox_key_after_the_switch"


@pytest.fixture(params=["field", pytest.param("spec", marks=pytest.mark.slow)])
def sandbox(request: pytest.FixtureRequest, settings: Any, live_server: LiveServer) -> Iterator[Sandbox]:
    """Give the service, which notifies the shop; both have the old key."""
    projects = {"default": {"PROJECT_ID": "test-project", "SECRET_KEY": OLD}}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    with running_sandbox(settings, live_server.url, profile=request.param) as running:
        yield running


def follow(settings: Any, monkeypatch: pytest.MonkeyPatch, recipe: str) -> None:
    """Execute a block of the recipe in the shop's settings."""
    monkeypatch.setenv("CHECKOUT_SECRET_KEY", OLD)
    monkeypatch.setenv("CHECKOUT_NEXT_SECRET_KEY", NEW)
    changed = copy.deepcopy(settings.CHECKOUT_INTEGRATION)
    exec(recipe, {"os": os, "CHECKOUT_INTEGRATION": changed})
    settings.CHECKOUT_INTEGRATION = changed


def sell() -> Checkout:
    """An order at the service with an open form."""
    return flows.create_checkout(amount=Decimal("9.99"), currency="USD")


def assert_all_is_well(sandbox: Sandbox, begun_before: Checkout) -> None:
    """A form that was open is paid, a token and an order are made, a payment arrives, and the list is read."""
    flows.create_token(amount=Decimal("9.99"), currency="USD")
    checkouts = [begun_before, sell()]
    for checkout in checkouts:
        sandbox.payments.pay(checkout.order_id)
    sandbox.wait_idle()
    flows.inbox.apply_due()
    paid = Order.objects.filter(order_id__in=[checkout.order_id for checkout in checkouts])
    assert {(order.status, order.verdict) for order in paid} == {("processed", "verified")}
    assert flows.sync.sync_transactions().state == "complete"


def test_nothing_stops_at_any_moment_of_a_rotation(
    sandbox: Sandbox, settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Before it, with both keys accepted, after the switch, and after the swap; then the old orders are refunded."""
    first = sell()
    assert_all_is_well(sandbox, sell())
    follow(settings, monkeypatch, block("SECURITY.md", "# settings.py, before the service switches"))
    assert_all_is_well(sandbox, sell())
    begun_before = sell()
    sandbox.projects.update("test-project", secret_key=NEW)
    assert_all_is_well(sandbox, begun_before)
    assert "accepted number 1 of PREVIOUS_SECRET_KEYS" in caplog.text
    begun_before = sell()
    caplog.clear()
    follow(settings, monkeypatch, block("SECURITY.md", "# settings.py, after the service has switched"))
    assert_all_is_well(sandbox, begun_before)
    assert "SECRET_KEY" not in caplog.text

    sandbox.payments.pay(first.order_id)
    sandbox.payments.refund(first.order_id)
    sandbox.wait_idle()
    flows.inbox.apply_due()
    assert Order.objects.get(order_id=first.order_id).status == "refunded"
