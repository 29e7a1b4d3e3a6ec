"""The lease of a running delivery: how long a process that died holds it back, and how one that lives keeps it.

While a receiver runs, a thread of its own renews the lease, so that a receiver may run for longer; when the process dies,
nobody renews, and another one takes over.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from django.db import connections

from checkout_integration.flows.database import state_database
from checkout_integration.flows.repeating import DATABASE_AWAY
from checkout_integration.models import Delivery

logger = logging.getLogger("checkout_integration.receivers")

LEASE = timedelta(minutes=2)
"""How long a process that died may hold back the deliveries of one checkout, and a slot of the receiver."""


def lease_end() -> datetime:
    """When a lease that is taken or renewed now ends."""
    return datetime.now(UTC) + LEASE


@contextmanager
def renewed(delivery: Delivery) -> Iterator[None]:
    """Keeps the lease of a claimed delivery for as long as the block lasts, whatever the block's own transaction does.

    On SQLite nothing is renewed: the receiver's transaction holds the only write lock, so the thread could not write, and
    nobody can claim the delivery before that transaction has ended.
    """
    if not connections[state_database()].features.has_select_for_update:
        yield
        return
    ended = threading.Event()
    keeper = threading.Thread(target=_keep, args=(delivery, ended), name="checkout-lease", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        ended.set()
        keeper.join()


def _keep(delivery: Delivery, ended: threading.Event) -> None:
    """Renews at each third of the lease; a short receiver costs no connection."""
    alias = state_database()
    try:
        while not ended.wait(LEASE.total_seconds() / 3):
            try:
                if not _renew(delivery):
                    return
            except DATABASE_AWAY as error:
                logger.warning(
                    "The lease of delivery %s could not be renewed: %s", delivery.pk, type(error).__name__
                )
                connections[alias].close()
    finally:
        connections[alias].close()  # this thread's own


def _renew(delivery: Delivery) -> bool:
    """Move the end of the lease where the fence is ours; False when another process has taken over."""
    running = Delivery.objects.using(state_database()).filter(
        pk=delivery.pk, fence=delivery.fence, state=Delivery.State.RUNNING
    )
    return bool(running.update(due_at=lease_end()))
