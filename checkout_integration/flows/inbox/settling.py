"""The outcomes of notifications: their states, and incidents about them, written by one statement each for a batch."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from checkout_integration import telemetry
from checkout_integration.flows.database import Command, update
from checkout_integration.flows.inbox.reading import Reading
from checkout_integration.flows.inbox.storing import (
    NOT_APPLIED,
    REFUSED_CONTENT,
    UNKNOWN_EVENT,
    end_incidents_about,
    failed_message,
    incident_about,
    open_incidents_about,
    unreadable_incidents,
)
from checkout_integration.flows.ledger import Outcome, log_change, names_erased
from checkout_integration.flows.outbox import next_try, write_messages
from checkout_integration.models import Incident, Notification
from checkout_integration.models.actor import Actor
from checkout_integration.policy.log_safety import error_location
from checkout_integration.policy.quarantine import PAYMENT_EVENTS
from checkout_integration.signals.arguments import Origin

logger = logging.getLogger("checkout_integration.applying")

State = Notification.State
WAITS: Final = 4
"""How many waits of the back-off a notification has; the last one, an hour, is for all later failures."""

APPLIED: Final = Command(
    "UPDATE {rows} SET state = 'applied', due_at = NULL, failure = '' WHERE id IN {keys}",
    rows=Notification,
)


def settled(reading: Reading, outcome: Outcome | None) -> Reading:
    """Return a reading with the outcome of its step in the ledger, if it has one there."""
    error = outcome.error if outcome and outcome.error else reading.error
    if error:
        place = error_location(error)
        logger.error(
            "Notification %s could not be applied: %s", reading.row.key, place, extra=reading.row.log_ids
        )
        return replace(reading, state=State.FAILED, reason=place)
    return replace(reading, change=outcome.change, erased=outcome.erased) if outcome else reading


def report(results: Sequence[Reading]) -> None:
    """Count the outcomes and log the changes of orders, after the commit."""
    for each in results:
        changed = each.change is not None and each.change.changed
        outcome = ("changed" if changed else "unchanged") if each.ends_well else str(each.state)
        telemetry.count(
            telemetry.APPLIED if each.ends_well else telemetry.FAILED,
            project=each.row.project,
            outcome=outcome,
        )
        if each.change is not None and changed:
            log_change(each.change)
        else:
            logger.debug("Notification %s: %s.", each.row.key, outcome, extra=each.row.log_ids)


def settle(results: Sequence[Reading], staff: Actor | None = None) -> None:
    """Write the states of a batch and its incidents, in the transaction that applied it."""
    incidents = [incident for each in results for incident in _incidents(each)]
    source: Origin = "staff" if staff else "notification"
    failures = [
        failed_message(each.row, each.state, each.reason, source=source)
        for each in results
        if _fails_anew(each)
    ]
    resolved = [each.row for each in results if each.ends_well and not _is_first_attempt(each)]
    dropped = [each.row.pk for each in results if each.erased] + _withheld(results)
    for each in results:
        row, failed = each.row, each.state == State.FAILED
        row.tries += 1 if failed else 0
        # A notification without a body cannot be retried.
        row.due_at = next_try(min(row.tries, WAITS)) if failed and row.pk not in dropped else None
        row.state, row.failure = each.state, each.reason
    _write(results)
    if dropped:
        Notification.primary.filter(pk__in=dropped).update(body=None)
    end_incidents_about(resolved, staff)
    open_incidents_about(incidents)
    write_messages(failures)


def _withheld(results: Sequence[Reading]) -> list[int]:
    """Return the notifications that name an erased customer, except those in the ledger, which finds out itself."""
    taken = [each.row.pk for each in results if each.step and each.state == State.APPLIED]
    strange = [each.row for each in results if each.row.body and each.row.pk not in taken]
    found: list[int] = []
    for project in sorted({row.project for row in strange}):
        own = [row for row in strange if row.project == project]
        erased = names_erased(project, [bytes(row.body or b"") for row in own])
        found += [row.pk for row, gone in zip(own, erased, strict=True) if gone]
    return found


def _incidents(each: Reading) -> list[Incident]:
    """Return the incidents for staff."""
    document = each.document
    if _fails_anew(each):
        kind = REFUSED_CONTENT if each.state == State.QUARANTINED else NOT_APPLIED
        return [incident_about(each.row, kind, each.reason)]
    if each.state != State.APPLIED or document is None:
        return []
    unknown = [] if document.event in PAYMENT_EVENTS else [incident_about(each.row, UNKNOWN_EVENT)]
    return unknown + unreadable_incidents(each.row, document)


def _fails_anew(each: Reading) -> bool:
    """Return whether it was not applied, and not for the reason that its row says already."""
    return not each.ends_well and (each.row.state, each.row.failure) != (each.state, each.reason)


def _is_first_attempt(each: Reading) -> bool:
    """Return whether this notification cannot have failed before: neither this body, nor that of an earlier attempt."""
    document = each.document
    return each.row.state == State.STORED and document is not None and document.delivery_try == 0


def _write(results: Sequence[Reading]) -> None:
    """Write the states: one statement for applied ones, and one for the others with their reasons."""
    applied = [each.row.pk for each in results if each.state == State.APPLIED]
    others = [each.row for each in results if each.state != State.APPLIED]
    if applied:
        APPLIED.execute(keys=applied)
    if others:
        update(others, ("state", "due_at", "tries", "failure"))
