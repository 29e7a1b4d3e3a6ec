"""Operations of staff on one receiver run: retry it, or mark its goods as granted by hand."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Count, Q, QuerySet

from checkout_integration.conf import app_settings
from checkout_integration.flows.database import (
    database_now,
    in_transaction,
    locked,
    record_staff_act,
    state_database,
)
from checkout_integration.flows.operations.notes import note_in_history
from checkout_integration.flows.outbox import (
    complete_by_staff,
    finish,
    make_all_due,
    make_due_again,
    read_receivers,
    rows_named,
)
from checkout_integration.models import (
    Grant,
    Order,
    OutboxMessage,
    ReceiverRun,
    StaffAct,
    Transition,
)
from checkout_integration.models.actor import Actor
from checkout_integration.models.history import LONGEST_REASON
from checkout_integration.signals import checkout_paid

logger = logging.getLogger("checkout_integration.support")

ENDED = (ReceiverRun.State.FAILED, ReceiverRun.State.SUPERSEDED)
"""States of a run that ended without success, which staff may run again."""
MARKABLE = (
    ReceiverRun.State.DUE,
    ReceiverRun.State.UNKNOWN,
    ReceiverRun.State.PAUSED,
    ReceiverRun.State.WAITING,
    ReceiverRun.State.FAILED,
)
"""States of a run whose goods staff may grant by hand."""
LEFT = timedelta(minutes=1)
"""What has been due for so long is taken by nobody."""


def retryable_runs(orders: Collection[Order]) -> QuerySet[ReceiverRun]:
    """Return the runs of these orders that `retry_run` can make due now, oldest first; none that would end as superseded."""
    useless = Q(state=ReceiverRun.State.SUPERSEDED, message__grant__state=Grant.State.CLOSED)
    return _runs_of(orders).filter(_waiting() | Q(state__in=ENDED)).exclude(useless).order_by("pk")


def _waiting() -> Q:
    """Return the condition of the runs that are due later, or that nobody takes although they are due.

    With RUNNER "request" whatever is due waits for the next notification.
    """
    now = datetime.now(UTC)
    left = timedelta(0) if app_settings().runner == "request" else LEFT
    return Q(state=ReceiverRun.State.DUE) & (Q(due_at__gt=now) | Q(due_at__lte=now - left))


def markable_runs(order: Order) -> QuerySet[ReceiverRun]:
    """Return the runs of an order that `mark_granted` can mark, oldest first."""
    runs = _runs_of([order]).filter(state__in=MARKABLE)
    opened = runs.filter(message__signal=checkout_paid.name, message__grant__state=Grant.State.OPEN)
    return opened.order_by("pk")


def _runs_of(orders: Collection[Order]) -> QuerySet[ReceiverRun]:
    messages = OutboxMessage.primary.about(orders)
    return ReceiverRun.primary.filter(message__in=messages)


def is_retryable(run: ReceiverRun) -> bool:
    """Return whether `retry_run` can make a run due now."""
    return run.state in ENDED or ReceiverRun.primary.filter(_waiting(), pk=run.pk).exists()


def retry_run(run: ReceiverRun, *, staff: AbstractBaseUser) -> bool:
    """Make a run due now: one that ended without success, with all its attempts anew, or one that waits for its next attempt.

    Who runs receivers takes it: Celery within its next drain, half a minute later. Failed attempts stay in its history.
    Return False when it has just become due, waits for an earlier run, is running, or done: a second run would grant twice.
    The account is logged by its primary key.
    """
    made_due = _retry_run(run, staff)
    if made_due:
        ids = {"receiver_run": run.pk, "receiver": run.receiver, "staff": staff.pk}
        logger.info("ReceiverRun %s was made due again by account %s.", run.pk, staff.pk, extra=ids)
    return made_due


@in_transaction
def _retry_run(run: ReceiverRun, staff: Actor) -> bool:
    own = ReceiverRun.primary.filter(pk=run.pk)
    again = make_due_again(own.filter(state__in=ENDED))
    made_due = bool(again or own.filter(_waiting()).update(due_at=database_now()))
    if made_due:
        about: dict[str, Any] = {"order_id": run.message.payer_id, "receiver": run.receiver}
        record_staff_act(StaffAct.Act.RETRY, staff, project=run.message.project, **about)
    return made_due


def retry_runs(keys: Sequence[int], *, receiver: str, staff: Actor | None = None) -> int:
    """Make runs of a receiver due now, as `retry_run` does with one; return how many. ``keys``: their primary keys.

    The act is recorded once, with the number of runs.
    """
    count = make_all_due(ReceiverRun.primary.filter(receiver=receiver), keys, ended=ENDED)
    counts = {"receiver_runs": count}
    record_staff_act(StaffAct.Act.RETRY, staff, project=None, receiver=receiver, counts=counts)
    return count


class Pause(NamedTuple):
    """Since when and why a receiver is paused, and how many of its runs wait."""

    receiver: str
    since: datetime
    reason: str
    runs: int


def pauses() -> list[Pause]:
    """Return the receivers that are paused, by name."""
    rows = {row.name: row for row in read_receivers().rows if row.paused_at}
    # What is due waits too: a process takes it out of the queue within a minute.
    waits = Q(state=ReceiverRun.State.PAUSED) | Q(state=ReceiverRun.State.DUE, due_at__lte=database_now())
    waiting = ReceiverRun.primary.filter(waits, receiver__in=rows)
    counts = dict(waiting.values_list("receiver").annotate(Count("pk"))) if rows else {}
    return [
        Pause(name, row.paused_at, row.paused_for, counts.get(name, 0))
        for name, row in sorted(rows.items())
        if row.paused_at
    ]


def pause_of(name: str) -> Pause | None:
    """Return the pause of a receiver, None if it is not paused."""
    names = {row.name for row in rows_named(name)}
    return next((each for each in pauses() if each.receiver in names), None)


@in_transaction
def mark_granted(run: ReceiverRun, *, staff: Actor, reason: str) -> bool:
    """Mark a receiver of ``checkout_paid`` as completed: staff granted its goods by hand. A reversal will then undo it.

    Return False when it is running, has completed, or its grant was closed. The order's history has account and reason.
    """
    grant = run.message.grant
    if grant is None or run.message.signal != checkout_paid.name:
        return False
    # Lock order: the run, then its grant, as an attempt locks them.
    own = locked(ReceiverRun.primary.filter(pk=run.pk, state__in=MARKABLE)).first()
    if own is None or not finish(own, ReceiverRun.State.DONE, before=MARKABLE):
        return False
    if not complete_by_staff(grant.pk, run.receiver):
        transaction.set_rollback(True, using=state_database())
        return False
    payer = Order.primary.get(grants=grant)  # read now: the grant may have been handed over
    note_in_history(payer, Transition.Act.MARK_GRANTED, staff, reason[:LONGEST_REASON])
    about: dict[str, Any] = {"order_id": payer.pk, "receiver": run.receiver}
    record_staff_act(Transition.Act.MARK_GRANTED, staff, project=payer.project, reason=reason, **about)
    return True
