"""Writing what a batch decided: orders, their child rows, checkouts, history and outbox. Called under their locks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import connections
from django.db.models import Exists

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import insert_once, key_of, locked, state_database
from checkout_integration.flows.ledger.customers import ErasedMeanwhile, any_erased, standing
from checkout_integration.flows.ledger.entry import Cause, Entry, Notice
from checkout_integration.flows.ledger.fulfilment import Settlement, write_grants
from checkout_integration.flows.ledger.refunds import write_refunds
from checkout_integration.flows.ledger.rows import Columns, columns_of, item_rows, personal_row
from checkout_integration.flows.outbox import message_key, write_messages
from checkout_integration.models import (
    Checkout,
    Incident,
    Notification,
    Order,
    OrderItem,
    OutboxMessage,
    Transition,
)
from checkout_integration.policy.observation import Source
from checkout_integration.protocol.vocabulary import OrderStatus


def write(
    project: Project, entries: Sequence[Entry], settlements: Sequence[Settlement], cause: Cause
) -> None:
    """Write the entries of a batch and their settlements, in the lock order's tables from order to outbox."""
    columns = [columns_of(entry.after) for entry in entries]
    _drop_bodies(project, [entry.order_id for entry in entries if entry.turns_out_erased])
    _write_orders(entries, columns)
    _write_personal(entries, columns)
    _write_items(entries)
    write_refunds(project, entries)
    _write_checkouts(project, entries, settlements)
    write_grants(settlements)
    transitions = _write_transitions(entries, cause)
    insert_once([row for entry in entries for row in _incidents(project, entry, cause)], "key")
    messages = [row for entry in entries for row in _announcements(project, entry, transitions, cause)]
    write_messages(messages, fan_out=False)


def _drop_bodies(project: Project, order_ids: Sequence[str]) -> None:
    """What was told of orders before it turned out that they are an erased customer's.

    Against the lock order, hence without waiting where the database can: whoever has locked such a row, or is just inserting
    it, takes the same order up next and then drops its body, or drops it at the next delivery (`intake`).
    """
    if not order_ids:
        return
    notifications = Notification.objects.using(state_database()).about_orders(project.alias, order_ids)
    free = connections[notifications.db].features.has_select_for_update_skip_locked
    keys = [row.key for row in locked(notifications.only("key"), wait=not free).order_by("pk")]
    notifications.filter(key__in=keys).update(body=None)


def _write_orders(entries: Sequence[Entry], columns: Sequence[Columns]) -> None:
    orders = Order.objects.using(state_database())
    written: dict[str, Any] = {}
    for entry, each in zip(entries, columns, strict=True):
        written = {
            **each.own,
            "verdict": entry.verdict.status.value,
            "verdict_reason": str(entry.verdict.reason),
            "checkout": entry.checkout,
            "user_id": entry.user.pk if entry.user else entry.row.user_id,
            "changed_at": datetime.now(UTC),
        }
        for name, value in written.items():
            setattr(entry.row, name, value)
    new = [entry.row for entry in entries if entry.is_new]
    known = [entry.row for entry in entries if not entry.is_new]
    if new:
        orders.bulk_create(new)
    if len(known) == 1 and not new:
        orders.filter(pk=known[0].pk).update(**written)
    elif known:
        orders.bulk_update(known, list(written))


def _write_personal(entries: Sequence[Entry], columns: Sequence[Columns]) -> None:
    """Personal data, unless it was erased: a tombstone wins over every later observation.

    Every order gets its row, an empty one too: it is locked and read together with the order (`locking`).
    """
    rows = []
    for entry, each in zip(entries, columns, strict=True):
        held = None if entry.is_new else entry.row.personal_data
        if held is None or not (held.erased_at or (held.document == each.personal and not entry.erased)):
            row = personal_row(entry.row, entry.after, each.personal)
            row.erased_at = datetime.now(UTC) if entry.erased else None
            rows.append(row)
    insert_once(rows, "order", update_fields=("document", "email", "last4", "erased_at"))


def _write_items(entries: Sequence[Entry]) -> None:
    changed = [entry for entry in entries if entry.before.order.items != entry.after.order.items]
    stale = [entry.row for entry in changed if entry.before.order.items]
    items = OrderItem.objects.using(state_database())
    if stale:
        items.filter(order__in=stale).delete()
    rows = [row for entry in changed for row in item_rows(entry.row, entry.after)]
    if rows:
        items.bulk_create(rows)


def _write_checkouts(project: Project, entries: Sequence[Entry], settlements: Sequence[Settlement]) -> None:
    """Write the checkouts that this batch moved; their rows are locked.

    Raises ``ErasedMeanwhile`` where a tombstone stands by now. The statement that moves the checkout asks for it, if one
    does: the first success of a new customer shall cost no more than any other.
    """
    looked_for: list[str] = []
    for settlement in settlements:
        if settlement.checkout is None or not (moved := _moved(settlement, settlement.checkout)):
            continue
        row = Checkout.objects.using(state_database()).filter(pk=settlement.checkout.pk)
        tombstones = [each for entry in settlement.entries for each in entry.tombstones]
        if tombstones:
            row = row.exclude(Exists(standing(project, tombstones)))
            looked_for += tombstones
        if not row.update(**moved):
            raise ErasedMeanwhile
    if any_erased(
        project, [each for entry in entries for each in entry.tombstones if each not in looked_for]
    ):
        raise ErasedMeanwhile


def _moved(settlement: Settlement, checkout: Checkout) -> dict[str, Any]:
    """Return the columns of a checkout that are other than before."""
    moved: dict[str, Any] = {}
    if not checkout.order_id:
        # The answer that names the order was lost, is on its way, or went to a token's user.
        moved["order_id"] = checkout.order_id = settlement.entries[0].order_id
    if any(entry.erased for entry in settlement.entries) and not checkout.erased_at:
        # Its buyer was erased before any order told whose checkout it is.
        moved |= {"metadata": {}, "payment_form_url": "", "identity": "", "erased_at": datetime.now(UTC)}
    if settlement.after is not None:
        status, payer = settlement.after
        if (status, payer.pk if payer else None) != settlement.before:
            moved |= {"status": status, "paid_order": payer, "paid_at": checkout.paid_at}
    return moved


def _write_transitions(entries: Sequence[Entry], cause: Cause) -> dict[str, Transition]:
    """One row per change of status, and one for a decision of staff; by order id."""
    rows = {
        entry.order_id: Transition(
            order=entry.row,
            from_status="" if entry.is_new else entry.before.status.value,
            to_status=entry.after.status.value,
            source=cause.source.value,
            notification=cause.notification,
            sync_run=cause.sync_run,
            staff_id=cause.staff.pk if cause.staff else None,
            reason=cause.reason[:255],
        )
        for entry in entries
        if entry.moved or cause.source is Source.STAFF
    }
    if rows:
        Transition.objects.using(state_database()).bulk_create(rows.values())
    return rows


def _incidents(project: Project, entry: Entry, cause: Cause) -> Iterable[Incident]:
    for kind, order in incidents_of(entry):
        yield Incident(
            key=incident_key(project, order.order_id, kind),
            kind=kind[:64],
            project=project.alias,
            order=order,
            notification=cause.notification,
        )


def _announcements(
    project: Project, entry: Entry, transitions: dict[str, Transition], cause: Cause
) -> Iterable[OutboxMessage]:
    transition = transitions.get(entry.order_id)
    notices = list(entry.notices)
    if transition and tells_of_change(entry):
        notices.append(Notice("order_changed", ("changed", str(transition.pk))))
    for notice in notices:
        yield OutboxMessage(
            idempotency_key=signal_key(project, notice),
            signal=notice.signal,
            project=project.alias,
            order_id=notice.grant.order_id if notice.grant else (notice.order or entry.row).pk,
            checkout=entry.checkout,
            grant=notice.grant,
            transition=transition,
            arguments={
                "source": cause.word,
                "previous_status": "" if entry.is_new else entry.before.status.value,
                "live": entry.after.merged.live,
                "partial": entry.after.partial,
                "renewal": False,
                **notice.arguments,
            },
        )


def incidents_of(entry: Entry) -> list[tuple[str, Order]]:
    """Return the kinds of incidents that the entry opens, each with the order that it is about."""
    found = [(kind, entry.row) for kind in entry.incidents]
    found += [(f"review:{reason}", order) for reason, order in entry.reviews]
    # An order that is not inserted yet cannot be hashed.
    return list({(kind, order.order_id): (kind, order) for kind, order in found}.values())


def incident_key(project: Project, order_id: str, kind: str) -> str:
    """Return the key that makes an incident about an order unique."""
    return key_of("order", project.alias, order_id, kind)


def signal_key(project: Project, notice: Notice) -> str:
    """Return the key that lets a signal be sent once."""
    return message_key(project.alias, *notice.once)


def tells_of_change(entry: Entry) -> bool:
    """Return whether ``order_changed`` is sent for the entry."""
    return entry.moved and _is_news(entry)


def _is_news(entry: Entry) -> bool:
    """Return False for an order from before this installation, and for one that is seen first and waits for its payment."""
    waits = entry.after.status in (OrderStatus.CREATED, OrderStatus.PENDING)
    return not entry.silent and not (entry.is_new and waits)
