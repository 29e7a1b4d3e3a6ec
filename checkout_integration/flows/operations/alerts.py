"""``health_changed``: something that health looks at got worse, happened once more, or is well again."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, ClassVar, Final

from django.conf import settings
from django.utils.translation import override

from checkout_integration.flows import outbox
from checkout_integration.flows.database import in_transaction, locked, with_retries
from checkout_integration.flows.monitoring import Finding, Health, health
from checkout_integration.models import Alert, Order, OutboxMessage
from checkout_integration.policy.severity import Severity
from checkout_integration.signals import (
    DurableSignal,
    health_changed,
    notification_failed,
    payment_review,
    receiver_given_up,
)

LOOK_EVERY: Final = timedelta(minutes=1)
QUIET: Final = timedelta(hours=1)
"""Nothing more is said of a finding for so long, unless it gets worse."""
LOOK: Final = ""
"""The kind of the row that says when health was last looked at."""
AGAIN: Final[dict[str, DurableSignal[Any]]] = {
    "not_applied": notification_failed,
    "receivers_given_up": receiver_given_up,
    "incidents": payment_review,
}
"""Findings that are about single events, with the signal of another such event."""


class ThisProcess:
    """When this process looks next."""

    looks_at: ClassVar[float] = 0.0


def send_alerts() -> bool:
    """Look at health and say what has changed; return whether a signal was written.

    Most calls do nothing: of all processes, one looks once a minute, and none without a receiver of ``health_changed``.
    """
    if not health_changed.has_listeners(Order) or time.monotonic() < ThisProcess.looks_at:
        return False
    ThisProcess.looks_at = time.monotonic() + LOOK_EVERY.total_seconds()
    if not with_retries(partial(_take_turn, datetime.now(UTC))):
        return False
    outbox.record_own()
    # This thread may have the language of the customer whom it has served last.
    with override(settings.LANGUAGE_CODE):
        found = health()
        return _say(found)


def _take_turn(now: datetime) -> bool:
    """Return whether this process looks; no other one does in the next minute, even if this one dies."""
    _row, is_first = Alert.primary.get_or_create(kind=LOOK, defaults={"sent_at": now})
    return is_first or bool(
        Alert.primary.filter(kind=LOOK, sent_at__lte=now - LOOK_EVERY).update(sent_at=now)
    )


@in_transaction
def _say(found: Health) -> bool:
    """Write a signal for each finding of which something is to be said, and note that it was said."""
    rows = {row.kind: row for row in locked(Alert.primary.order_by("pk"))}
    messages = []
    for finding in found.findings:
        kind = f"{finding.name} {finding.project}".rstrip()
        row = rows.get(kind)
        severity = finding.severity if finding.severity.is_urgent else Severity.OK
        if _is_to_say(finding, severity, row, found.checked_at):
            messages.append(_message(finding, severity, row))
            Alert.primary.update_or_create(
                kind=kind, defaults={"severity": severity.value, "sent_at": found.checked_at}
            )
    outbox.write_messages(messages)
    return bool(messages)


def _is_to_say(finding: Finding, severity: Severity, row: Alert | None, now: datetime) -> bool:
    previous = Severity(row.severity) if row else Severity.OK
    if row is None or severity.rank > previous.rank:
        return severity != previous
    if now - row.sent_at < QUIET:
        return False
    return severity != previous or (severity.is_urgent and _happened_again(finding, row.sent_at))


def _happened_again(finding: Finding, since: datetime) -> bool:
    signal = AGAIN.get(finding.name)
    if signal is None:
        return False
    events = OutboxMessage.primary.filter(signal=signal.name, recorded_at__gt=since)
    return (events.filter(project=finding.project) if finding.project else events).exists()


def _message(finding: Finding, severity: Severity, row: Alert | None) -> OutboxMessage:
    return outbox.life_cycle_message(
        health_changed,
        finding.project,
        finding.name,
        severity.value,
        row.sent_at.isoformat() if row else "",
        source="time",
        finding=finding.name,
        title=str(finding.title),
        severity=severity.value,
        previous=row.severity if row else Severity.OK.value,
        text=finding.sentence,
        link=finding.link if severity.is_urgent else "",
    )
