"""The end of a failed attempt: a later retry, or giving up. In the callers' transactions."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import F, QuerySet

from checkout_integration.conf import app_settings
from checkout_integration.flows.database import locked, state_database, write_transaction
from checkout_integration.flows.outbox.exclusivity import finish
from checkout_integration.hooks import FailedRun, load_hooks
from checkout_integration.models import FailedAttempt, ReceiverRun
from checkout_integration.policy.log_safety import error_location, traceback_of

# A receiver's failure leaves a line in the log, a row, and a call of the shop's hook.

logger = logging.getLogger("checkout_integration.receivers")


def log_failure(run: ReceiverRun, error: BaseException) -> None:
    """Log where a receiver failed; the exception's message only if LOG_EXCEPTION_MESSAGES allows it."""
    text = traceback_of(error, messages=app_settings().log_exception_messages)
    logger.error("Receiver %s failed at attempt %s: %s", run.receiver, run.attempts, text)


def store_failure(run: ReceiverRun, error: BaseException) -> None:
    """Add the failed attempt to the run's history, in the open transaction."""
    FailedAttempt.objects.using(state_database()).create(
        run=run,
        attempt=run.attempts,
        error=type(error).__name__[:255],
        traceback=traceback_of(error),
    )


def report_failure(run: ReceiverRun, error: BaseException, *, given_up: bool) -> None:
    """Call the shop's hook, for its error tracker. If the hook itself fails, that is logged and changes nothing."""
    try:
        project = run.message.project
        failed_run = FailedRun(
            receiver=run.receiver,
            signal=run.message.signal,
            project=project,
            order_id=run.order.order_id if run.order else "",
            attempt=run.attempts,
            given_up=given_up,
            traceback=traceback_of(error),
        )
        load_hooks(app_settings().project(project).hooks).receiver_failed(failed_run, error)
    except (Exception, SystemExit) as failed:  # noqa: BLE001  # the shop's own code
        logger.error("The hook receiver_failed failed: %s", error_location(failed))


MOST_ATTEMPTS = 10
BACK_OFF = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180, 360, 720, 1440, 1440))
"""Waiting times after the first, second, … failed attempt."""


def put_back(run: ReceiverRun) -> None:
    """Make the run due later, as if it had not been claimed."""
    _later(run, 1, attempts=F("attempts") - 1)


def take_back_attempt(run: ReceiverRun) -> None:
    """Uncount the claim's attempt of a run that is not run: it may never have been begun (`undoing`)."""
    _ours(run).update(attempts=F("attempts") - 1)


def fail(run: ReceiverRun, error: BaseException) -> None:
    """Plan the next attempt of this receiver alone, or give it up; log, store and report the failure.

    Only while the run is running. Its writes may be committed already: if a callback of its ``on_commit`` raised, or if the
    response to the commit was lost. Then the run is done, and a retry would run it twice.
    """
    log_failure(run, error)
    given_up = run.attempts >= MOST_ATTEMPTS
    with write_transaction():
        # RACE: the attempt's transaction has ended, so another process may have taken the run over by now.
        if locked(_ours(run)) and _end(run, type(error).__name__, given_up=given_up):
            store_failure(run, error)
    report_failure(run, error, given_up=given_up)


def _end(run: ReceiverRun, error: str, *, given_up: bool) -> bool:
    if given_up:
        return finish(run, ReceiverRun.State.FAILED, error=error)
    return _later(run, run.attempts, error=error)


def _later(run: ReceiverRun, waits: int, **columns: Any) -> bool:
    due_at = datetime.now(UTC) + BACK_OFF[waits - 1]
    return bool(_ours(run).update(state=ReceiverRun.State.DUE, exclusive=None, due_at=due_at, **columns))


def _ours(run: ReceiverRun) -> QuerySet[ReceiverRun]:
    """Return a queryset of the run's row; it is empty unless the run is still running under our fence."""
    running = ReceiverRun.objects.using(state_database()).filter(state=ReceiverRun.State.RUNNING)
    return running.filter(pk=run.pk, fence=run.fence)
