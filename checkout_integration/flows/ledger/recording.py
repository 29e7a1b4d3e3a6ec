"""The only writer of orders, refunds and users: call the hooks, lock, load, decide, write.

Observations come from notifications, the list or creation, always as a batch of steps; a single one is a batch of one.
Recording a step twice, or steps in another order, ends in the same state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import connections, transaction

from checkout_integration.conf import Project
from checkout_integration.flows.database import (
    TRANSIENT_DATABASE_ERRORS,
    Together,
    insert,
    insert_missing,
    locked,
    read_committed,
    state_database,
    update,
    upsert,
)
from checkout_integration.flows.ledger.customers import (
    account_by_hook,
    customers_of,
    find_users,
    forget_erased,
    identity_of,
)
from checkout_integration.flows.ledger.deciding import Batch
from checkout_integration.flows.ledger.locking import (
    find_checkouts,
    lock,
    look_up,
    named_orders,
)
from checkout_integration.flows.ledger.reversals import assign, attach_waiting, store_unmatched, write_refunds
from checkout_integration.flows.ledger.rows import (
    Columns,
    columns_of,
    grouped_incidents,
    incidents_of,
    item_rows,
    messages_of,
    personal_row,
    state_of,
    transition_of,
)
from checkout_integration.flows.ledger.steps import (
    NO_ADVICE,
    Advice,
    LockedGrant,
    LockedOrder,
    OrderChange,
    Outcome,
    Settlement,
    Step,
)
from checkout_integration.flows.outbox import FanOut, write_messages
from checkout_integration.hooks import Hooks, load_hooks
from checkout_integration.models import Checkout, CheckoutUser, Incident, Notification, OrderItem, Transition
from checkout_integration.models.checkout import erased_columns
from checkout_integration.policy.binding import reference_of
from checkout_integration.policy.observation import Observation, Timing
from checkout_integration.policy.state import NOTHING, OrderState, observe


def record(
    project: Project, steps: Sequence[Step], advice: Advice = NO_ADVICE, fan_out: FanOut | None = None
) -> list[Outcome]:
    """Record steps in their order, and return an outcome for each.

    It is one transaction, or a part of the caller's, who must roll that back after an exception. A failure of our rules is in
    the outcome of its step; the other steps are recorded. With a ``fan_out``, runs for this process's receivers are made too.

    Raises:
        IntegrityError: another transaction recorded one of the orders for the first time at the same moment, or erased a
            customer: the caller retries its whole transaction.

    """
    with transaction.atomic(using=state_database(), savepoint=False):
        read_committed()
        batch = compute(project, steps, advice)
        store(batch, advice, fan_out)
    outcomes = batch.outcomes(len(steps))
    batch.rows.end()
    return outcomes


def compute(project: Project, steps: Sequence[Step], advice: Advice = NO_ADVICE) -> Batch:
    """Return the outcomes of steps: lock, load, and take one after the other. Inside a transaction; nothing is written."""
    assigned, unmatched = assign(project, steps)
    observations = [observation for each in assigned for observation in each.observations]
    hints = look_up(project, observations, customers_of(observations))
    rows = lock(project, observations, hints, advice)
    if hints.reversals_wait:
        attach_waiting(rows, observations)
    batch = Batch(rows=rows, advice=advice, unmatched=unmatched)
    batch.take_all(assigned)
    return batch


def store(batch: Batch, advice: Advice = NO_ADVICE, fan_out: FanOut | None = None) -> None:
    """Write the changes of `compute`, in the same transaction."""
    store_unmatched(batch.rows.project, batch.unmatched)
    write(batch, advice, fan_out)


# The shop's hooks are called for a batch before anything is locked and outside any transaction, perhaps more than once.


def consult_hooks(project: Project, steps: Sequence[Step]) -> Advice:
    """Return the results of the shop's hooks for these steps. Nothing is read if the shop overrides neither hook.

    They are only offers: a checkout is used if the order, once locked, still has none; an account is used if its customer has
    no row yet.
    """
    hooks = load_hooks(project.hooks)
    resolves = type(hooks).resolve_checkout is not Hooks.resolve_checkout
    finds = type(hooks).find_user is not Hooks.find_user
    if not (resolves or finds):
        return NO_ADVICE
    observations = [observation for step in steps for observation in step.observations]
    checkouts, errors = _resolved(project, hooks, observations) if resolves else ({}, {})
    accounts = _accounts(project, observations) if finds else {}
    return Advice(checkouts=checkouts, accounts=accounts, errors=errors)


def _resolved(
    project: Project, hooks: Hooks, observations: Sequence[Observation]
) -> tuple[dict[str, Any], dict[str, Exception]]:
    """Call the hook for paid orders that name no checkout. A failure concerns its order alone."""
    checkouts: dict[str, Any] = {}
    errors: dict[str, Exception] = {}
    orders = {order.order_id: order for order in named_orders(project, _ids(observations))}
    names = {name for checkout in find_checkouts(project, observations) for name in checkout[1:] if name}
    for order_id in _ids(observations):
        row = orders.get(order_id)
        own = [observation for observation in observations if observation.order.id == order_id]
        if (row is not None and row.checkout_id) or not names.isdisjoint(_names(project, own)):
            continue
        before = state_of(row) if row is not None else NOTHING
        after = _observed(project, before, own)
        if not after.settled or after == before:
            continue
        try:
            with transaction.atomic(using=state_database()):  # a failure of the hook is rolled back
                checkout = hooks.resolve_checkout(after.order)
        except TRANSIENT_DATABASE_ERRORS:
            raise
        except Exception as error:  # noqa: BLE001  # whatever the hook raises
            errors[order_id] = error
            continue
        if checkout is not None:
            checkouts[order_id] = checkout.pk
    return checkouts, errors


def _ids(observations: Sequence[Observation]) -> list[str]:
    return sorted({observation.order.id or "" for observation in observations})


def _names(project: Project, observations: Sequence[Observation]) -> set[str]:
    """Return the ids and references by which a checkout of these observations is found."""
    orders = [observation.order for observation in observations]
    ids = {order.id or "" for order in orders}
    return ids | {reference_of(order, project.reference_key) for order in orders}


def _observed(project: Project, state: OrderState, observations: Sequence[Observation]) -> OrderState:
    timing = Timing(retry_interval=project.retry_delta, list_margin=project.list_delta)
    for observation in observations:
        state = observe(state, observation, timing)
    return state


def _accounts(project: Project, observations: Sequence[Observation]) -> dict[str, Any]:
    """Return the accounts of customers without a row, by the hook."""
    users = {identity_of(each.order.user): each.order.user for each in observations if each.order.user}
    users.pop("", None)
    rows = CheckoutUser.objects.using(state_database()).filter(
        project=project.alias, identity__in=sorted(users)
    )
    known = set(rows.values_list("identity", flat=True)) if users else set()
    accounts: dict[str, Any] = {}
    for identity, user in users.items():
        if identity not in known and user is not None:
            accounts[identity] = account_by_hook(project, user)
    return accounts


# Writing the decisions of a batch: one statement per table, for any number of orders. Called under their locks.

ORDER_FIELDS = ("verdict", "verdict_reason", "checkout", "user", "changed_at")
"""In addition to those of `Columns`."""
CHECKOUT_FIELDS = (*"order_id erased_at status paid_order paid_at".split(), *erased_columns())
GRANT_FIELDS = ("order", "checkout", "state", "closed_at")


def write(batch: Batch, advice: Advice, fan_out: FanOut | None = None) -> None:
    """Write a batch: the tables of the lock order from user to order, and then the outbox."""
    changes = [change for change in batch.changes if change.to_write]
    if not changes:
        return
    find_users(batch, advice)
    forget_erased(batch)
    orders = [order for order in batch.orders if order.changed]
    columns = [columns_of(order.state) for order in orders]
    _drop_bodies(batch.project, [order.order_id for order in orders if order.turns_out_erased])
    _write_orders(orders, columns)
    write_refunds(batch.project, orders)
    with Together() as writes:
        _write_personal(orders, columns, writes)
        _write_items(orders, writes)
        _write_checkouts(batch.settlements, writes)
        _write_grants(batch.rows.grants, writes)
        transitions = _write_transitions(changes, writes)
        insert_missing(_incidents(batch.project, changes), "key", together=writes)
    write_messages(
        [
            row
            for change in changes
            for row in messages_of(batch.project, change, transitions.get(id(change)))
        ],
        fan_out,
        fresh=batch.rows.unused.union(-order.row.pk for order in orders if order.is_new),
    )
    _open_groups(grouped_incidents(batch.project, changes))


def _drop_bodies(project: Project, order_ids: Sequence[str]) -> None:
    """Delete the earlier bodies of an order that turned out to be an erased customer's.

    Against the lock order, so without waiting where the database can: a process that has locked such a row, or is just
    inserting it, handles the same order next and then deletes its body.
    """
    if not order_ids:
        return
    notifications = Notification.objects.using(state_database()).about_orders(project.alias, order_ids)
    free = connections[notifications.db].features.has_select_for_update_skip_locked
    settled = notifications.exclude(
        state=Notification.State.STORED
    )  # the process that applies those deletes their bodies
    keys = [row.pk for row in locked(settled.only("pk"), wait=not free).order_by("pk")]
    notifications.filter(pk__in=keys).update(body=None, due_at=None)


def _write_orders(orders: Sequence[LockedOrder], columns: Sequence[Columns]) -> None:
    """Insert and update the orders. New ones get their primary keys, which the rows that belong to them need."""
    now = datetime.now(UTC)
    for order, each in zip(orders, columns, strict=True):
        row = order.row
        vars(row).update(each.own)  # setting them one by one would take several times as long
        row.verdict, row.verdict_reason = order.verdict.status.value, str(order.verdict.reason)
        row.checkout, row.changed_at = order.checkout, now
        if order.user is not None:
            row.user = order.user
    # Not an upsert: if another transaction has inserted one meanwhile, ours is retried, and then merges.
    insert([order.row for order in orders if order.is_new], key=("project", "order_id"))
    fields = (*columns[0].own, *ORDER_FIELDS) if columns else ()
    update([order.row for order in orders if not order.is_new], fields)


def _write_personal(orders: Sequence[LockedOrder], columns: Sequence[Columns], writes: Together) -> None:
    """Write personal data, unless it was erased: a tombstone wins over every later observation.

    Every order gets a row, even an empty one: it is locked and read together with the order (`locking`).
    """
    rows = []
    for order, each in zip(orders, columns, strict=True):
        stored = None if order.is_new else order.row.personal_data
        if stored is None or not (
            stored.erased_at or (stored.document == each.personal and not order.erased)
        ):
            row = personal_row(order.row, order.state, each.personal)
            row.erased_at = datetime.now(UTC) if order.erased else None
            order.row.join("personal_data", row)
            rows.append(row)
    upsert(rows, "order", update=("document", "email", "last4", "erased_at"), together=writes)


def _write_items(orders: Sequence[LockedOrder], writes: Together) -> None:
    changed = [order for order in orders if order.stored.order.items != order.state.order.items]
    stale = [order.row.pk for order in changed if order.stored.order.items]
    if stale:
        OrderItem.objects.using(state_database()).filter(order__in=stale).delete()
    insert([row for order in changed for row in item_rows(order.row, order.state)], together=writes)


def _write_checkouts(settlements: Sequence[Settlement], writes: Together) -> None:
    """Write the checkouts that this batch changed; their rows are locked."""
    moved = [each.checkout for each in settlements if each.checkout and _set_columns(each, each.checkout)]
    update(moved, CHECKOUT_FIELDS, together=writes)


def _set_columns(settlement: Settlement, checkout: Checkout) -> bool:
    """Set the changed columns of a locked checkout; return whether there are any."""
    moved: dict[str, Any] = {}
    if not checkout.order_id and settlement.changes:
        # The response that names the order was lost, is on its way, or went to a token's user.
        moved["order_id"] = settlement.changes[0].order_id
    if any(change.order.erased for change in settlement.changes) and not checkout.erased_at:
        # Its customer was erased before any order identified the customer of the checkout.
        moved |= {**erased_columns(), "erased_at": datetime.now(UTC)}
    if settlement.after is not None:
        status, payer = settlement.after
        if (status, payer.pk if payer else None) != settlement.before:
            moved |= {"status": status, "paid_order_id": payer.pk if payer else None}
    for name, value in moved.items():
        setattr(checkout, name, value)
    return bool(moved)


def _write_grants(grants: Sequence[LockedGrant], writes: Together) -> None:
    """Insert the grants that were opened, even if closed again already, and update those that changed."""
    for grant in grants:
        grant.row.order = grant.payer
    insert([grant.row for grant in grants if grant.is_new], key=("key",), in_order=True, together=writes)
    update([each.row for each in grants if each.changed and not each.is_new], GRANT_FIELDS, together=writes)


def _write_transitions(changes: Sequence[OrderChange], writes: Together) -> dict[int, Transition]:
    """Insert a row for each change of status and each decision of staff; return them by the identity of the change."""
    rows = {id(change): row for change in changes if (row := transition_of(change)) is not None}
    insert(list(rows.values()), key=("order", "notification", "sync_run"), in_order=True, together=writes)
    return rows


def _open_groups(groups: Sequence[Incident]) -> None:
    """Open the incidents of the day, and those that were resolved today again.

    RACE: all processes share these rows. Open ones are only read, and nothing is counted in them: a process that stops before
    its commit must not hold up others. One that is resolved at this very moment stays resolved until the next payment.
    """
    if not groups:
        return
    stored = Incident.objects.using(state_database()).filter(key__in=[group.key for group in groups])
    resolved = dict(stored.values_list("key", "resolved_at"))
    insert_missing([group for group in groups if group.key not in resolved], "key")
    if again := [key for key, at in resolved.items() if at is not None]:
        stored.filter(key__in=again).update(resolved_at=None, resolved_by=None)


def _incidents(project: Project, changes: Iterable[OrderChange]) -> list[Incident]:
    return [incident for change in changes for incident in incidents_of(project, change)]
