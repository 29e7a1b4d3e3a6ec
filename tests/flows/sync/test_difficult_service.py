"""A service in any zone, with a wrong clock, stale answers and garbled rows: all is found, and what was reversed stays so."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import time_machine

from checkout_integration import flows
from checkout_integration.models import Grant, Order
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.difficult_service import DifficultService, Sale
from tests.support.flows.list_service import serving
from tests.support.flows.shop import notification
from tests.support.scale import FULL, times

pytestmark = pytest.mark.django_db
ZONES = range(-12, 15) if FULL else (-12, 0, 14)
HOURS = times(4, 6)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def happen(service: DifficultService, deliver: Deliver, draw: random.Random) -> None:
    """Let something be sold, paid and reversed. A notification arrives of half of the reversals, and of nothing else."""
    now = datetime.now(UTC)
    paid = [sale for sale in service.sales[1:] if sale.status(now) == "processed"]
    number = sum(sale.reversed_at is not None for sale in service.sales)
    for sale in draw.sample(paid, min(len(paid), 1)):
        sale.reversed_at, sale.end = now, ("refunded", "chargeback")[number % 2]
        sale.is_signed = number % 4 < 2
        if sale.is_signed:
            tell(service, sale, deliver)
    for sale in [*service.sales[:1], *draw.sample(service.sales, min(len(service.sales), 2))]:
        sale.paid_at = sale.paid_at or now
    service.sell()


def tell(service: DifficultService, sale: Sale, deliver: Deliver) -> None:
    """Deliver the notification of a reversal."""
    now = datetime.now(UTC)
    row = service.row(sale, now)
    order = OrderDocumentFactory(**{**row, "user": {**row["user"], "id": "player"}})
    event = {"refunded": "payment.refund", "chargeback": "payment.chargeback"}[sale.end]
    assert deliver(notification(event, order, at=now + service.ahead)).status_code == 200


def wait(shop: time_machine.Traveller, step: timedelta, service: DifficultService) -> None:
    """Read the lanes that are due after a while: what a notification has reversed is never paid.

    A pass may fail, where a stale page has fewer rows than another one has counted; the next one begins where it did.
    """
    shop.shift(step)
    for lane in flows.sync.lanes_due():
        flows.sync.sync_transactions(lane=lane)
    for sale in service.sales:
        if sale.is_signed:
            order = Order.objects.get(order_id=sale.order_id)
            assert order.status == sale.end
            sale.checkout.refresh_from_db()
            assert sale.checkout.status != "paid"
            assert not Grant.objects.filter(checkout=sale.checkout, state="open").exists()


@pytest.mark.slow
@pytest.mark.parametrize("skew", [-HOUR, HOUR], ids=["late", "early"])
@pytest.mark.parametrize("hours", ZONES)
def test_all_is_found_and_what_was_reversed_stays_so(
    checkout_deliver: Deliver, settings: Any, hours: int, skew: timedelta
) -> None:
    """Wherever the shop is: its own zone is another one."""
    settings.TIME_ZONE = f"Etc/GMT{hours:+d}" if hours < 13 else "Etc/GMT+12"  # UTC minus these hours
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_PAGE_SIZE": 5}
    zone, draw = timezone(timedelta(hours=hours)), random.Random(hours)
    service = DifficultService(zone=zone, ahead=skew)
    with serving(settings, service), time_machine.travel(datetime.now(UTC), tick=True) as shop:
        for _ in range(2 * HOURS):
            happen(service, checkout_deliver, draw)
            wait(shop, 5 * MINUTE, service)
            wait(shop, 25 * MINUTE, service)
        for _ in range(6):
            wait(shop, 30 * MINUTE, service)
        truth = {sale.order_id: sale.status(datetime.now(UTC)) for sale in service.sales}
    assert dict(Order.objects.values_list("order_id", "status")) == truth
    assert set(truth.values()) >= {"processed", "refunded", "chargeback"}
