"""Checkouts that stay unpaid: ``checkout_abandoned`` for each that comes to the age ABANDONED_AFTER."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, ClassVar, Final

from django.db.models import QuerySet

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows import outbox
from checkout_integration.flows.database import key_of, locked, with_retries, write_transaction
from checkout_integration.models import Checkout, Order, OutboxMessage, SyncCursor
from checkout_integration.models.outbox import COMMON_ARGUMENTS
from checkout_integration.signals import checkout_abandoned

BATCH: Final = 100
LOOK_EVERY: Final = 60.0
"""Seconds between two looks of a process that has found nothing more."""
LATEST: Final = timedelta(days=7)
"""How long after it came of age a checkout is still looked at: longer ago, and a reminder annoys."""
LANE: Final = "abandoned"
"""The cursor whose watermark says when the last checkout that was looked at was recorded. It is no lane of the list."""


class ThisProcess:
    """When this process looks next."""

    looks_at: ClassVar[float] = 0.0


def send_abandoned() -> bool:
    """Look at the next checkouts that have come of age, a batch of each project; return whether a signal was written.

    Most calls do nothing: a process looks once a minute.
    """
    projects = [each for each in app_settings().projects.values() if each.abandoned_after]
    if not projects or time.monotonic() < ThisProcess.looks_at:
        return False
    outbox.record_own()
    batches = [with_retries(partial(_send, each)) for each in projects]
    if max(looked_at for looked_at, _ in batches) < BATCH:
        ThisProcess.looks_at = time.monotonic() + LOOK_EVERY
    return any(written for _, written in batches)


def _send(project: Project) -> tuple[int, int]:
    """Write the signals of the next batch, and move the watermark; return how many were looked at, and how many were sent.

    When it is first called for a project it only sets the watermark: nobody is reminded of what they left long ago.

    RACE: the rows are judged under their locks, so no payment is recorded between the judgement and the signal. The watermark
    is committed with the signals, under the lock of its row: of two processes one looks, and one that dies has done nothing.
    """
    until = datetime.now(UTC) - timedelta(hours=project.abandoned_after)
    first = {"watermark": until}
    cursor, is_first = SyncCursor.primary.get_or_create(project=project.alias, lane=LANE, defaults=first)
    if is_first:
        return 0, 0
    with write_transaction():
        current = locked(SyncCursor.primary.filter(pk=cursor.pk), wait=False).first()
        if current is None or current.watermark is None or current.watermark >= until:
            return 0, 0
        due = _due(project).filter(recorded_at__gt=max(current.watermark, until - LATEST))
        moments = list(due.filter(recorded_at__lte=until).values_list("recorded_at", flat=True)[:BATCH])
        if len(moments) == BATCH:
            until = moments[-1]  # and all that were recorded at the same moment
        rows = due.filter(recorded_at__lte=until).order_by("pk") if moments else due.none()
        checkouts = [each for each in locked(rows) if outbox.is_abandoned(each)]
        outbox.write_messages(_messages(checkouts))
        SyncCursor.primary.filter(pk=cursor.pk).update(watermark=until)
    return len(moments), len(checkouts)


def _due(project: Project) -> QuerySet[Checkout]:
    """Return the project's open checkouts of its own mode, by the index of status and time."""
    rows = Checkout.primary.filter(status=Checkout.Status.OPEN, project=project.alias)
    return rows.filter(test=project.accept_test_payments).order_by("recorded_at")


def _messages(checkouts: Sequence[Checkout]) -> list[OutboxMessage]:
    """Return the message of each checkout, about its latest order."""
    orders = Order.primary.filter(checkout__in=[each.pk for each in checkouts]).order_by("pk")
    latest: dict[Any, int] = dict(orders.values_list("checkout", "pk"))
    return [
        OutboxMessage(
            idempotency_key=key_of(each.project, checkout_abandoned.name, each.reference),
            signal=checkout_abandoned.name,
            project=each.project,
            order_id=latest.get(each.pk),
            checkout=each,
            arguments={**COMMON_ARGUMENTS, "source": "time", "live": not each.test},
        )
        for each in checkouts
    ]
