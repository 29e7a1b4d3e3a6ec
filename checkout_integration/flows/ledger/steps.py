"""What the ledger is given, and what it gives back: one step for each thing that was observed of an order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import DatabaseError, transaction

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import state_database
from checkout_integration.flows.ledger import recording
from checkout_integration.flows.ledger.entry import Cause, Entry
from checkout_integration.policy.observation import Observation


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one cause says of one order: a notification, or an order's rows of a page of the list."""

    observations: tuple[Observation, ...]
    cause: Cause


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a step.

    ``erased``: nothing personal of it may be stored. ``error``: our rules failed on it, and nothing of it was written.
    """

    entry: Entry | None = None
    erased: bool = False
    error: Exception | None = None


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What the shop's hooks said before anything was locked: checkouts by order id, accounts by customer identity."""

    checkouts: Mapping[str, Any] = field(default_factory=dict)
    accounts: Mapping[str, Any] = field(default_factory=dict)


NO_ADVICE = Advice()


def consult_hooks(project: Project, steps: Sequence[Step]) -> Advice:
    """Ask the shop's hooks about these steps, before anything is locked and outside any transaction."""
    return NO_ADVICE


def record(
    project: Project, steps: Sequence[Step], advice: Advice = NO_ADVICE, *, fan_out: bool = False
) -> list[Outcome]:
    """Record the steps in their order, inside the caller's transaction; one outcome for each."""
    return [_record_one(project, step) for step in steps]


def _record_one(project: Project, step: Step) -> Outcome:
    try:
        with transaction.atomic(using=state_database()):
            entries = recording.record(project, step.observations, step.cause)
    except DatabaseError:
        raise
    except Exception as error:  # noqa: BLE001  # whatever our rules or the shop's hooks raise
        return Outcome(error=error)
    return Outcome(entry=entries[0] if entries else None, erased=any(entry.erased for entry in entries))
