"""Writing what a batch decided: one statement a table, whatever the number of orders. Called under their locks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import connections

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import locked, state_database
from checkout_integration.flows.database.statements import insert, insert_missing, update, upsert
from checkout_integration.flows.ledger.batch import LockedGrant, Settlement
from checkout_integration.flows.ledger.customers import find_users, forget_erased
from checkout_integration.flows.ledger.history import incidents_of, messages_of, transition_of
from checkout_integration.flows.ledger.order_change import LockedOrder, OrderChange
from checkout_integration.flows.ledger.refunds import write_refunds
from checkout_integration.flows.ledger.rows import Columns, columns_of, item_rows, personal_row
from checkout_integration.flows.ledger.steps import Advice
from checkout_integration.flows.ledger.taking import Batch
from checkout_integration.flows.outbox import write_messages
from checkout_integration.models import Checkout, Incident, Notification, OrderItem, Transition

ORDER_FIELDS = ("verdict", "verdict_reason", "checkout", "user", "changed_at")
"""Beside those of `Columns`."""
CHECKOUT_FIELDS = tuple(
    "order_id metadata payment_form_url identity erased_at status paid_order paid_at".split()
)
GRANT_FIELDS = ("order", "checkout", "state", "closed_at")


def write(batch: Batch, advice: Advice, *, fan_out: bool) -> None:
    """Write a batch, in the lock order's tables from user to order, and then to the outbox."""
    changes = [change for change in batch.changes if change.to_write]
    if not changes:
        return
    find_users(batch, advice)
    forget_erased(batch)
    orders = [order for order in batch.orders if order.changed]
    columns = [columns_of(order.state) for order in orders]
    _drop_bodies(batch.project, [order.order_id for order in orders if order.turns_out_erased])
    _write_orders(orders, columns)
    _write_personal(orders, columns)
    _write_items(orders)
    write_refunds(batch.project, orders)
    _write_checkouts(batch.settlements)
    _write_grants(batch.rows.grants)
    transitions = _write_transitions(changes)
    insert_missing(_incidents(batch.project, changes), "key")
    write_messages(
        [
            row
            for change in changes
            for row in messages_of(batch.project, change, transitions.get(id(change)))
        ],
        fan_out=fan_out,
    )


def _drop_bodies(project: Project, order_ids: Sequence[str]) -> None:
    """What was told of orders before it turned out that they are an erased customer's.

    Against the lock order, hence without waiting where the database can: whoever has locked such a row, or is just inserting
    it, takes the same order up next and then drops its body.
    """
    if not order_ids:
        return
    notifications = Notification.objects.using(state_database()).about_orders(project.alias, order_ids)
    free = connections[notifications.db].features.has_select_for_update_skip_locked
    settled = notifications.exclude(
        state=Notification.State.STORED
    )  # whoever applies those drops their bodies
    keys = [row.pk for row in locked(settled.only("pk"), wait=not free).order_by("pk")]
    notifications.filter(pk__in=keys).update(body=None, due_at=None)


def _write_orders(orders: Sequence[LockedOrder], columns: Sequence[Columns]) -> None:
    """Insert and update the orders. Keys of new ones are set, which the rows that belong to them need."""
    now = datetime.now(UTC)
    for order, each in zip(orders, columns, strict=True):
        row = order.row
        for name, value in each.own.items():
            setattr(row, name, value)
        row.verdict, row.verdict_reason = order.verdict.status.value, str(order.verdict.reason)
        row.checkout, row.changed_at = order.checkout, now
        if order.user is not None:
            row.user = order.user
    # Not an upsert: where another transaction inserted one meanwhile, ours is retried, and merges.
    insert([order.row for order in orders if order.is_new], key=("project", "order_id"))
    fields = (*columns[0].own, *ORDER_FIELDS) if columns else ()
    update([order.row for order in orders if not order.is_new], fields)


def _write_personal(orders: Sequence[LockedOrder], columns: Sequence[Columns]) -> None:
    """Write personal data, unless it was erased: a tombstone wins over every later observation.

    Every order gets its row, an empty one too: it is locked and read together with the order (`locking`).
    """
    rows = []
    for order, each in zip(orders, columns, strict=True):
        stored = None if order.is_new else order.row.personal_data
        if stored is None or not (
            stored.erased_at or (stored.document == each.personal and not order.erased)
        ):
            row = personal_row(order.row, order.state, each.personal)
            row.erased_at = datetime.now(UTC) if order.erased else None
            rows.append(row)
    upsert(rows, "order", update=("document", "email", "last4", "erased_at"))


def _write_items(orders: Sequence[LockedOrder]) -> None:
    changed = [order for order in orders if order.stored.order.items != order.state.order.items]
    stale = [order.row.pk for order in changed if order.stored.order.items]
    if stale:
        OrderItem.objects.using(state_database()).filter(order__in=stale).delete()
    insert([row for order in changed for row in item_rows(order.row, order.state)])


def _write_checkouts(settlements: Sequence[Settlement]) -> None:
    """Write the checkouts that this batch moved; their rows are locked."""
    moved = [each.checkout for each in settlements if each.checkout and _move(each, each.checkout)]
    update(moved, CHECKOUT_FIELDS)


def _move(settlement: Settlement, checkout: Checkout) -> bool:
    """Set the columns of a locked checkout that are other than before; False where none is."""
    moved: dict[str, Any] = {}
    if not checkout.order_id and settlement.changes:
        # The response that names the order was lost, is on its way, or went to a token's user.
        moved["order_id"] = settlement.changes[0].order_id
    if any(change.order.erased for change in settlement.changes) and not checkout.erased_at:
        # Its buyer was erased before any order said whose checkout it is.
        moved |= {"metadata": {}, "payment_form_url": "", "identity": "", "erased_at": datetime.now(UTC)}
    if settlement.after is not None:
        status, payer = settlement.after
        if (status, payer.pk if payer else None) != settlement.before:
            moved |= {"status": status, "paid_order": payer}
    for name, value in moved.items():
        setattr(checkout, name, value)
    return bool(moved)


def _write_grants(grants: Sequence[LockedGrant]) -> None:
    """Insert the grants that were opened, closed ones among them, and update those that changed."""
    for grant in grants:
        grant.row.order = grant.payer
    insert([grant.row for grant in grants if grant.is_new], key=("key",), in_order=True)
    update([grant.row for grant in grants if grant.changed and not grant.is_new], GRANT_FIELDS)


def _write_transitions(changes: Sequence[OrderChange]) -> dict[int, Transition]:
    """Insert a row per change of status, and one for a decision of staff; returned by the identity of the change."""
    rows = {id(change): row for change in changes if (row := transition_of(change)) is not None}
    insert(list(rows.values()), key=("order", "notification", "sync_run"), in_order=True)
    return rows


def _incidents(project: Project, changes: Iterable[OrderChange]) -> list[Incident]:
    return [incident for change in changes for incident in incidents_of(project, change)]
