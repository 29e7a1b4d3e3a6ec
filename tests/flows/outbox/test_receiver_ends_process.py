"""Receivers that end their process instead of raising."""

from __future__ import annotations

from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.models import ReceiverRun
from checkout_integration.signals import checkout_paid, payment_success
from checkout_integration.signals.durable import USUAL
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.flows.shop import Listening

pytestmark = pytest.mark.django_db


def leave(**arguments: Any) -> None:
    """Leaves as a script does."""
    raise SystemExit(3)


def test_leaving_is_a_failure_like_any_other(listen: Listening) -> None:
    """The attempt is booked, the worker goes on, and the other receivers run."""
    heard = listen(payment_success)
    listen(checkout_paid, leave)
    OrderFactory(checkout=CheckoutFactory())
    flows.run_due()
    assert len(heard) == 1
    failed = ReceiverRun.objects.get(receiver="test.checkout_paid")
    assert (failed.state, failed.attempts, failed.error) == ("due", 1, "SystemExit")


def test_what_kills_its_process_each_time_is_parked(listen: Listening) -> None:
    """A killed process books nothing; the counter was written before, so the attempt after the tenth is not run."""
    heard = listen(checkout_paid)
    OrderFactory(checkout=CheckoutFactory())
    ReceiverRun.objects.update(attempts=USUAL.most_attempts, state="due")
    flows.run_due()
    failed = ReceiverRun.objects.get()
    assert (failed.state, failed.error, heard) == ("failed", "ProcessEnded", [])
