"""Locking and loading what a batch of observations touches.

Lock order, everywhere: checkout → order → user → refund, rows sorted by primary key (A.11). Child rows are written only under
their order's lock.

A statement that waited for its lock brings the locked rows up to date, but not what it joins or asks beside them (PostgreSQL,
READ COMMITTED). So a row is joined only where it is locked too, and what else the statement tells is used only where an
answer from before the wait does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, QuerySet, Subquery

from checkout_integration.conf import Project
from checkout_integration.flows.customers import Sighted, identity_of
from checkout_integration.flows.database import locked, state_database
from checkout_integration.flows.entry import Entry, verdict_of
from checkout_integration.flows.reversals import waiting_for
from checkout_integration.flows.rows import state_of
from checkout_integration.flows.tombstone import tombstones_of
from checkout_integration.models import Checkout, CheckoutUser, Order
from checkout_integration.policy.binding import bind, reference_of
from checkout_integration.policy.observation import Observation


@dataclass(frozen=True, kw_only=True)
class Held:
    """What a batch has locked, and what was told beside it.

    ``awaited``: reversals may have waited for these orders. ``sighted``: their customer, if it is one, and not erased.
    """

    checkouts: list[Checkout]
    orders: dict[str, Order]
    awaited: bool = True
    sighted: Sighted | None = None


def lock(project: Project, observations: Sequence[Observation], *, likely_bound: bool = False) -> Held:
    """Locks the sales and the orders that these observations may be about.

    ``likely_bound``: one order, probably known and bound, so that one statement may do. A wrong guess costs a statement.
    """
    if likely_bound and (held := _lock_together(project, observations)):
        return held
    checkouts = _lock_checkouts(project, observations)
    told: Any = checkouts[0] if checkouts else None
    # An order that was inserted while we waited is missed here; inserting it again repeats the whole transaction.
    orders = _lock_orders(project, observations) if told is None or told.knows_order else {}
    checkouts += _lock_bound(orders.values(), checkouts)
    return Held(checkouts=checkouts, orders=orders, **_told(told, observations))


def _lock_together(project: Project, observations: Sequence[Observation]) -> Held | None:
    """One order with its sale and its personal data, in the lock order, if it is known and bound."""
    known = _known(project, observations).annotate(**_asked(project, observations))
    bound = known.filter(checkout__project=project.alias).select_related("checkout")
    order: Any = locked(bound, "checkout", "self", "personal_data").first()
    if order is None:
        return None
    held = {order.order_id: order}
    return Held(checkouts=[order.checkout], orders=held, **_told(order, observations))


def _asked(project: Project, observations: Sequence[Observation]) -> dict[str, Exists | Subquery]:
    """What is asked beside a lock. The answers may be from before the wait for it.

    A reversal that came since then is read again by the next pass of the list; a customer who was erased since then is
    noticed when their row is inserted (`customers.find_users`).
    """
    identity = _identity(observations)
    users = CheckoutUser.objects.using(state_database()).filter(project=project.alias)
    return {
        "awaited": Exists(waiting_for(project, observations)),
        "tombstone": Exists(users.filter(identity__in=tombstones_of(identity))),
        "customer": Subquery(users.filter(identity=identity).values("pk")[:1]),
    }


def _told(answered: Any, observations: Sequence[Observation]) -> dict[str, Any]:
    """The answers, as `Held` takes them; none where no row was locked that could carry them."""
    if answered is None:
        return {}
    identity = _identity(observations)
    sighted = (
        Sighted(identity=identity, key=answered.customer) if identity and not answered.tombstone else None
    )
    return {"awaited": answered.awaited, "sighted": sighted}


def _identity(observations: Sequence[Observation]) -> str:
    """The customer that all of these tell of, "" where that is not one."""
    identities = {identity_of(each.order.user) for each in observations}
    return identities.pop() if len(identities) == 1 else ""


def _lock_checkouts(project: Project, observations: Sequence[Observation]) -> list[Checkout]:
    """The sales that these observations may be about, locked: by order id, by reference, and as bound before."""
    alias = state_database()
    mine = Checkout.objects.using(alias).filter(project=project.alias)
    ids = _ids(observations)
    references = {reference_of(each.order, project.reference_key) for each in observations} - {""}
    known = Order.objects.using(alias).filter(project=project.alias, order_id__in=ids)
    # A union of three indexed look-ups; an OR over them would read the whole table.
    candidates = (
        mine.filter(order_id__in=ids).values("pk"),
        mine.filter(reference__in=references).values("pk"),
        known.filter(checkout__isnull=False).values("checkout_id"),
    )
    wanted = candidates[0].union(*candidates[1:])
    found = Checkout.objects.using(alias).filter(pk__in=wanted)
    asked = _asked(project, observations)
    return list(locked(found.annotate(knows_order=Exists(known), **asked)).order_by("pk"))


def _lock_orders(project: Project, observations: Sequence[Observation]) -> dict[str, Order]:
    """The known ones of these orders, locked with their personal data."""
    rows = locked(_known(project, observations), "self", "personal_data").order_by("pk")
    return {row.order_id: row for row in rows}


def _lock_bound(orders: Iterable[Order], held: Sequence[Checkout]) -> list[Checkout]:
    """The sales that these locked orders were bound to while we waited for their locks, locked too.

    Against the lock order, since only the orders could tell: a deadlock ends in a repeated transaction.
    """
    bound = {order.checkout_id for order in orders if order.checkout_id is not None}
    missing = bound - {checkout.pk for checkout in held}
    if not missing:
        return []
    found = Checkout.objects.using(state_database()).filter(pk__in=missing)
    return list(locked(found).order_by("pk"))


def _known(project: Project, observations: Sequence[Observation]) -> QuerySet[Order]:
    """Those of these orders that have a row, joined with their personal data, which every order has."""
    known = Order.objects.using(state_database()).filter(
        project=project.alias, order_id__in=_ids(observations)
    )
    return known.filter(personal_data__isnull=False).select_related("personal_data")


def _ids(observations: Sequence[Observation]) -> list[str]:
    return sorted({each.order.id for each in observations if each.order.id})


def load_entries(
    project: Project,
    observations: Sequence[Observation],
    held: Held,
) -> list[Entry]:
    """One entry per order, sorted by its id, with its observations and the sale that it is bound to."""
    entries: dict[str, Entry] = {}
    for observation in sorted(observations, key=lambda each: each.order.id or ""):
        order_id = observation.order.id or ""
        if order_id not in entries:
            entries[order_id] = _entry(project, order_id, held.orders.get(order_id))
        entries[order_id].observations.append(observation)
    for entry in entries.values():
        entry.checkout = _checkout_of(project, entry, held.checkouts)
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
