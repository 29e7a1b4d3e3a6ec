"""The history of a change: its transition, its incidents, and the messages of its signals."""

from __future__ import annotations

from collections.abc import Iterator

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import key_of
from checkout_integration.flows.ledger.order_change import OrderChange, PendingSignal
from checkout_integration.flows.outbox import message_key
from checkout_integration.models import Incident, Order, OutboxMessage, Transition
from checkout_integration.policy.observation import Source
from checkout_integration.protocol.vocabulary import OrderStatus


def transition_of(change: OrderChange) -> Transition | None:
    """Return the row of a change of status, or of a decision of staff; None where there is neither."""
    cause = change.cause
    if not (change.moved or cause.source is Source.STAFF):
        return None
    return Transition(
        order=change.row,
        from_status="" if change.is_new else change.before.status.value,
        to_status=change.after.status.value,
        source=cause.source.value,
        notification=cause.notification,
        sync_run=cause.sync_run,
        staff_id=cause.staff.pk if cause.staff else None,
        reason=cause.reason[:255],
    )


def messages_of(
    project: Project, change: OrderChange, transition: Transition | None
) -> Iterator[OutboxMessage]:
    """Yield a message for each signal of the change."""
    signals = list(change.signals)
    if transition is not None and sends_order_changed(change):
        signals.append(PendingSignal("order_changed", ("changed", str(transition.pk))))
    for signal in signals:
        yield OutboxMessage(
            idempotency_key=signal_key(project, signal),
            signal=signal.name,
            project=project.alias,
            order_id=(signal.order or change.row).pk,
            checkout=change.checkout,
            grant=signal.grant,
            transition=transition,
            arguments={
                "source": change.cause.word,
                "previous_status": "" if change.is_new else change.before.status.value,
                "live": change.after.merged.live,
                "partial": change.after.partial,
                "renewal": False,
                **signal.arguments,
            },
        )


def incidents_of(project: Project, change: OrderChange) -> Iterator[Incident]:
    """Yield the incidents that the change opens."""
    for kind, order in incident_kinds(change):
        yield Incident(
            key=incident_key(project, order.order_id, kind),
            kind=kind[:64],
            project=project.alias,
            order=order,
            notification=change.cause.notification,
        )


def incident_kinds(change: OrderChange) -> list[tuple[str, Order]]:
    """Return the kinds of incidents that the change opens, each with the order that it is about."""
    kinds = [(kind, change.row) for kind in change.incidents]
    kinds += [(f"review:{reason}", order) for reason, order in change.reviews]
    # An order that is not inserted yet cannot be hashed.
    return list({(kind, order.order_id): (kind, order) for kind, order in kinds}.values())


def incident_key(project: Project, order_id: str, kind: str) -> str:
    """Return the key that makes an incident about an order unique."""
    return key_of("order", project.alias, order_id, kind)


def signal_key(project: Project, signal: PendingSignal) -> str:
    """Return the key that lets a signal be sent once."""
    return message_key(project.alias, *signal.idempotency_parts)


def sends_order_changed(change: OrderChange) -> bool:
    """Return whether ``order_changed`` is sent: not for a historic order, nor for a new one that waits for its payment."""
    waits = change.after.status in (OrderStatus.CREATED, OrderStatus.PENDING)
    return change.moved and not change.silent and not (change.is_new and waits)
