"""Finding out which steps of a batch the database refuses: by halves, each in a savepoint, under the batch's claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.db import IntegrityError, transaction

from checkout_integration.flows.database.connection import state_database
from checkout_integration.flows.database.retry import TRANSIENT_DATABASE_ERRORS
from checkout_integration.flows.ledger import Outcome, Step


def record_in_halves(
    steps: Sequence[Step], record: Callable[[Sequence[Step]], list[Outcome]]
) -> list[Outcome]:
    """Record all steps but those that the database refuses by themselves, which come back with the error."""
    try:
        return _in_savepoint(steps, record)
    except TRANSIENT_DATABASE_ERRORS:
        raise  # InnoDB has rolled the whole transaction back
    except Exception as error:  # noqa: BLE001  # whatever it is, it is that of one step in the end
        if len(steps) == 1:
            return [_once_more(steps[0], record, error)]
    half = len(steps) // 2
    return record_in_halves(steps[:half], record) + record_in_halves(steps[half:], record)


def _once_more(step: Step, record: Callable[[Sequence[Step]], list[Outcome]], error: Exception) -> Outcome:
    """RACE: another transaction may have inserted the same row first, and now it is seen."""
    if not isinstance(error, IntegrityError):
        return Outcome(error=error)
    try:
        (outcome,) = _in_savepoint([step], record)
    except TRANSIENT_DATABASE_ERRORS:
        raise
    except Exception as again:  # noqa: BLE001
        return Outcome(error=again)
    return outcome


def _in_savepoint(steps: Sequence[Step], record: Callable[[Sequence[Step]], list[Outcome]]) -> list[Outcome]:
    with transaction.atomic(using=state_database()):
        return record(steps)
