"""The only writer of orders, refunds and users: lock → load → policy → write.

Observations arrive by notification, list or creation, always as a batch of steps (a quiet shop's is a batch of one).
Recording a step twice, or steps in another order, ends in the same state.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import read_committed, state_database
from checkout_integration.flows.ledger.hints import look_up
from checkout_integration.flows.ledger.locking import lock
from checkout_integration.flows.ledger.reversals import assign, attach_waiting, store_unmatched
from checkout_integration.flows.ledger.steps import NO_ADVICE, Advice, Outcome, Step
from checkout_integration.flows.ledger.taking import Batch
from checkout_integration.flows.ledger.writing import write


def record(
    project: Project, steps: Sequence[Step], advice: Advice = NO_ADVICE, *, fan_out: bool = False
) -> list[Outcome]:
    """Record steps in their order, and return an outcome for each.

    One transaction, or a part of the caller's, who cannot go on with it after an exception. What our rules fail on is in the
    outcome of its step, and the others are recorded. With ``fan_out`` the receivers of this process get their runs at once.

    Raises:
        IntegrityError: another transaction recorded one of the orders for the first time at the same moment, or erased a
            customer: the caller retries its whole transaction.

    """
    with transaction.atomic(using=state_database(), savepoint=False):
        read_committed()
        batch = compute(project, steps, advice)
        store(batch, advice, fan_out=fan_out)
    return batch.outcomes(len(steps))


def compute(project: Project, steps: Sequence[Step], advice: Advice = NO_ADVICE) -> Batch:
    """Return what steps come to: lock, load, and take one after the other. Inside a transaction; nothing is written."""
    assigned, unmatched = assign(project, steps)
    observations = [observation for each in assigned for observation in each.observations]
    hints = look_up(project, observations)
    rows = lock(project, observations, hints, advice)
    if hints.reversals_wait:
        attach_waiting(rows, observations)
    batch = Batch(rows=rows, advice=advice, unmatched=unmatched)
    batch.take_all(assigned)
    return batch


def store(batch: Batch, advice: Advice = NO_ADVICE, *, fan_out: bool = False) -> None:
    """Write whatever `compute` changed, in the same transaction."""
    store_unmatched(batch.rows.project, batch.unmatched)
    write(batch, advice, fan_out=fan_out)
