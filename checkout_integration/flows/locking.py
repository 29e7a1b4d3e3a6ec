"""Locking and loading what a batch of observations touches.

Lock order, everywhere: checkout → order → user → refund, rows sorted by primary key (A.11). Child rows are written only under
their order's lock.

Related rows are read by statements of their own, after the lock: a statement that waited for its lock brings the locked row
up to date, but not what it joins (PostgreSQL, READ COMMITTED), so a join would show the rows from before the wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from checkout_integration.conf import Project
from checkout_integration.flows.database import locked, state_database
from checkout_integration.flows.entry import Entry, verdict_of
from checkout_integration.flows.rows import state_of
from checkout_integration.models import Checkout, Order
from checkout_integration.policy.binding import bind, reference_of
from checkout_integration.policy.observation import Observation


def lock_checkouts(project: Project, observations: Sequence[Observation]) -> list[Checkout]:
    """The sales that these observations may be about, locked: by order id, by reference, and as bound before."""
    alias = state_database()
    mine = Checkout.objects.using(alias).filter(project=project.alias)
    ids = {each.order.id for each in observations if each.order.id}
    references = {reference_of(each.order, project.reference_key) for each in observations} - {""}
    bound = Order.objects.using(alias).filter(project=project.alias, order_id__in=ids, checkout__isnull=False)
    # A union of three indexed look-ups; an OR over them would read the whole table.
    candidates = (
        mine.filter(order_id__in=ids).values("pk"),
        mine.filter(reference__in=references).values("pk"),
        bound.values("checkout_id"),
    )
    wanted = candidates[0].union(*candidates[1:])
    found = Checkout.objects.using(alias).filter(pk__in=wanted)
    return list(locked(found).order_by("pk").prefetch_related("paid_order"))


def lock_orders(project: Project, order_ids: Iterable[str]) -> dict[str, Order]:
    """The known ones of these orders, locked, with their customer and personal data."""
    known = Order.objects.using(state_database()).filter(
        project=project.alias, order_id__in=sorted(set(order_ids))
    )
    rows = locked(known).order_by("pk").prefetch_related("personal_data", "user")
    return {row.order_id: row for row in rows}


def lock_bound(orders: Iterable[Order], held: Sequence[Checkout]) -> list[Checkout]:
    """The sales that these locked orders were bound to while we waited for their locks, locked too.

    Against the lock order, since only the orders could tell: a deadlock ends in a repeated transaction.
    """
    bound = {order.checkout_id for order in orders if order.checkout_id is not None}
    missing = bound - {checkout.pk for checkout in held}
    if not missing:
        return []
    found = Checkout.objects.using(state_database()).filter(pk__in=missing)
    return list(locked(found).order_by("pk").prefetch_related("paid_order"))


def load_entries(
    project: Project,
    observations: Sequence[Observation],
    checkouts: Sequence[Checkout],
    orders: Mapping[str, Order],
) -> list[Entry]:
    """One entry per order, sorted by its id, with its observations and the sale that it is bound to."""
    entries: dict[str, Entry] = {}
    for observation in sorted(observations, key=lambda each: each.order.id or ""):
        order_id = observation.order.id or ""
        if order_id not in entries:
            entries[order_id] = _entry(project, order_id, orders.get(order_id))
        entries[order_id].observations.append(observation)
    for entry in entries.values():
        entry.checkout = _checkout_of(project, entry, checkouts)
    return list(entries.values())


def _entry(project: Project, order_id: str, known: Order | None) -> Entry:
    row = known or Order(project=project.alias, order_id=order_id)
    state = state_of(row)
    verdict = verdict_of(row)
    return Entry(
        row=row, is_new=known is None, before=state, after=state, verdict_before=verdict, verdict=verdict
    )


def _checkout_of(project: Project, entry: Entry, checkouts: Sequence[Checkout]) -> Checkout | None:
    """The sale that the order was bound to before; else the one that its id or its reference names."""
    if entry.row.checkout_id:
        return next((each for each in checkouts if each.pk == entry.row.checkout_id), None)
    sales = [checkout.sale for checkout in checkouts]
    told = (entry.before.order, *(observation.order for observation in entry.observations))
    found = (bind(order, project.alias, project.reference_key, sales) for order in told)
    sale = next(filter(None, found), None)
    return next((each for each in checkouts if sale and each.pk == sale.primary_key), None)
