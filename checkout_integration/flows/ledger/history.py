"""The history of an entry: its transition, its incidents, and the messages of its signals."""

from __future__ import annotations

from collections.abc import Iterator

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import key_of
from checkout_integration.flows.ledger.entry import Entry, Notice
from checkout_integration.flows.outbox import message_key
from checkout_integration.models import Incident, Order, OutboxMessage, Transition
from checkout_integration.policy.observation import Source
from checkout_integration.protocol.vocabulary import OrderStatus


def transition_of(entry: Entry) -> Transition | None:
    """Return the row of a change of status, or of a decision of staff; None where there is neither."""
    cause = entry.cause
    if not (entry.moved or cause.source is Source.STAFF):
        return None
    return Transition(
        order=entry.row,
        from_status="" if entry.is_new else entry.before.status.value,
        to_status=entry.after.status.value,
        source=cause.source.value,
        notification=cause.notification,
        sync_run=cause.sync_run,
        staff_id=cause.staff.pk if cause.staff else None,
        reason=cause.reason[:255],
    )


def messages_of(project: Project, entry: Entry, transition: Transition | None) -> Iterator[OutboxMessage]:
    """Yield a message for each signal of the entry."""
    notices = list(entry.notices)
    if transition is not None and sends_order_changed(entry):
        notices.append(Notice("order_changed", ("changed", str(transition.pk))))
    for notice in notices:
        yield OutboxMessage(
            idempotency_key=signal_key(project, notice),
            signal=notice.signal,
            project=project.alias,
            order_id=(notice.order or entry.row).pk,
            checkout=entry.checkout,
            grant=notice.grant,
            transition=transition,
            arguments={
                "source": entry.cause.word,
                "previous_status": "" if entry.is_new else entry.before.status.value,
                "live": entry.after.merged.live,
                "partial": entry.after.partial,
                "renewal": False,
                **notice.arguments,
            },
        )


def incidents_of(project: Project, entry: Entry) -> Iterator[Incident]:
    """Yield the incidents that the entry opens."""
    for kind, order in incident_kinds(entry):
        yield Incident(
            key=incident_key(project, order.order_id, kind),
            kind=kind[:64],
            project=project.alias,
            order=order,
            notification=entry.cause.notification,
        )


def incident_kinds(entry: Entry) -> list[tuple[str, Order]]:
    """Return the kinds of incidents that the entry opens, each with the order that it is about."""
    kinds = [(kind, entry.row) for kind in entry.incidents]
    kinds += [(f"review:{reason}", order) for reason, order in entry.reviews]
    # An order that is not inserted yet cannot be hashed.
    return list({(kind, order.order_id): (kind, order) for kind, order in kinds}.values())


def incident_key(project: Project, order_id: str, kind: str) -> str:
    """Return the key that makes an incident about an order unique."""
    return key_of("order", project.alias, order_id, kind)


def signal_key(project: Project, notice: Notice) -> str:
    """Return the key that lets a signal be sent once."""
    return message_key(project.alias, *notice.once)


def sends_order_changed(entry: Entry) -> bool:
    """Return whether ``order_changed`` is sent: not for a historic order, nor for a new one that waits for its payment."""
    waits = entry.after.status in (OrderStatus.CREATED, OrderStatus.PENDING)
    return entry.moved and not entry.silent and not (entry.is_new and waits)
