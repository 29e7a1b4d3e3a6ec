"""Small facts of rows and databases that mutants changed without a test noticing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from checkout_integration.flows.database.connection import keeps_old_snapshots
from checkout_integration.models import Order, Refund
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.flows.shop import notification, record_listed
from tests.flows.test_reversals import sale_and_reversal


@pytest.mark.parametrize(
    ("vendor", "level", "keeps"),
    [
        ("mysql", "repeatable read", True),
        ("mysql", "Read Committed", False),
        ("mysql", None, True),
        ("postgresql", "repeatable read", False),
        ("sqlite", None, False),
    ],
)
def test_only_mariadb_keeps_old_snapshots(vendor: str, level: str | None, keeps: bool) -> None:
    """And only where it does not read what others commit."""
    connection: Any = SimpleNamespace(vendor=vendor, settings_dict={"OPTIONS": {"isolation_level": level}})
    assert keeps_old_snapshots(connection) is keeps


@pytest.mark.django_db
@pytest.mark.parametrize("status", ["refunded", "chargeback"])
def test_a_reversal_that_waits_keeps_its_kind(status: str) -> None:
    """Whether the shop or the bank gave the money back."""
    record_listed([sale_and_reversal(status)[2]])
    assert Refund.objects.get(order=None).status == status


@pytest.mark.django_db
def test_a_refund_without_a_reason_has_none(checkout_deliver: Deliver) -> None:
    """Nothing is made up for it."""
    paid = order_document_for(CheckoutFactory())
    refund = {"status": "refunded", "refunded": True, "refund": {"amount": 1, "currency": paid["currency"]}}
    checkout_deliver(order=paid)
    checkout_deliver(notification("payment.refund", {**paid, **refund}))
    assert [row.reason for row in Order.objects.get().refunds.all()] == [""]
