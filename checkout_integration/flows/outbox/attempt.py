"""One attempt to run one receiver: exactly once for its effects in this database, at least once for others (G4)."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from asgiref.sync import async_to_sync, iscoroutinefunction
from django.db import transaction
from django.db.models import F, QuerySet

from checkout_integration.flows.database.connection import acquire_write_lock, state_database
from checkout_integration.flows.database.statement import ask
from checkout_integration.flows.ledger.fulfilment import note_receiver
from checkout_integration.flows.outbox.failures import log_failure, report_failure, store_failure
from checkout_integration.flows.outbox.ruling import Ruling, ask_staff_to_undo, ruling_on
from checkout_integration.models import Checkout, Order, OutboxMessage, ReceiverRun, ValidationDecision
from checkout_integration.signals import SIGNALS, Receiver, checkout_paid

logger = logging.getLogger("checkout_integration.receivers")

MOST_ATTEMPTS = 10
BACK_OFF = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180, 360, 720, 1440, 1440))
"""Waits after the first, second, … failed attempt."""


class _FenceLost(Exception):
    """Another process has taken the run over; what this one did is rolled back."""


class ProcessEnded(Exception):
    """The receiver ended its process at each attempt, so that no failure could be booked: killed, or out of memory."""


class ReceiverNotConnected(LookupError):
    """No receiver of this name is connected in this process."""


def attempt(run: ReceiverRun) -> bool:
    """Runs a claimed run; False when it failed. The receiver's own writes commit together with the mark "done"."""
    ruling = ruling_on(run)
    if ruling is not Ruling.RUN:
        return _leave(run, ruling)
    order = _order_of(run)
    if run.attempts > MOST_ATTEMPTS:
        _fail(run, ProcessEnded())
        return False
    try:
        with transaction.atomic(using=state_database()):
            acquire_write_lock()
            # A savepoint, which a deadlock takes away together with all that the receiver wrote (InnoDB): one that hides the
            # deadlock fails here, and is not marked done.
            with transaction.atomic(using=state_database()):
                _call(run, order)
            if not _finish(run, ReceiverRun.State.DONE):
                raise _FenceLost
            _note_completed(run)
    except _FenceLost:
        logger.warning(
            "ReceiverRun %s was taken over by another process; its effects here are undone.", run.pk
        )
        return False
    except (Exception, SystemExit) as error:  # noqa: BLE001  # a receiver may raise anything, and must not stop the others
        _fail(run, error)
        return False
    return True


def _leave(run: ReceiverRun, ruling: Ruling) -> bool:
    """Do with a run what was ruled instead of running it; False when it failed by that."""
    if ruling is Ruling.SUPERSEDED:
        _finish(run, ReceiverRun.State.SUPERSEDED)
    elif ruling is Ruling.WAIT:
        _put_back(run)
    else:
        with transaction.atomic(using=state_database()):
            acquire_write_lock()
            if _finish(run, ReceiverRun.State.FAILED, error="ReceiversRenamed"):
                ask_staff_to_undo(run)
    return ruling is not Ruling.RECEIVERS_RENAMED


def _note_completed(run: ReceiverRun) -> None:
    """Remember on the grant what was granted, together with the receiver's own writes."""
    message = run.message
    if message.signal == checkout_paid.name and message.grant_id:
        note_receiver(message.grant_id, "completed", run.receiver)


def _order_of(run: ReceiverRun) -> Order | None:
    """The signal's order; of a grant, the one that pays for it now."""
    grant = run.message.grant
    key = grant.order_id if grant else run.order_id
    return next(iter(ask(_orders, key=key)), None) if key else None


def _orders(*, key: int) -> QuerySet[Order]:
    orders = Order.objects.using(state_database()).filter(pk=key)
    return orders.select_related("personal_data", "checkout", "user")


def _call(run: ReceiverRun, order: Order | None) -> None:
    signal = SIGNALS[run.message.signal]
    receiver = signal.connected(sender=Order).get(run.receiver)
    if receiver is None:
        raise ReceiverNotConnected(run.receiver)
    call: Receiver = async_to_sync(receiver) if iscoroutinefunction(receiver) else receiver
    call(sender=Order, signal=signal, **arguments_of(run, order))


def arguments_of(run: ReceiverRun, order: Order | None) -> dict[str, Any]:
    """Return the named arguments of a receiver; docs/fulfilment.md and docs/receivers.md say what they mean."""
    message = run.message
    told = dict(message.arguments)
    arguments = {
        "order": order,
        "checkout": _checkout_of(message, order),
        "grant": message.grant,
        "refund": order.refund if order else None,
        "transition": message.transition,
        "verdict": order.verdict if order else "",
        "idempotency_key": message.idempotency_key,
        "attempt": run.attempts,
        **told,
    }
    if "decision" in told:
        arguments["decision"] = ValidationDecision.objects.using(state_database()).get(pk=told["decision"])
    return arguments


def _checkout_of(message: OutboxMessage, order: Order | None) -> Checkout | None:
    """Its sale; mostly the one that the order was just read with."""
    if order is not None and order.checkout_id == message.checkout_id:
        return order.checkout
    return message.checkout


_FREE: dict[str, Any] = {"slot": None, "exclusive": None}
"""What a run that has ended gives back: its receiver's slot, and the turn of its line."""


def _finish(run: ReceiverRun, state: ReceiverRun.State, error: str = "") -> bool:
    """Ends the run where the fence is still ours."""
    ended = {"state": state, **_FREE, "finished_at": datetime.now(UTC), "error": error}
    return bool(_held(run).update(**ended))


def _put_back(run: ReceiverRun) -> None:
    """Make the run due later, as if it had not been claimed."""
    due_at = datetime.now(UTC) + BACK_OFF[0]
    _held(run).update(state=ReceiverRun.State.DUE, **_FREE, attempts=F("attempts") - 1, due_at=due_at)


def _held(run: ReceiverRun) -> QuerySet[ReceiverRun]:
    """The run's row, as long as it runs under our fence."""
    running = ReceiverRun.objects.using(state_database()).filter(state=ReceiverRun.State.RUNNING)
    return running.filter(pk=run.pk, fence=run.fence)


def _fail(run: ReceiverRun, error: BaseException) -> None:
    """Plan the next attempt of this receiver alone, or give it up; log, store and report the failure.

    Only while it runs: what it wrote may be committed already, where a callback of its ``on_commit`` raised or the answer to
    the commit was lost. Then it is done, and once more would be twice.
    """
    log_failure(run, error)
    given_up = run.attempts >= MOST_ATTEMPTS
    planned: dict[str, Any] = {**_FREE, "error": type(error).__name__}
    if given_up:
        planned |= {"state": ReceiverRun.State.FAILED, "finished_at": datetime.now(UTC)}
    else:
        due_at = datetime.now(UTC) + BACK_OFF[run.attempts - 1]
        planned |= {"state": ReceiverRun.State.DUE, "due_at": due_at}
    with transaction.atomic(using=state_database()):
        acquire_write_lock()
        if _held(run).update(**planned):
            store_failure(run, error)
    report_failure(run, error, given_up=given_up)
