"""What becomes of an attempt: done, tried again later, or given up. In the transactions of those who call."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet

from checkout_integration.flows.database.connection import acquire_write_lock, locked, state_database
from checkout_integration.flows.outbox.failures import log_failure, report_failure, store_failure
from checkout_integration.flows.outbox.lines import finish
from checkout_integration.models import ReceiverRun

MOST_ATTEMPTS = 10
BACK_OFF = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180, 360, 720, 1440, 1440))
"""Waits after the first, second, … failed attempt."""


def put_back(run: ReceiverRun) -> None:
    """Make the run due later, as if it had not been claimed."""
    _later(run, 1, attempts=F("attempts") - 1)


def fail(run: ReceiverRun, error: BaseException) -> None:
    """Plan the next attempt of this receiver alone, or give it up; log, store and report the failure.

    Only while it runs: what it wrote may be committed already, where a callback of its ``on_commit`` raised or the answer to
    the commit was lost. Then it is done, and once more would be twice.
    """
    log_failure(run, error)
    given_up = run.attempts >= MOST_ATTEMPTS
    with transaction.atomic(using=state_database()):
        acquire_write_lock()
        # RACE: the attempt's transaction has ended, so another process may have taken the run over by now.
        if locked(_ours(run)) and _end(run, type(error).__name__, given_up=given_up):
            store_failure(run, error)
    report_failure(run, error, given_up=given_up)


def _end(run: ReceiverRun, error: str, *, given_up: bool) -> bool:
    if given_up:
        return finish(run, ReceiverRun.State.FAILED, fence=run.fence, error=error)
    return _later(run, run.attempts, error=error)


def _later(run: ReceiverRun, waits: int, **columns: Any) -> bool:
    due_at = datetime.now(UTC) + BACK_OFF[waits - 1]
    return bool(_ours(run).update(state=ReceiverRun.State.DUE, exclusive=None, due_at=due_at, **columns))


def _ours(run: ReceiverRun) -> QuerySet[ReceiverRun]:
    """The run's row, as long as it runs under our fence."""
    running = ReceiverRun.objects.using(state_database()).filter(state=ReceiverRun.State.RUNNING)
    return running.filter(pk=run.pk, fence=run.fence)
