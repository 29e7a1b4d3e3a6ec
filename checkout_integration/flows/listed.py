"""Rows of the transaction list, recorded through the ledger."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime

from django.db import IntegrityError, transaction

from checkout_integration.conf import Project
from checkout_integration.flows import ledger
from checkout_integration.flows.database.connection import (
    acquire_write_lock,
    key_of,
    state_database,
)
from checkout_integration.flows.database.retry import TRANSIENT_DATABASE_ERRORS, Unavailable, with_retries
from checkout_integration.flows.database.statements import insert_missing
from checkout_integration.flows.ledger import Cause, Outcome, Step
from checkout_integration.flows.log_safety import error_location
from checkout_integration.models import Incident
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.policy.quarantine import MOST_AHEAD
from checkout_integration.protocol.listing import TransactionPage

logger = logging.getLogger("checkout_integration.sync")


def read_at(page: TransactionPage) -> datetime | None:
    """Return the service's clock at a page, but not far ahead of ours: one wrong answer must not outrank all later ones."""
    return min(page.date, datetime.now(UTC) + MOST_AHEAD) if page.date else None


def steps_of(page: TransactionPage, cause: Cause) -> list[Step]:
    """Return the rows of a page. Tests of the receiver are never orders, and a row without an id says nothing."""
    observed_at = read_at(page)
    return [
        Step(
            observations=(Observation(source=Source.LIST, order=order, observed_at=observed_at),), cause=cause
        )
        for order in page.items
        if order.id and not order.testing_case
    ]


def record_rows(project: Project, steps: Sequence[Step]) -> list[Outcome]:
    """Record rows in one transaction, and return an outcome for each.

    A row that our rules or the database refuse costs an incident, and never the others: what the database refuses is found by
    recording halves.
    """
    if not steps:
        return []
    outcomes = _recorded(project, steps)
    for step, outcome in zip(steps, outcomes, strict=True):
        if outcome.error is not None:
            _open_incident(project, step, outcome.error)
    return outcomes


def _recorded(project: Project, steps: Sequence[Step]) -> list[Outcome]:
    advice = ledger.consult_hooks(project, steps)

    def record() -> list[Outcome]:
        with transaction.atomic(using=state_database()):
            acquire_write_lock()
            return ledger.record(project, steps, advice)

    try:
        return with_retries(record)
    except TRANSIENT_DATABASE_ERRORS:
        raise
    except Exception as error:
        reason = error.__cause__ if isinstance(error, Unavailable) else error
        if isinstance(error, Unavailable) and not isinstance(reason, IntegrityError):
            raise
        if len(steps) == 1:
            return [Outcome(error=reason if isinstance(reason, Exception) else error)]
        middle = len(steps) // 2
        return _recorded(project, steps[:middle]) + _recorded(project, steps[middle:])


def _open_incident(project: Project, step: Step, error: Exception) -> None:
    order_id, kind = step.observations[0].order.id or "", "not_applied"
    logger.error("Order %r of the list could not be recorded: %s", order_id, error_location(error))
    incident = Incident(
        key=key_of("order", project.alias, order_id, kind),
        kind=kind,
        project=project.alias,
        detail=f"{type(error).__name__} at order {order_id}",
    )
    insert_missing([incident], "key")
