"""Claiming deliveries: which may run now, and whose they are.

Claims are made by conditional updates with a fence, so that any number of processes may work at the same time.

*Slots.* A worker has as many slots as receivers can run in it at the same time: threads of ``checkout_work``, or the
concurrency of a Celery worker. One receiver holds at most half of them: a delivery that runs carries a slot of its receiver
in a unique column, there are half as many of these as the worker has slots, and who finds none leaves the delivery due. So a
receiver that is slow can never keep a worker from running the others. The rows count, not the threads: the rule holds in
each worker, whichever processes it is made of.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from checkout_integration.flows.database import state_database
from checkout_integration.flows.lease import lease_end
from checkout_integration.flows.repeating import repeated
from checkout_integration.models import Delivery, Order

UNFINISHED = (Delivery.State.DUE, Delivery.State.RUNNING)
CANDIDATES = 50
"""How many deliveries are looked up at once; each is claimed by itself."""


@dataclass(frozen=True)
class Worker:
    """Who runs receivers, ``slots`` of them at the same time; with a name of its own each time it starts."""

    slots: int
    name: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def share(self) -> int:
        """How many of its slots one receiver may hold."""
        return max(1, self.slots // 2)

    def slots_of(self, receiver: str) -> list[str]:
        """The slots that a receiver may hold, as they stand in its deliveries."""
        digest = hashlib.sha256(receiver.encode()).hexdigest()[:32]
        return [f"{self.name}:{digest}:{number}" for number in range(self.share)]


def due() -> QuerySet[Delivery]:
    """Deliveries that may run now: due, or left behind by a process that died, and not held back.

    One order's deliveries run one at a time; one that waits to be tried again holds back later ones of its own receiver.
    """
    now = datetime.now(UTC)
    earlier = Delivery.objects.filter(
        order=OuterRef("order"),
        receiver=OuterRef("receiver"),
        announcement__lt=OuterRef("announcement"),
        state__in=UNFINISHED,
    )
    leased = Q(order__receivers_lease_until__gt=now)
    waiting = Delivery.objects.using(state_database()).filter(state__in=UNFINISHED, due_at__lte=now)
    return waiting.exclude(leased).exclude(Exists(earlier))


def claims(worker: Worker | None = None) -> Iterator[Delivery]:
    """Deliveries claimed by this process, oldest first; others may be claiming at the same time.

    Without a worker a receiver may hold any number of slots.
    """
    while True:
        claimed = 0
        for delivery in _candidates(worker):
            if repeated(partial(claim, delivery, worker)):
                claimed += 1
                yield delivery
        if not claimed:
            return


def _candidates(worker: Worker | None) -> list[Delivery]:
    candidates = due().select_related("announcement").order_by("announcement", "pk")
    if worker is not None:
        # What a dead process left behind holds a slot until it is taken over, so that is never left out.
        full = Q(state=Delivery.State.DUE, receiver__in=_receivers_without_a_slot(worker))
        candidates = candidates.exclude(full)
    return list(candidates[:CANDIDATES])


def _receivers_without_a_slot(worker: Worker) -> list[str]:
    running = Delivery.objects.using(state_database()).filter(slot__startswith=f"{worker.name}:")
    held = Counter(running.values_list("receiver", flat=True))
    return [receiver for receiver, count in held.items() if count >= worker.share]


def claim(delivery: Delivery, worker: Worker | None = None) -> bool:
    """Takes the order's lease and then the delivery, each by a conditional update: of two claimants one wins."""
    slot = None
    if worker is not None and (slot := _free_slot(delivery, worker)) is None:
        return False
    try:
        # Committed before the attempt: a process that dies has counted it.
        with transaction.atomic(using=state_database()):
            return _claim(delivery, slot)
    except IntegrityError:
        return False  # another claimant of this worker was given the same slot


def _free_slot(delivery: Delivery, worker: Worker) -> str | None:
    """A slot that no other delivery of this receiver holds. Two claimants may be told the same one: the column is unique."""
    slots = worker.slots_of(delivery.receiver)
    others = Delivery.objects.using(state_database()).filter(slot__in=slots).exclude(pk=delivery.pk)
    taken = set(others.values_list("slot", flat=True))
    return next((slot for slot in slots if slot not in taken), None)


def _claim(delivery: Delivery, slot: str | None) -> bool:
    alias, now, until, fence = state_database(), datetime.now(UTC), lease_end(), secrets.token_hex(16)
    if delivery.order_id:
        orders = Order.objects.using(alias).filter(pk=delivery.order_id)
        free = orders.exclude(receivers_lease_until__gt=now)
        if not free.update(receivers_lease_until=until, receivers_lease_fence=fence):
            return False
    mine = Delivery.objects.using(alias).filter(
        pk=delivery.pk, state=delivery.state, attempts=delivery.attempts, due_at__lte=now
    )
    taken = mine.update(
        state=Delivery.State.RUNNING, attempts=F("attempts") + 1, fence=fence, slot=slot, due_at=until
    )
    if not taken:
        transaction.set_rollback(True, using=alias)
        return False
    delivery.state, delivery.attempts, delivery.fence = Delivery.State.RUNNING, delivery.attempts + 1, fence
    return True
