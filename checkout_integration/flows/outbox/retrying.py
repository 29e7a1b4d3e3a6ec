"""The end of a failed attempt: a later retry, or giving up. In the callers' transactions."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import F, QuerySet

from checkout_integration import telemetry
from checkout_integration.conf import app_settings
from checkout_integration.flows.database import (
    database_now,
    in_transaction,
    locked,
)
from checkout_integration.flows.outbox.exclusivity import finish
from checkout_integration.flows.outbox.messages import life_cycle_message, write_messages
from checkout_integration.flows.outbox.receivers import plan_of
from checkout_integration.flows.outbox.undoing import remember
from checkout_integration.hooks import FailedRun, load_hooks
from checkout_integration.models import FailedAttempt, ReceiverRun
from checkout_integration.models.outbox import COMMON_ARGUMENTS
from checkout_integration.policy.log_safety import error_location, traceback_of
from checkout_integration.signals import LIFE_CYCLE, RetryLater, receiver_given_up
from checkout_integration.signals.durable import USUAL

LONGEST_ERROR: Final = 255
"""Characters of the column."""

# A receiver's failure leaves a line in the log, a row, and a call of the shop's hook.

logger = logging.getLogger("checkout_integration.receivers")


def log_failure(run: ReceiverRun, error: BaseException, limit: str = "") -> None:
    """Log where a receiver failed, and the ``limit`` of the database that ended its transaction.

    The exception's message is logged only if LOG_EXCEPTION_MESSAGES allows it.
    """
    text = traceback_of(error, messages=app_settings().log_exception_messages)
    if limit:
        text = f"{text}\nThe database ended the transaction by its limit {limit}; RECEIVER_LIMIT raises it."
    logger.error("Receiver %s failed at attempt %s: %s", run.receiver, run.attempts, text, extra=run.log_ids)


def store_failure(run: ReceiverRun, error: BaseException) -> None:
    """Add the failed attempt to the run's history, in the open transaction."""
    FailedAttempt.primary.create(
        run=run,
        attempt=run.attempts,
        error=type(error).__name__[:LONGEST_ERROR],
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
        logger.error("The hook receiver_failed failed: %s", error_location(failed), extra=run.log_ids)


BACK_OFF = USUAL.waits
"""Waiting times after the first, second, … failed attempt; the first ones are those of a notification too."""


def next_try(failures: int, waits: Sequence[timedelta] = ()) -> datetime:
    """Return when to try again after so many failures, at the earliest, by the usual waits or by these."""
    return database_now() + (waits or BACK_OFF)[failures - 1]


def put_back(run: ReceiverRun) -> None:
    """Make the run due later, as if it had not been claimed."""
    _later(run, next_try(1), attempts=F("attempts") - 1)


def leave_to_others(run: ReceiverRun) -> None:
    """Take a run out of the queue, as if it had not been claimed: this process does not know its receiver.

    The run that waits for it goes on: it may be of another signal, whose receiver has the same name.
    """
    if finish(run, ReceiverRun.State.UNKNOWN):
        own = ReceiverRun.primary.filter(pk=run.pk)
        own.update(finished_at=None, attempts=F("attempts") - 1)


def take_back_attempt(run: ReceiverRun) -> None:
    """Uncount the claim's attempt of a run that is not run: it may never have been begun (`undoing`)."""
    _ours(run).update(attempts=F("attempts") - 1)


def name_of(error: BaseException) -> str:
    """Return what staff read of a failure: its class, and of `RetryLater` its cause, which has no personal data."""
    name = type(error).__name__
    return f"{name}: {error.cause}"[:LONGEST_ERROR] if isinstance(error, RetryLater) else name


def fail(run: ReceiverRun, error: BaseException, limit: str = "") -> None:
    """Plan the next attempt of this receiver alone, or give it up; log, store and report the failure.

    ``limit``: the name of the database's limit that ended the attempt; "" if none did.

    Nothing happens unless the run is still running. The attempt may be committed already, if an ``on_commit`` callback
    raised or the response to the commit was lost: then the run is done, and a retry would run the receiver twice.
    """
    log_failure(run, error, limit)
    plan = plan_of(run.message.signal, run.receiver)
    given_up = run.attempts >= plan.most_attempts

    @in_transaction
    def end() -> bool:
        # RACE: the attempt's transaction has ended, so another process may have taken the run over by now.
        if not locked(_ours(run)):
            return False
        name = name_of(error)
        later = None if given_up else next_try(run.attempts, plan.waits)
        ended = _later(run, later, error=name, postponed_for="") if later else give_up(run, name)
        if ended:
            store_failure(run, error)
        return ended

    # The attempt may have lost the connection. A retry after a commit whose response was lost finds the run ended.
    if end():
        outcome, message = "given_up" if given_up else "failed", run.message
        telemetry.count(telemetry.RUNS, project=message.project, signal=message.signal, outcome=outcome)
    report_failure(run, error, given_up=given_up)


def postpone(run: ReceiverRun, later: RetryLater) -> bool:
    """Make the run due when its receiver asked for it, and uncount the attempt; return False when its patience is over.

    A receiver that was begun may have had effects outside the database, so its grant remembers it (`undoing`).
    """
    now = database_now()
    since = run.postponed_since or now
    end = since + plan_of(run.message.signal, run.receiver).patience
    if now >= end:
        return False

    @in_transaction
    def write() -> None:
        # RACE: as in `fail`, another process may have taken the run over.
        if runs := list(locked(_ours(run))):
            remember(runs)
            _later(
                run,
                min(now + later.wait, end),
                attempts=F("attempts") - 1,
                error="",
                postponed_since=since,
                postponed_for=later.cause,
            )

    write()
    message = run.message
    telemetry.count(telemetry.RUNS, project=message.project, signal=message.signal, outcome="postponed")
    logger.info("Receiver %s asked to be called later.", run.receiver, extra=run.log_ids)
    return True


def give_up(run: ReceiverRun, error: str) -> bool:
    """End a locked run as failed, and send ``receiver_given_up``; return False if another process has taken it over.

    Nothing is sent for a receiver of a life-cycle signal: its alert about itself would fail in the same way, for ever.
    """
    if not finish(run, ReceiverRun.State.FAILED, error=error):
        return False
    message = run.message
    if message.signal not in {signal.name for signal in LIFE_CYCLE}:
        given_up = life_cycle_message(
            receiver_given_up,
            message.project,
            run.pk,
            run.fence,  # since staff may run it again, and it may be given up once more
            source=message.arguments.get("source", COMMON_ARGUMENTS["source"]),
            run=run.pk,
            receiver=run.receiver,
            failed_signal=message.signal,
            error=error,
            order_id=run.order.order_id if run.order else "",
        )
        write_messages([given_up])
    return True


def _later(run: ReceiverRun, due_at: datetime, **columns: Any) -> bool:
    return bool(_ours(run).update(state=ReceiverRun.State.DUE, exclusive=None, due_at=due_at, **columns))


def _ours(run: ReceiverRun) -> QuerySet[ReceiverRun]:
    """Return a queryset of the run's row; it is empty unless the run is still running under our fence."""
    running = ReceiverRun.primary.filter(state=ReceiverRun.State.RUNNING)
    return running.filter(pk=run.pk, fence=run.fence)
