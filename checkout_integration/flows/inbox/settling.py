"""Writing what became of notifications: their states, and the incidents about them; one statement each for a batch."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from checkout_integration.flows.database.connection import state_database
from checkout_integration.flows.database.statements import update
from checkout_integration.flows.inbox.incidents import (
    NOT_APPLIED,
    REFUSED_CONTENT,
    UNKNOWN_EVENT,
    incident_about,
    open_incidents,
    resolve_incidents,
)
from checkout_integration.flows.inbox.reading import PAYMENT_EVENTS, Reading
from checkout_integration.flows.ledger import Outcome
from checkout_integration.flows.log_safety import error_location
from checkout_integration.flows.tombstone import names_erased
from checkout_integration.models import Incident, Notification

logger = logging.getLogger("checkout_integration.applying")

State = Notification.State
BACK_OFF: Final = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60))
"""How long a notification that failed rests, after its first failure and the next ones; then as after the last."""


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What became of one notification. ``order_id``: primary key of its order, where the ledger knows it now."""

    reading: Reading
    state: str
    reason: str = ""
    erased: bool = False
    order_id: int | None = None

    @property
    def row(self) -> Notification:
        """The notification."""
        return self.reading.row

    @property
    def ends_well(self) -> bool:
        """Whether nothing is left to do."""
        return self.state in (State.APPLIED, State.TEST)


def settled(reading: Reading, outcome: Outcome | None) -> Settled:
    """Return what became of a notification, of which the ledger may have had a step."""
    error = outcome.error if outcome and outcome.error else reading.error
    if error:
        place = error_location(error)
        logger.error("Notification %s could not be applied: %s", reading.row.key, place)
        return Settled(reading=reading, state=State.FAILED, reason=place)
    change = outcome.change if outcome else None
    return Settled(
        reading=reading,
        state=reading.state,
        reason=reading.reason,
        erased=bool(outcome and outcome.erased),
        order_id=change.row.pk if change else None,
    )


def settle(results: Sequence[Settled], staff_id: Any = None) -> None:
    """Write the states of a batch and its incidents, in the transaction that applied it."""
    incidents = [incident for each in results for incident in _incidents(each)]
    resolved = [each.row for each in results if each.ends_well and not _is_first_attempt(each)]
    dropped = [each.row.pk for each in results if each.erased] + _withheld(results)
    for each in results:
        row, failed = each.row, each.state == State.FAILED
        row.tries += 1 if failed else 0
        # What has no body any more cannot be tried again.
        row.due_at = _next_try(row.tries) if failed and row.pk not in dropped else None
        row.state, row.failure = each.state, each.reason
    _write(results)
    if dropped:
        Notification.objects.using(state_database()).filter(pk__in=dropped).update(body=None)
    open_incidents(incidents)
    resolve_incidents(resolved, staff_id)


def _next_try(tries: int) -> datetime:
    return datetime.now(UTC) + BACK_OFF[min(tries, len(BACK_OFF)) - 1]


def _withheld(results: Sequence[Settled]) -> list[int]:
    """Return which notifications name an erased customer and were not taken by the ledger, which knows by itself."""
    strange = [each.row for each in results if each.row.body and not _taken(each)]
    found: list[int] = []
    for project in sorted({row.project for row in strange}):
        own = [row for row in strange if row.project == project]
        erased = names_erased(project, [bytes(row.body or b"") for row in own])
        found += [row.pk for row, gone in zip(own, erased, strict=True) if gone]
    return found


def _taken(each: Settled) -> bool:
    return each.reading.step is not None and each.state == State.APPLIED


def _incidents(each: Settled) -> list[Incident]:
    """What staff should look at. A failure that repeats itself at the same place is no news."""
    document = each.reading.document
    if each.state == State.QUARANTINED:
        return [incident_about(each.row, REFUSED_CONTENT, each.reason)]
    if each.state == State.FAILED and (each.row.state, each.row.failure) != (State.FAILED, each.reason):
        return [incident_about(each.row, NOT_APPLIED, each.reason)]
    if each.state == State.APPLIED and document and document.event not in PAYMENT_EVENTS:
        return [incident_about(each.row, UNKNOWN_EVENT)]
    return []


def _is_first_attempt(each: Settled) -> bool:
    """Whether nothing of this notification can have failed before: neither this body, nor that of an earlier attempt."""
    document = each.reading.document
    return each.row.state == State.STORED and document is not None and document.delivery_try == 0


def _write(results: Sequence[Settled]) -> None:
    """States: one statement for what was applied, and one for the others, which say why not."""
    notifications = Notification.objects.using(state_database())
    applied = [each.row.pk for each in results if each.state == State.APPLIED]
    others = [each.row for each in results if each.state != State.APPLIED]
    if applied:
        notifications.filter(pk__in=applied).update(state=State.APPLIED, due_at=None, failure="")
    if others:
        update(others, ("state", "due_at", "tries", "failure"))
