"""Operations of staff on one receiver run: retry it, or mark its goods as granted by hand."""

from __future__ import annotations

import logging

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from checkout_integration.flows.database import (
    locked,
    state_database,
    with_retries,
    write_transaction,
)
from checkout_integration.flows.outbox import complete_by_staff, finish, make_due_again
from checkout_integration.models import (
    ReceiverRun,
    Transition,
)
from checkout_integration.policy.observation import Source
from checkout_integration.signals import checkout_paid

logger = logging.getLogger("checkout_integration.support")

RETRYABLE_STATES = (ReceiverRun.State.FAILED, ReceiverRun.State.SUPERSEDED)
"""States of a run that ended without success, which staff may run again."""
MARKABLE = (ReceiverRun.State.DUE, ReceiverRun.State.WAITING, ReceiverRun.State.FAILED)
"""States of a run whose goods staff may grant by hand."""


def retry_run(run: ReceiverRun, *, staff: AbstractBaseUser) -> bool:
    """Make a run that ended without success due again, with ten new attempts.

    Return False when it is due, running, or done: a second run would grant twice. The account is logged by its primary key.
    """
    ended = ReceiverRun.objects.using(state_database()).filter(pk=run.pk, state__in=RETRYABLE_STATES)
    made_due = bool(make_due_again(ended))
    if made_due:
        logger.info("ReceiverRun %s was made due again by account %s.", run.pk, staff.pk)
    return made_due


def mark_granted(run: ReceiverRun, *, staff: AbstractBaseUser, reason: str) -> bool:
    """Mark a receiver of ``checkout_paid`` as completed: staff granted its goods by hand. A reversal will then undo it.

    Return False when it is running, has completed, or its grant was closed. The order's history has account and reason.
    """
    return with_retries(lambda: _mark_granted(run, staff, reason))


def _mark_granted(run: ReceiverRun, staff: AbstractBaseUser, reason: str) -> bool:
    grant = run.message.grant
    if grant is None or run.message.signal != checkout_paid.name:
        return False
    with write_transaction():
        # Lock order: the run, then its grant, as an attempt locks them.
        runs = ReceiverRun.objects.using(state_database()).filter(pk=run.pk, state__in=MARKABLE)
        own = locked(runs).first()
        if own is None or not finish(own, ReceiverRun.State.DONE, before=MARKABLE):
            return False
        if not complete_by_staff(grant.pk, run.receiver):
            transaction.set_rollback(True, using=state_database())
            return False
        Transition.objects.using(state_database()).create(
            order_id=grant.order_id,
            from_status=grant.order.status,
            to_status=grant.order.status,
            source=Source.STAFF.value,
            staff_id=staff.pk,
            reason=reason[:255],
        )
    return True
