"""What a batch of the ledger changes, in plain values: for staff, who look before they act."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import state_database
from checkout_integration.flows.ledger.history import (
    incident_key,
    incident_kinds,
    sends_order_changed,
    signal_key,
)
from checkout_integration.flows.ledger.order_change import OrderChange
from checkout_integration.flows.ledger.taking import Batch
from checkout_integration.models import Incident, OutboxMessage


@dataclass(frozen=True, kw_only=True)
class ChangePreview:
    """What becomes of one order, and of the checkout that it is bound to.

    Attributes:
        order_id: the service's id.
        status_before: the displayed status; "" for an order that is not known yet.
        status_after: the displayed status afterwards.
        verdict_before: the verdict as words, with its reason.
        verdict_after: the verdict afterwards.
        checkout: the reference of the checkout; "" for an unbound order.
        checkout_before: the checkout's status.
        checkout_after: the checkout's status afterwards.
        signals: names of the signals that are sent, sorted.
        incidents: kinds of the incidents that are opened, sorted.

    """

    order_id: str
    status_before: str
    status_after: str
    verdict_before: str
    verdict_after: str
    checkout: str = ""
    checkout_before: str = ""
    checkout_after: str = ""
    signals: tuple[str, ...] = ()
    incidents: tuple[str, ...] = ()

    @property
    def as_json(self) -> dict[str, Any]:
        """The change as plain values."""
        return asdict(self)

    @property
    def summary(self) -> str:
        """One line for a log or a terminal."""
        parts = [
            f"order {self.order_id}: {_step(self.status_before or 'unknown', self.status_after)}",
            f"verdict {_step(self.verdict_before, self.verdict_after)}",
        ]
        if self.checkout:
            parts.append(f"checkout {self.checkout}: {_step(self.checkout_before, self.checkout_after)}")
        parts.append(f"signals: {', '.join(self.signals) or 'none'}")
        if self.incidents:
            parts.append(f"incidents: {', '.join(self.incidents)}")
        return ", ".join(parts)


def changes_of(batch: Batch) -> tuple[ChangePreview, ...]:
    """Return what a computed batch changes. Read before it is written: what was sent or opened once is left out."""
    return tuple(_change(batch, change) for change in batch.changes if change.to_write)


def _change(batch: Batch, change: OrderChange) -> ChangePreview:
    checkout = change.checkout
    before, after = _checkout_statuses(batch, change)
    return ChangePreview(
        order_id=change.order_id,
        status_before="" if change.is_new else change.before.status.value,
        status_after=change.after.status.value,
        verdict_before=_words(change.verdict_before.status, change.verdict_before.reason),
        verdict_after=_words(change.verdict.status, change.verdict.reason),
        checkout=checkout.reference if checkout else "",
        checkout_before=before,
        checkout_after=after,
        signals=_new_signals(batch.project, change),
        incidents=_new_incidents(batch.project, change),
    )


def _checkout_statuses(batch: Batch, change: OrderChange) -> tuple[str, str]:
    """The status of the change's checkout before and afterwards; "" without one."""
    if change.checkout is None:
        return "", ""
    for settlement in batch.settlements:
        if any(each is change for each in settlement.changes) and settlement.after is not None:
            return settlement.before[0], settlement.after[0]
    return str(change.checkout.status), str(change.checkout.status)


def _new_signals(project: Project, change: OrderChange) -> tuple[str, ...]:
    names = {signal_key(project, signal): signal.name for signal in change.signals}
    sent = OutboxMessage.objects.using(state_database()).filter(idempotency_key__in=list(names))
    known = set(sent.values_list("idempotency_key", flat=True)) if names else set()
    changed = ["order_changed"] if sends_order_changed(change) else []
    return tuple(sorted([name for key, name in names.items() if key not in known] + changed))


def _new_incidents(project: Project, change: OrderChange) -> tuple[str, ...]:
    kinds = {incident_key(project, order.order_id, kind): kind for kind, order in incident_kinds(change)}
    opened = Incident.objects.using(state_database()).filter(key__in=list(kinds))
    known = set(opened.values_list("key", flat=True)) if kinds else set()
    return tuple(sorted(kind for key, kind in kinds.items() if key not in known))


def _words(status: str, reason: str) -> str:
    return f"{status} ({reason})" if reason else str(status)


def _step(before: str, after: str) -> str:
    return after if before == after else f"{before} → {after}"
