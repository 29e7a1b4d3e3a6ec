"""The queue of the week's chargebacks: those of the last seven days, not those that were learned in them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from checkout_integration.flows.monitoring import order_queues
from checkout_integration.flows.operations import staff_queues
from checkout_integration.models import Order
from tests.support.admin import rows

pytestmark = pytest.mark.django_db


def test_a_reversal_document_says_that_a_chargeback_is_older() -> None:
    """Learned today from the list, whose order has no time of its own; without a document it counts as new."""
    now = datetime.now(UTC)
    old, new, unknown = (rows.make_order(status="chargeback") for _ in range(3))
    rows.make_refund(old, status="chargeback", refunded_at=now - timedelta(days=60))
    rows.make_refund(new, status="chargeback", refunded_at=now - timedelta(days=1))
    rows.make_refund(unknown, status="refunded", refunded_at=now - timedelta(days=60))
    _label, condition = order_queues()["chargebacks"]
    assert set(Order.objects.filter(condition)) == {new, unknown}
    (queue,) = [each for each in staff_queues() if each.name == "chargebacks"]
    assert queue.count == 2
