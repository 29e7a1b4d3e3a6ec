"""Payments that are reversed before this shop hears of them, such as in a restored backup."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.models import Checkout, Incident, Order, Refund, SyncDifference
from tests.flows.sync.test_passes import sell, service

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.mark.spec("STA-06", "STA-07", "EP3-01")
@pytest.mark.parametrize(
    ("profile", "seconds"), [("field", 0.25), *product(["field", "spec"], [2, 30, 3600])]
)
@pytest.mark.parametrize("event", ["refund", "chargeback"])
def test_a_complete_pass_records_them(settings: Any, profile: str, event: str, seconds: float) -> None:
    """Although neither order nor checkout is known, and however soon it was reversed; once, and nothing waits."""
    with service(settings, profile) as sandbox:
        order_ids = []
        for _ in range(2):
            order_ids.append(sell().order_id)
            sandbox.payments.pay(order_ids[-1])
            sandbox.clock.advance(seconds)
            getattr(sandbox.payments, event)(order_ids[-1])
            sandbox.clock.advance(5)
        Order.objects.all().delete()
        Checkout.objects.all().delete()
        for _ in range(2):
            assert flows.sync.sync_transactions(lane="all").state == "complete"
    status = {"refund": "refunded", "chargeback": "chargeback"}[event]
    assert sorted(Order.objects.values_list("order_id", "status")) == sorted(
        (each, status) for each in order_ids
    )
    assert not Refund.objects.filter(order=None).exists()
    assert not SyncDifference.objects.filter(waiting_key__isnull=False).exists()
    assert not Incident.objects.filter(resolved_at=None).exists()


@pytest.mark.spec("STA-07")
@pytest.mark.parametrize("part", ["lane", "since"])
def test_a_part_of_the_list_does_not_say_that_there_is_no_payment(settings: Any, part: str) -> None:
    """It may be in the part that was not read."""
    with service(settings, "spec") as sandbox:
        order_id = sell().order_id
        sandbox.payments.pay(order_id)
        sandbox.payments.chargeback(order_id)
        Order.objects.all().delete()
        Checkout.objects.all().delete()
        since = timezone.now() - timedelta(days=3)
        period: dict[str, Any] = {"lane": "recent"} if part == "lane" else {"lane": "all", "date_from": since}
        assert flows.sync.sync_transactions(**period).state == "complete"
        assert not Order.objects.exists()
        flows.sync.sync_transactions(lane="all")
    assert Order.objects.get().status == "chargeback"
