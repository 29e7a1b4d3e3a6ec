"""A year of payments that is pruned every week: what is left of it, and what happens when it is delivered again.

One payment a week in every run; ``CHECKOUT_FULL=1`` asks for 1,000 a day. A worker applies and runs what a week has brought.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
import time_machine
from django.apps import apps
from django.db import models

from checkout_integration import flows
from checkout_integration.models import Notification, OutboxMessage, ReceiverRun, SyncRun, ValidationDecision
from checkout_integration.signals import SIGNALS
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import UserDocumentFactory
from tests.support.flows.aged import prune_after
from tests.support.flows.shop import Listening, ShopHooks, notification
from tests.support.scale import times
from tests.support.tables import cells

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
WEEKS: Final = 52
PER_WEEK: Final = times(1, 7_000)
SAMPLE: Final = times(1, 500)
"""One of so many payments is delivered again."""
DAYS: Final = 30
LONGEST: Final = timedelta(days=DAYS + 7)
"""What is pruned once a week after 30 days is never older."""
MOST_BYTES: Final = 8_000
"""So many bytes of a sale stay for good, without indexes (docs/records.md)."""


def payment_of(number: int) -> list[dict[str, Any]]:
    """Return the notifications of a sale until it is paid."""
    user = UserDocumentFactory(external_id=f"player-{number}", id=f"service-{number}")
    order = order_document_for(CheckoutFactory(), user=user)
    return [notification("user.validate", user, id=f"question-{number}"), notification(order=order)]


def reversals_of(number: int, order: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what happens to its order later: every fifth is refunded, every tenth charged back."""
    refund = notification("payment.refund", {**order, "status": "refunded", "refunded": True})
    chargeback = notification("payment.chargeback", {**order, "status": "chargeback"})
    return ([refund] if number % 5 == 0 else []) + ([chargeback] if number % 10 == 1 else [])


def left() -> dict[str, int]:
    """Return how many rows there are that pruning removes or empties."""
    return {
        "bodies": Notification.objects.exclude(body=None).count(),
        "messages": OutboxMessage.objects.count(),
        "runs": ReceiverRun.objects.count(),
        "decisions": ValidationDecision.objects.exclude(external_id="").count(),
        "passes": SyncRun.objects.count(),
    }


def state() -> dict[str, str]:
    """Return a hash of the rows of each table, without the receipts that are counted."""
    return {
        model.__name__: hash_of(model) for model in apps.get_app_config("checkout_integration").get_models()
    }


def hash_of(model: type[models.Model]) -> str:
    """Return a hash of a table's rows."""
    columns = [field.attname for field in model._meta.concrete_fields]
    read = [name for name in columns if name not in ("receipts", "last_received_at")]
    digest = hashlib.sha256()
    for row in model._default_manager.order_by("pk").values_list(*read).iterator():
        digest.update(repr(row).encode())
    return digest.hexdigest()


def bytes_of_rows() -> int:
    """Return how many bytes the rows of the app have, without indexes."""
    return sum(len(content) for name, content in cells() if name.startswith("checkout_integration_"))


def test_a_year_leaves_what_accounting_needs_and_recognises_everything(
    checkout_deliver: Deliver, listen: Listening, hooks: type[ShopHooks], settings: Any
) -> None:
    """What is pruned never grows beyond the rows of its days; nothing that is delivered again has any effect."""
    prune_after(settings)
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    hooks.user = staticmethod(lambda user: True)
    heard: Counter[str] = Counter()
    for name, signal in SIGNALS.items():
        # `listen` itself would remember a year of orders.
        listen.connect(signal, lambda name=name, **arguments: heard.update([name]), f"shop.{name}")

    def deliver(events: Iterable[dict[str, Any]]) -> None:
        for event in events:
            assert checkout_deliver(event).status_code == 200
        while flows.run_due(limit=5_000, seconds=600).did_anything:
            pass

    begin = datetime.now(UTC) - timedelta(weeks=WEEKS)
    sample: list[dict[str, Any]] = []
    most: Counter[str] = Counter()
    with time_machine.travel(begin) as clock:
        for week in range(WEEKS):
            clock.move_to(begin + timedelta(weeks=week))
            numbers = range(week * PER_WEEK, (week + 1) * PER_WEEK)
            paid = {number: payment_of(number) for number in numbers}
            deliver(event for events in paid.values() for event in events)
            reversals = {number: reversals_of(number, paid[number][-1]["object"]) for number in numbers}
            deliver(event for events in reversals.values() for event in events)
            sample += [
                event
                for number in numbers
                if number % SAMPLE == 0
                for event in paid[number] + reversals[number]
            ]
            SyncRun.objects.create(
                lane="recent", project="default", state="complete", started_at=now(), finished_at=now()
            )
            flows.retention.prune_all()
            most |= Counter(left())
        clock.move_to(begin + timedelta(weeks=WEEKS))
        flows.retention.prune_all()
        weeks = LONGEST // timedelta(weeks=1) + 1
        per_payment = {"bodies": 2.4, "messages": 5, "runs": 5, "decisions": 1}
        allowed = {kind: number * PER_WEEK * weeks for kind, number in per_payment.items()} | {
            "passes": weeks
        }
        assert {kind: count for kind, count in most.items() if count > allowed[kind]} == {}
        assert bytes_of_rows() / (WEEKS * PER_WEEK) < MOST_BYTES
        before, calls = state(), Counter(heard)
        # The same bodies; and another attempt of each event, but for a question, which is a new one then.
        deliver(sample)
        deliver({**event, "delivery_try": 3} for event in sample if event["event"] != "user.validate")
        after = state()
        assert {name for name in before if before[name] != after[name]} <= {"Notification"}
        assert heard == calls
        assert heard["checkout_paid"] == heard["payment_success"] == WEEKS * PER_WEEK


def now() -> datetime:
    """Return the simulated time."""
    return datetime.now(UTC)
