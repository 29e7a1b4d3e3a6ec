"""Running receivers: what is announced is fanned out to one delivery per receiver, and each delivery is run on its own.

Every step may be repeated: rows say what is due, and claims are made by conditional updates with a fence, so that any number
of processes may work at the same time. Nothing here knows Celery.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from checkout_integration.flows.attempt import attempt
from checkout_integration.flows.database import insert_once, state_database
from checkout_integration.flows.repeating import repeated
from checkout_integration.models import Announcement, Delivery, Order
from checkout_integration.signals import SIGNALS

LEASE = timedelta(minutes=5)
"""How long a process that died may hold back the deliveries of one order."""
FAN_OUT_BATCH = 200


@dataclass(frozen=True)
class Ran:
    """What one call of `run_deliveries` did: deliveries run, and how many of them failed."""

    run: int
    failed: int


def run_deliveries(limit: int = 200, seconds: float = 30.0) -> Ran:
    """Runs what is due, oldest first, until nothing is, ``limit`` deliveries have run, or ``seconds`` have passed."""
    fan_out()
    ends_at = time.monotonic() + seconds
    outcomes = []
    for delivery in _claims():
        outcomes.append(_run(delivery))
        if len(outcomes) >= limit or time.monotonic() >= ends_at:
            break
    return Ran(run=len(outcomes), failed=outcomes.count(False))


def fan_out() -> int:
    """Makes a delivery for each receiver that is connected here, of all that was announced; returns how many it read."""
    new = Announcement.objects.using(state_database()).filter(state=Announcement.State.NEW).order_by("pk")
    total = 0
    while batch := list(new[:FAN_OUT_BATCH]):
        repeated(partial(_fan_out, batch))
        total += len(batch)
    return total


def _fan_out(batch: Sequence[Announcement]) -> None:
    """Deliveries and the states that say so, in one transaction.

    Two processes may do this at once: deliveries are unique, and an upsert leaves what is there.
    """
    connected = {name: sorted(signal.connected(sender=Order)) for name, signal in SIGNALS.items()}
    deliveries = [
        Delivery(announcement=each, order_id=each.order_id, receiver=receiver, due_at=datetime.now(UTC))
        for each in batch
        for receiver in connected[each.signal]
    ]
    heard = [each.pk for each in batch if connected[each.signal]]
    unheard = [each.pk for each in batch if not connected[each.signal]]
    announcements = Announcement.objects.using(state_database())
    with transaction.atomic(using=state_database()):
        insert_once(deliveries, "announcement", "receiver")
        announcements.filter(pk__in=heard).update(state=Announcement.State.FANNED_OUT)
        announcements.filter(pk__in=unheard).update(state=Announcement.State.NO_RECEIVERS)


def _due() -> QuerySet[Delivery]:
    """Deliveries that may run now: due, or left behind by a process that died, and not held back.

    One order's deliveries run one at a time; one that waits to be tried again holds back later ones of its own receiver.
    """
    now = datetime.now(UTC)
    unfinished = (Delivery.State.DUE, Delivery.State.RUNNING)
    earlier = Delivery.objects.filter(
        order=OuterRef("order"),
        receiver=OuterRef("receiver"),
        announcement__lt=OuterRef("announcement"),
        state__in=unfinished,
    )
    leased = Q(order__receivers_lease_until__gt=now)
    due = Delivery.objects.using(state_database()).filter(state__in=unfinished, due_at__lte=now)
    return due.exclude(leased).exclude(Exists(earlier)).order_by("announcement", "pk")


def _claims() -> Iterator[Delivery]:
    """Deliveries claimed by this process, one after the other; others may be claiming at the same time."""
    while True:
        candidates = _due().select_related("announcement")[:20]
        claimed = next((each for each in candidates if repeated(partial(_claim, each))), None)
        if claimed is None:
            return
        yield claimed


def _claim(delivery: Delivery) -> bool:
    """Takes the order's lease and then the delivery, each by a conditional update: of two claimants one wins."""
    now, fence = datetime.now(UTC), secrets.token_hex(16)
    alias = state_database()
    with transaction.atomic(using=alias):  # committed before the attempt: a process that dies has counted it
        if delivery.order_id:
            orders = Order.objects.using(alias).filter(pk=delivery.order_id)
            free = orders.exclude(receivers_lease_until__gt=now)
            if not free.update(receivers_lease_until=now + LEASE, receivers_lease_fence=fence):
                return False
        mine = Delivery.objects.using(alias).filter(
            pk=delivery.pk, state=delivery.state, attempts=delivery.attempts
        )
        won = mine.update(
            state=Delivery.State.RUNNING, attempts=F("attempts") + 1, fence=fence, due_at=now + LEASE
        )
        if not won:
            transaction.set_rollback(True, using=alias)
            return False
    delivery.state, delivery.attempts, delivery.fence = Delivery.State.RUNNING, delivery.attempts + 1, fence
    return True


def _run(delivery: Delivery) -> bool:
    try:
        return attempt(delivery)
    finally:
        if delivery.order_id is not None:
            order = Order.objects.using(state_database()).filter(pk=delivery.order_id)
            order.filter(receivers_lease_fence=delivery.fence).update(receivers_lease_until=None)
