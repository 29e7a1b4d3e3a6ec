"""The rows of a backlog, written in bulk: what stays when nobody has worked for hours."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from benchmarks import payments
from checkout_integration.conf import app_settings
from checkout_integration.flows.inbox import VerifiedNotification, row_of
from checkout_integration.models import Checkout, Notification, OutboxMessage, ReceiverRun
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.notification import parse_notification
from checkout_integration.protocol.vocabulary import OrderType
from checkout_integration.signals import payment_review

AT_A_TIME = 1_000
IN_A_LINE = 100
"""So many runs of a receiver that fails are of one checkout: the first is to be tried again, and the others wait for it."""


def notifications(count: int) -> None:
    """Store so many payments of new checkouts, as if they had been accepted."""
    project = app_settings().project()
    for size in _sizes(count):
        rows = []
        for message in payments.of_new_checkouts(size):
            now = datetime.now(UTC)
            verified = VerifiedNotification(
                project=project, body=message.body, secret_position=0, arrived_at=now
            )
            rows.append(row_of(verified, parse_notification(strict_json.loads(message.body))))
        Notification.objects.bulk_create(rows)


def due_runs(count: int) -> None:
    """Write so many runs of the receiver that does nothing, each of another checkout."""
    for size in _sizes(count):
        _write_runs(_checkouts(size), "do-nothing", waiting=0)


def waiting_runs(count: int) -> None:
    """Write so many runs that wait, since the first of their checkout has failed and is to be tried again in an hour."""
    lines = _checkouts(max(count // IN_A_LINE, 1))
    _write_runs(lines, "failing", waiting=count // len(lines))


def _write_runs(lines: list[Checkout], receiver: str, *, waiting: int) -> None:
    messages = OutboxMessage.objects.bulk_create(
        (
            OutboxMessage(
                idempotency_key=uuid.uuid4().hex,
                signal=payment_review.name,
                project=line.project,
                checkout=line,
                state=OutboxMessage.State.SENT,
            )
            for line in lines
            for _ in range(1 + waiting)
        ),
        batch_size=AT_A_TIME,
    )
    now, again_at = datetime.now(UTC), datetime.now(UTC) + timedelta(hours=1)
    heads = {message.checkout_id: message.idempotency_key for message in reversed(messages)}
    ReceiverRun.objects.bulk_create(
        (
            ReceiverRun(
                message=message,
                receiver=receiver,
                line=message.line,
                state="due" if message.idempotency_key == heads[message.checkout_id] else "waiting",
                attempts=3 if waiting else 0,
                due_at=again_at if waiting else now,
            )
            for message in messages
        ),
        batch_size=AT_A_TIME,
    )


def _checkouts(count: int) -> list[Checkout]:
    made = (Checkout(project="default", type=OrderType.SIMPLE, status="paid") for _ in range(count))
    return Checkout.objects.bulk_create(made, batch_size=AT_A_TIME)


def _sizes(count: int) -> Iterator[int]:
    """Return shares of a count, none too large for the memory."""
    numbers = iter(range(count))
    while share := len(list(islice(numbers, AT_A_TIME))):
        yield share
