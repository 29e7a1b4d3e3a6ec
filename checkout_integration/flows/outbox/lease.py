"""The lease of a running run: how long a process that died holds it back, and how one that lives keeps it.

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

from checkout_integration.flows.database.connection import state_database
from checkout_integration.flows.database.retry import TRANSIENT_DATABASE_ERRORS
from checkout_integration.models import ReceiverRun

logger = logging.getLogger("checkout_integration.receivers")

LEASE = timedelta(minutes=2)
"""How long a process that died may hold back the runs of one checkout, and a slot of the receiver."""


def lease_end() -> datetime:
    """When a lease that is taken or renewed now ends."""
    return datetime.now(UTC) + LEASE


@contextmanager
def renewed(run: ReceiverRun) -> Iterator[None]:
    """Keeps the lease of a claimed run for as long as the block lasts, whatever the block's own transaction does.

    On SQLite nothing is renewed: the receiver's transaction holds the only write lock, so the thread could not write, and
    nobody can claim the run before that transaction has ended.
    """
    if not connections[state_database()].features.has_select_for_update:
        yield
        return
    ended = threading.Event()
    keeper = threading.Thread(target=_keep, args=(run, ended), name="checkout-lease", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        ended.set()
        keeper.join()


def _keep(run: ReceiverRun, ended: threading.Event) -> None:
    """Renews at each third of the lease; a short receiver costs no connection."""
    alias = state_database()
    try:
        while not ended.wait(LEASE.total_seconds() / 3):
            try:
                if not _renew(run):
                    return
            except TRANSIENT_DATABASE_ERRORS as error:
                logger.warning("The lease of run %s could not be renewed: %s", run.pk, type(error).__name__)
                connections[alias].close()
    finally:
        connections[alias].close()  # this thread's own


def _renew(run: ReceiverRun) -> bool:
    """Move the end of the lease where the fence is ours; False when another process has taken over."""
    running = ReceiverRun.objects.using(state_database()).filter(
        pk=run.pk, fence=run.fence, state=ReceiverRun.State.RUNNING
    )
    return bool(running.update(due_at=lease_end()))
