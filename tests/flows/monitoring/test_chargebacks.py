"""The queue of the week's chargebacks: those of the last seven days, not those that were learned in them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from checkout_integration.flows import accounting
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
    assert (queue.count, queue.since) == (2, now - timedelta(days=1))


def test_its_week_is_that_of_the_money() -> None:
    """Days of the books, of which today is the last one: both parts of the front page have the same chargebacks."""
    now = datetime(2026, 3, 28, 1, 40, tzinfo=UTC)
    with time_machine.travel(now, tick=False):
        for days in (6, 7):
            at = now - timedelta(days=days)
            rows.make_refund(
                rows.make_order(status="chargeback", refunded_at=at), status="chargeback", refunded_at=at
            )
        query = accounting.MoneyQuery(period=accounting.Period.last_days(7), mode=accounting.Mode.TEST)
        (row,) = [each for each in accounting.money_rows(query) if each.sums.chargebacks]
        (queue,) = [each for each in staff_queues() if each.name == "chargebacks"]
        assert queue.count == row.sums.chargebacks == 1


def test_a_customer_waits_since_the_payment() -> None:
    """Not since the shop learned of it."""
    order = rows.make_order(verdict="review")
    (queue,) = [each for each in staff_queues() if each.name == "review"]
    assert queue.since == order.created_at
