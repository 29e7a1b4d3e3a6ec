"""Fixtures of the sync: a service whose list has the rows of the test, sales of five days, an app installed long ago."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

import pytest

from checkout_integration import flows
from checkout_integration.models import Installation, Order
from checkout_integration.sandbox import Sandbox
from tests.support.flows.list_service import HOUR_AGO, ListService, list_service

DAY: Final = 24 * 3600
DAYS, EACH = 5, 3


@pytest.fixture
def installed_long_ago(db: None) -> None:
    """Install the app long ago: no order is historic."""
    Installation.objects.create(project="default", installed_at=HOUR_AGO - timedelta(days=900))


@pytest.fixture
def service(settings: Any) -> Iterator[ListService]:
    """Give a service whose list has the rows of the test."""
    with list_service(settings) as service:
        yield service


@pytest.fixture
def sold(checkout_sandbox: Sandbox, settings: Any) -> int:
    """Sell on five days, more than a page each; the shop has none of the orders. Returns their number."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_PAGE_SIZE": 2}
    for _ in range(DAYS):
        for _ in range(EACH):
            checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
            checkout_sandbox.payments.pay(checkout.order_id)
        checkout_sandbox.clock.advance(DAY)
    Order.objects.all().delete()
    return DAYS * EACH
