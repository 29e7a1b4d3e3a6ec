"""The only writer of orders, refunds and users: lock, load, decide, write.

Observations come from notifications, the list or creation, always as a batch of steps; a single one is a batch of one.
Recording a step twice, or steps in another order, ends in the same state. The rows of an order are made here too: its
columns, items and personal data, its transitions and messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypeAlias

from django.db import connections

from checkout_integration.conf import Project
from checkout_integration.flows.database import (
    insert,
    key_of,
    locked,
    own_transaction,
    read_committed,
    update,
    upsert,
)
from checkout_integration.flows.ledger.batch import (
    NO_ADVICE,
    Advice,
    Batch,
    LockedOrder,
    OrderChange,
    Outcome,
    PendingSignal,
    Settlement,
    Step,
    deleted_keys,
    lock,
    look_up,
)
from checkout_integration.flows.ledger.customers import (
    customers_of,
    find_users,
    forget_erased,
    owner_by_link,
)
from checkout_integration.flows.ledger.deciding import take_all
from checkout_integration.flows.ledger.incidents import settle_incidents
from checkout_integration.flows.ledger.reversals import assign, attach_waiting, store_unmatched, write_refunds
from checkout_integration.flows.outbox import without_common, write_messages
from checkout_integration.models import (
    Checkout,
    Notification,
    Order,
    OrderItem,
    OutboxMessage,
    PersonalData,
    Transition,
)
from checkout_integration.models.actor import actor_columns
from checkout_integration.models.columns import (
    as_column_money,
    as_column_text,
    as_column_units,
)
from checkout_integration.models.history import LONGEST_REASON
from checkout_integration.models.order import public_state_of
from checkout_integration.policy import facts as fact_rules
from checkout_integration.policy import personal
from checkout_integration.policy.amounts import column_rate
from checkout_integration.policy.attribution import ATTRIBUTION
from checkout_integration.policy.erasure import erased_checkout, is_erased
from checkout_integration.policy.fields import stamps_to_json
from checkout_integration.policy.observation import Source
from checkout_integration.policy.order_type import type_of
from checkout_integration.policy.product import product_of
from checkout_integration.policy.signals import sends_order_changed, signal_facts
from checkout_integration.policy.state import OrderState
from checkout_integration.protocol import order as documents
from checkout_integration.protocol.vocabulary import OrderStatus


def record(project: Project, steps: Sequence[Step], advice: Advice = NO_ADVICE) -> list[Outcome]:
    """Record steps in their order, and return an outcome for each.

    It is one transaction, or a part of the caller's, who must roll that back after an exception. A failure of our rules is in
    the outcome of its step; the other steps are recorded.

    Raises:
        IntegrityError: another transaction recorded one of the orders for the first time at the same moment, or erased a
            customer: the caller retries its whole transaction.

    """
    with own_transaction(savepoint=False):
        read_committed()
        batch = compute(project, steps, advice)
        write(batch)
    return batch.outcomes


def compute(project: Project, steps: Sequence[Step], advice: Advice = NO_ADVICE) -> Batch:
    """Return the outcomes of steps: lock, load, and take one after the other. Inside a transaction; nothing is written."""
    assigned = assign(project, steps)
    orders = [step.observation.order for step in assigned if step is not None]
    unknown = [step.observation.order for step, known in zip(steps, assigned, strict=True) if known is None]
    hints = look_up(project, orders, customers_of(orders), unknown)
    batch = lock(project, orders, hints, advice)
    if hints.deleted:
        batch.skipped = {
            position
            for position, step in enumerate(steps)
            if not hints.deleted.isdisjoint(deleted_keys(project, step.observation.order))
        }
        assigned = [None if position in batch.skipped else step for position, step in enumerate(assigned)]
    if hints.reversals_wait:
        attach_waiting(batch, orders)
    batch.unmatched = [
        step.observation
        for position, (step, known) in enumerate(zip(steps, assigned, strict=True))
        if known is None and position not in batch.skipped
    ]
    take_all(batch, assigned)
    return batch


# Writing the decisions of a batch: one statement per table, for any number of orders. Called under their locks.

ORDER_FIELDS = ("verdict", "verdict_reason", "checkout", "user", "product", "changed_at")
"""In addition to those of `columns_of`."""
CHECKOUT_FIELDS = (
    *"order_id erased_at status paid_order paid_at owned_until user by_link".split(),
    *erased_checkout(),
)
PERSONAL_FIELDS = ("document", "refund_receipts", "email", "last4", "erased_at")
GRANT_FIELDS = ("order", "checkout", "state", "closed_at")


def write(batch: Batch) -> None:
    """Write a batch in its transaction: the tables of the lock order from user to order, and then the outbox."""
    store_unmatched(batch.project, batch.unmatched)
    changes = [change for change in batch.changes if change.to_write]
    if not changes:
        return
    find_users(batch)
    forget_erased(batch)
    orders = [order for order in batch.orders if order.changed]
    columns = [columns_of(order.state) for order in orders]
    _drop_bodies(batch.project, [order.order_id for order in orders if order.turns_out_erased])
    _write_orders(orders, columns)
    write_refunds(batch.project, orders)
    _write_personal(orders, columns)
    _write_items(orders)
    _write_checkouts(batch.settlements)
    _write_grants(batch)
    transitions = _write_transitions(changes)
    write_messages(
        [row for change in changes for row in messages_of(batch.project, change, transitions.get(id(change)))]
    )
    settle_incidents(batch.project, changes)


def _drop_bodies(project: Project, order_ids: Sequence[str]) -> None:
    """Delete the earlier bodies of an order that turned out to be an erased customer's.

    Against the lock order, so without waiting where the database can: a process that has locked such a row, or is just
    inserting it, handles the same order next and then deletes its body.
    """
    if not order_ids:
        return
    notifications = Notification.primary.about_orders(project.alias, order_ids)
    free = connections[notifications.db].features.has_select_for_update_skip_locked
    settled = notifications.exclude(
        state=Notification.State.STORED
    )  # the process that applies those deletes their bodies
    keys = [row.pk for row in locked(settled.only("pk"), wait=not free).order_by("pk")]
    notifications.filter(pk__in=keys).update(body=None, due_at=None)


def _write_orders(orders: Sequence[LockedOrder], columns: Sequence[Columns]) -> None:
    """Insert and update the orders. New ones get their primary keys, which the rows that belong to them need."""
    now = datetime.now(UTC)
    for order, (own, _) in zip(orders, columns, strict=True):
        row = order.row
        vars(row).update(own)  # setting them one by one would take several times as long
        row.verdict, row.verdict_reason = order.verdict.status.value, str(order.verdict.reason)
        row.checkout, row.changed_at = order.checkout, now
        words = (row.checkout.description, row.checkout.products) if row.checkout else ()
        row.product = as_column_text(product_of(order.state.order, *words))
        if order.user is not None:
            row.user = order.user
    # Not an upsert: if another transaction has inserted one meanwhile, ours is retried, and then merges.
    insert([order.row for order in orders if order.is_new], key=("project", "order_id"))
    fields = (*columns[0][0], *ORDER_FIELDS) if columns else ()
    update([order.row for order in orders if not order.is_new], fields)


def _write_personal(orders: Sequence[LockedOrder], columns: Sequence[Columns]) -> None:
    """Write personal data, unless it was erased: a tombstone wins over every later observation.

    Every order gets a row, even an empty one: it is locked and read together with the order (`batch`).
    """
    rows = []
    for order, (_, private) in zip(orders, columns, strict=True):
        stored = None if order.is_new else order.row.personal_data
        receipts = {**(stored.refund_receipts if stored else {}), **order.refund_receipts}
        known = stored is not None and (stored.document, stored.refund_receipts) == (private, receipts)
        if stored is None or not (is_erased(stored) or (known and not order.erased)):
            row = personal_row(order.row, order.state, private)
            row.refund_receipts = {} if order.erased else receipts
            row.erased_at = datetime.now(UTC) if order.erased else None
            rows.append(row)
    upsert(rows, "order", update=PERSONAL_FIELDS)


def _write_items(orders: Sequence[LockedOrder]) -> None:
    changed = [order for order in orders if order.stored.order.items != order.state.order.items]
    stale = [order.row.pk for order in changed if order.stored.order.items]
    if stale:
        OrderItem.primary.filter(order__in=stale).delete()
    insert([row for order in changed for row in item_rows(order.row, order.state)])


def _write_checkouts(settlements: Sequence[Settlement]) -> None:
    """Write the checkouts that this batch changed; their rows are locked."""
    moved = [each.checkout for each in settlements if each.checkout and _set_columns(each, each.checkout)]
    update(moved, CHECKOUT_FIELDS)


def _set_columns(settlement: Settlement, checkout: Checkout) -> bool:
    """Set the changed columns of a locked checkout; return whether there are any."""
    moved: dict[str, Any] = {}
    if not checkout.order_id and settlement.changes:
        # The response that names the order was lost, is on its way, or went to a token's user.
        moved["order_id"] = settlement.changes[0].order_id
    if any(change.order.erased for change in settlement.changes) and not is_erased(checkout):
        # Its customer was erased before any order identified the customer of the checkout.
        moved |= {**erased_checkout(), "erased_at": datetime.now(UTC)}
    if checkout.user_id is None:
        owners = (owner_by_link(each.order, newly_bound=each.newly_bound) for each in settlement.changes)
        if owner := next(filter(None, owners), None):
            moved |= {"user_id": owner, "by_link": True}
    if settlement.after is not None:
        status, payer, until = settlement.after
        if (status, payer.pk if payer else None, until) != settlement.before:
            moved |= {"status": status, "paid_order_id": payer.pk if payer else None, "owned_until": until}
    for name, value in moved.items():
        setattr(checkout, name, value)
    return bool(moved)


def _write_grants(batch: Batch) -> None:
    """Insert the grants that were opened, even if closed again already, and update those that changed."""
    moved = {grant.pk: grant for grant in batch.moved_grants if grant not in batch.new_grants}
    for grant in [*batch.new_grants, *moved.values()]:
        grant.order = grant.order  # a new order has its key by now
    insert(batch.new_grants, key=("key",), in_order=True)
    update(list(moved.values()), GRANT_FIELDS)


def _write_transitions(changes: Sequence[OrderChange]) -> dict[int, Transition]:
    """Insert a row for each change of status and each decision of staff; return them by the identity of the change."""
    rows = {id(change): row for change in changes if (row := transition_of(change)) is not None}
    insert(list(rows.values()), key=("order", "notification", "sync_run"), in_order=True)
    return rows


Columns: TypeAlias = tuple[Mapping[str, Any], Mapping[str, Any]]
"""The columns to write for one order, and the personal part of its document."""


def columns_of(state: OrderState) -> Columns:
    """Return the columns of a state: typed copies of searched and summed fields, and the document in its two parts."""
    public, private = personal.split(state.merged.document)
    columns = {
        "status": state.status.value,
        "partly_refunded": state.partial,
        "live": state.merged.live,
        "document": public,
        "facts": fact_rules.to_json(state.facts),
        "stamps": stamps_to_json(state.merged.stamps),
        "conflicts": sorted(state.merged.conflicts),
        **_copied(state.order, _refunded(state)),
    }
    return columns, private


def _refunded(state: OrderState) -> tuple[Decimal | None, str | None]:
    """Return what was refunded in all, or what a chargeback states of itself."""
    if state.facts.knows(OrderStatus.REFUNDED):
        return state.returned.shown.amount, state.returned.shown.currency
    refund = state.order.refund if state.facts.knows(OrderStatus.CHARGEBACK) else None
    return (refund.amount, refund.currency) if refund else (None, None)


def _copied(order: documents.Order, refunded: tuple[Decimal | None, str | None]) -> dict[str, Any]:
    money: dict[str, tuple[Decimal | None, str | None]] = {
        "": (order.amount, order.currency),
        "charge_": (order.charge_amount, order.charge_currency),
        "tax_": (order.tax.amount, order.tax.currency) if order.tax else (None, None),
        "fee_": (order.fee.amount, order.fee.currency) if order.fee else (None, None),
        "net_revenue_": (order.net_revenue.amount, order.net_revenue.currency)
        if order.net_revenue
        else (None, None),
        "refund_": refunded,
    }
    issuer = order.issuer
    return {
        **{name: as_column_text(getattr(issuer, name, None)) for name in ATTRIBUTION},
        "is_production": order.is_production,
        "transaction": as_column_text(order.transaction),
        "type": as_column_text(type_of(order), 32),
        "created_at": order.created_at,
        "canceled_at": order.canceled_at,
        "refunded_at": order.refunded_at,
        "country": as_column_text(order.country, 8),
        "receipt_number": as_column_text(order.receipt_number),
        "recurring_id": as_column_text(order.recurring_id),
        "original_amount": as_column_money(order.original_amount, order.currency),
        "virtual_currency_amount": as_column_units(order.virtual_currency_amount),  # ORD-37
        "tax_rate": column_rate(order.tax.rate if order.tax else None),
        "vat_payer": as_column_text(order.vat_payer, 16),
        "method_type": as_column_text(order.method.type if order.method else None, 64),
        **{
            f"{prefix}amount": as_column_money(amount, currency)
            for prefix, (amount, currency) in money.items()
        },
        **{f"{prefix}currency": as_column_text(currency, 8) for prefix, (_, currency) in money.items()},
    }


def personal_row(row: Order, state: OrderState, private: Mapping[str, Any]) -> PersonalData:
    """Return the personal part as a row of its own, with the two columns that staff search by."""
    snapshot = state.order
    email = snapshot.receipt_email or (snapshot.user.email if snapshot.user else None)
    card = snapshot.method.card if snapshot.method else None
    return PersonalData(
        order=row,
        document=dict(private),
        email=as_column_text(email).lower(),
        last4=as_column_text(card.last4 if card else None, 4),
    )


def item_rows(row: Order, state: OrderState) -> list[OrderItem]:
    """Return the items as rows, in their order."""
    return [
        OrderItem(
            order=row,
            position=position,
            item_id=as_column_text(item.id),
            sku=as_column_text(item.sku),
            name=item.name or "",
            code=as_column_text(item.code),
            platform=as_column_text(item.platform or item.platform_id, 64),
        )
        for position, item in enumerate(state.order.items or ())
    ]


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
        act=cause.act,
        reason=cause.reason[:LONGEST_REASON],
        **(actor_columns(cause.staff) if cause.staff else {}),
    )


def messages_of(
    project: Project, change: OrderChange, transition: Transition | None
) -> Iterator[OutboxMessage]:
    """Yield a message for each signal of the change, after its orders were written.

    A signal may be about another order of the same checkout, such as the one that was paid first. This change did not move
    that order, so the signal has its facts, and no transition.
    """
    signals = list(change.signals)
    if transition is not None and sends_change(change):
        signals.append(PendingSignal("order_changed", ("changed", str(transition.pk))))
    own = {
        "previous_status": "" if change.is_new else change.before.status.value,
        **signal_facts(change.after),
    }
    for signal in signals:
        other = signal.order if signal.order is not change.row else None
        facts = own if other is None else signal_facts(public_state_of(other))
        yield OutboxMessage(
            idempotency_key=signal_key(project, signal),
            signal=signal.name,
            project=project.alias,
            order=other or change.row,
            checkout=change.checkout,
            grant=signal.grant,
            transition=None if other else transition,
            arguments=without_common({"source": change.cause.word, **facts, **signal.arguments}),
        )


def signal_key(project: Project, signal: PendingSignal) -> str:
    """Return the key that lets a signal be sent once."""
    return key_of(project.alias, *signal.idempotency_parts)


def sends_change(change: OrderChange) -> bool:
    """Return whether ``order_changed`` is sent for the change; never for an order from before the installation."""
    before = None if change.is_new else change.before.status
    return not change.silent and sends_order_changed(before, change.after.status)
