"""One attempt to run one receiver: exactly once for its effects in this database, at least once for others."""

from __future__ import annotations

import logging
import random
import time
from contextlib import nullcontext
from typing import Any

from asgiref.sync import async_to_sync, iscoroutinefunction
from django.db import connections, transaction

from checkout_integration.flows.database.connection import (
    acquire_write_lock,
    state_database,
    use_read_committed_next,
)
from checkout_integration.flows.database.retry import LONGEST_PAUSE, MOST_DEADLOCKS, is_deadlock
from checkout_integration.flows.outbox.ending import MOST_ATTEMPTS, fail, put_back
from checkout_integration.flows.outbox.grants import note_completed
from checkout_integration.flows.outbox.lines import finish
from checkout_integration.flows.outbox.loading import Prepared, load, lock
from checkout_integration.flows.outbox.ruling import Ruling, ask_staff_to_undo, ruling_on
from checkout_integration.models import Checkout, Order, OutboxMessage, ReceiverRun
from checkout_integration.signals import SIGNALS, Receiver, checkout_paid

logger = logging.getLogger("checkout_integration.receivers")


class _TakenOver(Exception):
    """Another process has the run now; what this one did is rolled back."""


class ProcessEnded(Exception):
    """The receiver ended its process at each attempt, so that no failure could be booked: killed, or out of memory."""


class ReceiverNotConnected(LookupError):
    """No receiver of this name is connected in this process."""


def attempt(prepared: Prepared) -> bool | None:
    """Run a claimed run; False when it failed, None when another process has taken it over.

    A deadlock is no failure of the receiver's: it is run again at once, and no attempt is counted.
    """
    run = prepared.run
    for deadlocks in range(1, MOST_DEADLOCKS + 1):
        try:
            return _attempt(prepared)
        except _TakenOver:
            logger.warning(
                "ReceiverRun %s was taken over by another process; its effects here are undone.", run.pk
            )
            return None
        except (Exception, SystemExit) as error:  # noqa: BLE001  # a receiver may raise anything, and must not stop the others
            if not is_deadlock(error) or deadlocks == MOST_DEADLOCKS:
                fail(run, error)
                return False
        time.sleep(random.uniform(0, LONGEST_PAUSE))  # noqa: S311  # jitter, no secret
    raise AssertionError  # not reached: the last try returns


def _attempt(prepared: Prepared) -> bool:
    """One transaction: the run's lock, the receiver's own writes, and the mark that it is done."""
    alias, run = state_database(), prepared.run
    if not connections[alias].in_atomic_block:
        use_read_committed_next()
    with transaction.atomic(using=alias):
        acquire_write_lock()
        if (begun := lock(prepared)) is None:
            raise _TakenOver
        if not begun.unchanged:
            (prepared,) = load([run])
        ruling = ruling_on(run, granting=begun.granting)
        if ruling is not Ruling.RUN:
            return _leave(run, ruling)
        if run.attempts > MOST_ATTEMPTS:
            raise ProcessEnded
        with _savepoint():
            _call(prepared)
        _finish(run, ReceiverRun.State.DONE)
        if run.message.signal == checkout_paid.name and run.message.grant_id:
            note_completed(run.message.grant_id, run.receiver)
    return True


def _savepoint() -> Any:
    """Return a savepoint on InnoDB, where a deadlock takes it away together with all that the receiver wrote.

    A receiver that hides the deadlock fails at its end, and is not marked done. Other databases end such a transaction.
    """
    alias = state_database()
    return transaction.atomic(using=alias) if connections[alias].vendor == "mysql" else nullcontext()


def _finish(run: ReceiverRun, state: ReceiverRun.State, error: str = "") -> None:
    if not finish(run, state, fence=run.fence, error=error):
        raise _TakenOver


def _leave(run: ReceiverRun, ruling: Ruling) -> bool:
    """Do with a run what was ruled instead of running it; False when it failed by that."""
    if ruling is Ruling.SUPERSEDED:
        _finish(run, ReceiverRun.State.SUPERSEDED)
    elif ruling is Ruling.WAIT:
        put_back(run)
    else:
        _finish(run, ReceiverRun.State.FAILED, error="ReceiversRenamed")
        ask_staff_to_undo(run)
    return ruling is not Ruling.RECEIVERS_RENAMED


def _call(prepared: Prepared) -> None:
    signal = SIGNALS[prepared.run.message.signal]
    receiver = signal.connected(sender=Order).get(prepared.run.receiver)
    if receiver is None:
        raise ReceiverNotConnected(prepared.run.receiver)
    call: Receiver = async_to_sync(receiver) if iscoroutinefunction(receiver) else receiver
    call(sender=Order, signal=signal, **arguments_of(prepared))


def arguments_of(prepared: Prepared) -> dict[str, Any]:
    """Return the named arguments of a receiver; docs/fulfilment.md and docs/receivers.md say what they mean."""
    run, message, order = prepared.run, prepared.run.message, prepared.order
    arguments = {
        "order": order,
        "checkout": _checkout_of(message, order),
        "grant": message.grant,
        "refund": order.refund if order else None,
        "transition": message.transition,
        "verdict": order.verdict if order else "",
        "idempotency_key": message.idempotency_key,
        "attempt": run.attempts,
        **message.arguments,
    }
    if "decision" in message.arguments:
        arguments["decision"] = prepared.decision
    return arguments


def _checkout_of(message: OutboxMessage, order: Order | None) -> Checkout | None:
    """The message's checkout; mostly the one that the order was read with."""
    if order is not None and order.checkout_id == message.checkout_id:
        return order.checkout
    return message.checkout
