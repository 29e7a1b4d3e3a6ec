"""One attempt to run one receiver: exactly once for its effects in this database, at least once for others (G4)."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from asgiref.sync import async_to_sync, iscoroutinefunction
from django.db import transaction
from django.db.models import F, QuerySet

from checkout_integration.flows.database import state_database, write_first
from checkout_integration.flows.fulfilment import note_receiver
from checkout_integration.flows.receiver_failure import log_failure, report_failure, store_failure
from checkout_integration.flows.statement import ask
from checkout_integration.flows.undoing import Ruling, ask_staff_to_undo, ruling_on
from checkout_integration.models import Announcement, Checkout, Delivery, Order, ValidationDecision
from checkout_integration.signals import SIGNALS, Receiver, checkout_paid

logger = logging.getLogger("checkout_integration.receivers")

MOST_ATTEMPTS = 10
BACK_OFF = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180, 360, 720, 1440, 1440))
"""Waits after the first, second, … failed attempt."""


class _FenceLost(Exception):
    """Another process has taken the delivery over; what this one did is rolled back."""


class ProcessEnded(Exception):
    """The receiver ended its process at each attempt, so that no failure could be booked: killed, or out of memory."""


class ReceiverNotConnected(LookupError):
    """No receiver of this name is connected in this process."""


def attempt(delivery: Delivery) -> bool:
    """Runs a claimed delivery; False when it failed. The receiver's own writes commit together with the mark "done"."""
    ruling = ruling_on(delivery)
    if ruling is not Ruling.RUN:
        return _leave(delivery, ruling)
    order = _order_of(delivery)
    if delivery.attempts > MOST_ATTEMPTS:
        _fail(delivery, ProcessEnded())
        return False
    try:
        with transaction.atomic(using=state_database()):
            write_first()
            # A savepoint, which a deadlock takes away together with all that the receiver wrote (InnoDB): one that hides the
            # deadlock fails here, and is not marked done.
            with transaction.atomic(using=state_database()):
                _call(delivery, order)
            if not _finish(delivery, Delivery.State.DONE):
                raise _FenceLost
            _note_completed(delivery)
    except _FenceLost:
        logger.warning(
            "Delivery %s was taken over by another process; its effects here are undone.", delivery.pk
        )
        return False
    except (Exception, SystemExit) as error:  # noqa: BLE001  # a receiver may raise anything, and must not stop the others
        _fail(delivery, error)
        return False
    return True


def _leave(delivery: Delivery, ruling: Ruling) -> bool:
    """Do with a delivery what was ruled instead of running it; False when it failed by that."""
    if ruling is Ruling.SUPERSEDED:
        _finish(delivery, Delivery.State.SUPERSEDED)
    elif ruling is Ruling.WAIT:
        _put_back(delivery)
    else:
        with transaction.atomic(using=state_database()):
            write_first()
            if _finish(delivery, Delivery.State.PARKED, error="ReceiversRenamed"):
                ask_staff_to_undo(delivery)
    return ruling is not Ruling.RECEIVERS_RENAMED


def _note_completed(delivery: Delivery) -> None:
    """Remember on the grant what was granted, together with the receiver's own writes."""
    announcement = delivery.announcement
    if announcement.signal == checkout_paid.name and announcement.grant_id:
        note_receiver(announcement.grant_id, "completed", delivery.receiver)


def _order_of(delivery: Delivery) -> Order | None:
    """The signal's order; of a grant, the one that pays for it now."""
    grant = delivery.announcement.grant
    key = grant.order_id if grant else delivery.order_id
    return next(iter(ask(_orders, key=key)), None) if key else None


def _orders(*, key: int) -> QuerySet[Order]:
    orders = Order.objects.using(state_database()).filter(pk=key)
    return orders.select_related("personal_data", "checkout", "user")


def _call(delivery: Delivery, order: Order | None) -> None:
    signal = SIGNALS[delivery.announcement.signal]
    receiver = signal.connected(sender=Order).get(delivery.receiver)
    if receiver is None:
        raise ReceiverNotConnected(delivery.receiver)
    call: Receiver = async_to_sync(receiver) if iscoroutinefunction(receiver) else receiver
    call(sender=Order, signal=signal, **arguments_of(delivery, order))


def arguments_of(delivery: Delivery, order: Order | None) -> dict[str, Any]:
    """Return the named arguments of a receiver; docs/fulfilment.md and docs/receivers.md say what they mean."""
    announcement = delivery.announcement
    told = dict(announcement.arguments)
    arguments = {
        "order": order,
        "checkout": _checkout_of(announcement, order),
        "grant": announcement.grant,
        "refund": order.refund if order else None,
        "transition": announcement.transition,
        "verdict": order.verdict if order else "",
        "idempotency_key": announcement.idempotency_key,
        "attempt": delivery.attempts,
        **told,
    }
    if "decision" in told:
        arguments["decision"] = ValidationDecision.objects.using(state_database()).get(pk=told["decision"])
    return arguments


def _checkout_of(announcement: Announcement, order: Order | None) -> Checkout | None:
    """Its sale; mostly the one that the order was just read with."""
    if order is not None and order.checkout_id == announcement.checkout_id:
        return order.checkout
    return announcement.checkout


_FREE: dict[str, Any] = {"slot": None, "exclusive": None}
"""What a run that has ended gives back: its receiver's slot, and the turn of its line."""


def _finish(delivery: Delivery, state: Delivery.State, error: str = "") -> bool:
    """Ends the delivery where the fence is still ours."""
    ended = {"state": state, **_FREE, "finished_at": datetime.now(UTC), "error": error}
    return bool(_held(delivery).update(**ended))


def _put_back(delivery: Delivery) -> None:
    """Make the delivery due later, as if it had not been claimed."""
    due_at = datetime.now(UTC) + BACK_OFF[0]
    _held(delivery).update(state=Delivery.State.DUE, **_FREE, attempts=F("attempts") - 1, due_at=due_at)


def _held(delivery: Delivery) -> QuerySet[Delivery]:
    """The delivery's row, as long as it runs under our fence."""
    running = Delivery.objects.using(state_database()).filter(state=Delivery.State.RUNNING)
    return running.filter(pk=delivery.pk, fence=delivery.fence)


def _fail(delivery: Delivery, error: BaseException) -> None:
    """Plan the next attempt of this receiver alone, or give it up; log, store and report the failure.

    Only while it runs: what it wrote may be committed already, where a callback of its ``on_commit`` raised or the answer to
    the commit was lost. Then it is done, and once more would be twice.
    """
    log_failure(delivery, error)
    given_up = delivery.attempts >= MOST_ATTEMPTS
    planned: dict[str, Any] = {**_FREE, "error": type(error).__name__}
    if given_up:
        planned |= {"state": Delivery.State.PARKED, "finished_at": datetime.now(UTC)}
    else:
        due_at = datetime.now(UTC) + BACK_OFF[delivery.attempts - 1]
        planned |= {"state": Delivery.State.DUE, "due_at": due_at}
    with transaction.atomic(using=state_database()):
        write_first()
        if _held(delivery).update(**planned):
            store_failure(delivery, error)
    report_failure(delivery, error, given_up=given_up)
