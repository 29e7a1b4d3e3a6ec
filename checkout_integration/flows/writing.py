"""Writing what a batch decided: orders, their child rows, checkouts, history and outbox. Called under their locks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import connections
from django.db.models import Exists

from checkout_integration.conf import Project
from checkout_integration.flows.customers import ErasedMeanwhile, any_erased, standing
from checkout_integration.flows.database import insert_once, key_of, locked, state_database
from checkout_integration.flows.entry import Cause, Entry, Notice
from checkout_integration.flows.inbox import told_of_orders
from checkout_integration.flows.rows import Columns, columns_of, item_rows, personal_row, refund_row
from checkout_integration.models import (
    Announcement,
    Checkout,
    Incident,
    Order,
    OrderItem,
    Transition,
)
from checkout_integration.policy.observation import Source
from checkout_integration.policy.verdict import VerdictStatus
from checkout_integration.protocol.vocabulary import OrderStatus


def write(project: Project, entries: Sequence[Entry], cause: Cause) -> None:
    """Writes the entries of a batch, in the lock order's tables from order to outbox."""
    columns = [columns_of(entry.after) for entry in entries]
    _drop_bodies(project, [entry.order_id for entry in entries if entry.turns_out_erased])
    _write_orders(entries, columns)
    _write_personal(entries, columns)
    _write_items(entries)
    _write_refunds(entries)
    _write_checkouts(project, entries)
    transitions = _write_transitions(entries, cause)
    insert_once([row for entry in entries for row in _incidents(project, entry, cause)], "key")
    insert_once(
        [row for entry in entries for row in _announcements(project, entry, transitions, cause)],
        "idempotency_key",
    )


def _drop_bodies(project: Project, order_ids: Sequence[str]) -> None:
    """What was told of orders before it turned out that they are an erased customer's.

    Against the lock order, hence without waiting where the database can: whoever has locked such a row, or is just inserting
    it, takes the same order up next and then drops its body, or drops it at the next delivery (`intake`).
    """
    if not order_ids:
        return
    told = told_of_orders(project.alias, order_ids)
    free = connections[told.db].features.has_select_for_update_skip_locked
    keys = [row.key for row in locked(told.only("key"), wait=not free).order_by("pk")]
    told.filter(key__in=keys).update(body=None)


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


def _write_refunds(entries: Sequence[Entry]) -> None:
    rows = [
        row
        for entry in entries
        if entry.before != entry.after and (row := refund_row(entry.row, entry.after)) is not None
    ]
    told = "status refunded_at amount currency reason code receipt_number document transaction".split()
    insert_once(rows, "key", update_fields=told)


def _write_checkouts(project: Project, entries: Sequence[Entry]) -> None:
    """The sales that this batch moved. ``paid_order`` is set once: nobody else can set it, the row is locked.

    Raises ``ErasedMeanwhile`` where a tombstone stands by now. The statement that moves the sale asks for it, if one does:
    the first success of a new customer shall cost no more than any other.
    """
    for entry in entries:
        if entry.checkout is not None and (moved := _moved(entry, entry.checkout)):
            held = Checkout.objects.using(state_database()).filter(pk=entry.checkout.pk)
            if entry.tombstones:
                held = held.exclude(Exists(standing(project, entry.tombstones)))
            if not held.update(**moved):
                raise ErasedMeanwhile
        elif any_erased(project, entry.tombstones):
            raise ErasedMeanwhile


def _moved(entry: Entry, checkout: Checkout) -> dict[str, Any]:
    moved: dict[str, Any] = {}
    if (
        not checkout.order_id
    ):  # the answer that names the order was lost, is on its way, or went to a token's user
        moved["order_id"] = checkout.order_id = entry.order_id
        if checkout.status in (Checkout.Status.NEW, Checkout.Status.UNKNOWN):
            moved["status"] = checkout.status = Checkout.Status.OPEN
    if entry.erased and not checkout.erased_at:
        # Its buyer was erased before any order told whose sale it is.
        moved |= {"metadata": {}, "payment_form_url": "", "identity": "", "erased_at": datetime.now(UTC)}
    if entry.is_payer and not (entry.granted_before and entry.granted):
        moved |= {"status": checkout.status, "paid_order": entry.row, "paid_at": checkout.paid_at}
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
    for kind in dict.fromkeys(entry.incidents):
        yield Incident(
            key=key_of("order", project.alias, entry.order_id, kind),
            kind=kind[:64],
            project=project.alias,
            order=entry.row,
            notification=cause.notification,
        )


def _announcements(
    project: Project, entry: Entry, transitions: dict[str, Transition], cause: Cause
) -> Iterable[Announcement]:
    transition = transitions.get(entry.order_id)
    notices = list(entry.notices)
    if entry.moved and transition and _is_news(entry, cause):
        notices.append(Notice("order_changed", ("changed", str(transition.pk))))
    for notice in notices:
        yield Announcement(
            idempotency_key=key_of(project.alias, *notice.once),
            signal=notice.signal,
            project=project.alias,
            order=entry.row,
            checkout=entry.checkout,
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


def _is_news(entry: Entry, cause: Cause) -> bool:
    """Not the order that we have just created ourselves, and not one from before this installation."""
    historic = entry.verdict.status is VerdictStatus.HISTORIC and cause.source is Source.LIST
    return not historic and not (entry.is_new and entry.after.status is OrderStatus.CREATED)
