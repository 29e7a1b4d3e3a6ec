"""Locking and loading what a batch of observations touches.

Lock order, everywhere: notification → order → checkout → reversal without an order → user, rows sorted by primary key (A.11).
The order comes before the checkout since it tells which one it is bound to, and since MariaDB, which locks all tables of a
join, reads the named order before what hangs on it. A row that is inserted is locked by that; an order is inserted under its
checkout's lock. Child rows are written only under their order's lock.

A statement that waited for its lock brings the locked rows up to date, but not what it joins or asks beside them (PostgreSQL,
READ COMMITTED). So a row is joined only where it is locked too, and what else the statement tells is used only where an
answer from before the wait does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db import connections
from django.db.models import Exists, QuerySet, Subquery
from django.db.models.expressions import RawSQL

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import locked, state_database
from checkout_integration.flows.database.statement import ask
from checkout_integration.flows.ledger.customers import Sighted, identity_of
from checkout_integration.flows.ledger.entry import Entry, verdict_of
from checkout_integration.flows.ledger.reversals import waiting_for
from checkout_integration.flows.ledger.rows import state_of
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
    batch = _named(project, observations)
    one_sale = len(batch.ids) == 1 and bool(batch.references)
    if likely_bound:
        return _lock_together(batch) or (one_sale and _lock_for_new(batch)) or _lock_all(batch)
    return (one_sale and (_lock_for_new(batch) or _lock_together(batch))) or _lock_all(batch)


@dataclass(frozen=True, kw_only=True)
class _Named:
    """What a batch names: the values of the statements here."""

    project: str
    ids: list[str]
    references: list[str]
    transactions: list[str]
    identity: str
    tombstones: list[str]


def _named(project: Project, observations: Sequence[Observation]) -> _Named:
    identity = _identity(observations)
    told = [each.order for each in observations]
    return _Named(
        project=project.alias,
        ids=_once(order.id for order in told),
        references=_once(reference_of(order, project.reference_key) for order in told),
        transactions=_once(order.transaction for order in told),
        identity=identity,
        tombstones=tombstones_of(identity),
    )


def _once(words: Iterable[str | None]) -> list[str]:
    return sorted({word for word in words if word})


def _lock_together(batch: _Named) -> Held | None:
    """One order with its sale and its personal data, if it is known and bound."""
    rows: list[Any] = ask(_orders_with_checkouts, **asdict(batch))
    if not rows:
        return None
    (order,) = rows
    held = {order.order_id: order}
    return Held(checkouts=[order.checkout], orders=held, **_told(order, batch.identity))


def _lock_for_new(batch: _Named) -> Held | None:
    """The sale of one order that is not known, if there is such a sale.

    An order that was inserted while we waited is missed here; inserting it again repeats the whole transaction.
    """
    checkouts = ask(_checkouts_of_unknown, **asdict(batch))
    return Held(checkouts=checkouts, orders={}, **_told(checkouts[0], batch.identity)) if checkouts else None


def _lock_all(batch: _Named) -> Held:
    """Orders, and then sales; those that the orders were bound to while we waited for their locks, too."""
    orders = {order.order_id: order for order in ask(_orders, project=batch.project, ids=batch.ids)}
    bound = sorted({order.checkout_id for order in orders.values() if order.checkout_id is not None})
    checkouts = ask(_checkouts, **asdict(batch), bound=bound)
    missing = [order_id for order_id in batch.ids if order_id not in orders]
    if checkouts and missing:
        orders |= _inserted_meanwhile(batch.project, missing, checkouts)
    told = checkouts[0] if checkouts else None
    return Held(checkouts=checkouts, orders=orders, **_told(told, batch.identity))


def _inserted_meanwhile(project: str, ids: list[str], held: Sequence[Checkout]) -> dict[str, Order]:
    """Those of these orders that were inserted while we waited for their sales.

    Against the lock order, hence without waiting: who has locked one already may want our sale. One that is missed for that
    is inserted again, and so the whole transaction repeated; but a page that meets many new orders must get through.
    """
    sales = {checkout.pk for checkout in held}
    found = ask(_free_orders, project=project, ids=ids)
    return {order.order_id: order for order in found if order.checkout_id in sales}


def _told(answered: Any, identity: str) -> dict[str, Any]:
    """The answers, as `Held` takes them; none where no row was locked that could carry them."""
    if answered is None:
        return {}
    sighted = (
        Sighted(identity=identity, key=answered.customer) if identity and not answered.tombstone else None
    )
    return {"awaited": answered.awaited, "sighted": sighted}


def _identity(observations: Sequence[Observation]) -> str:
    """The customer that all of these tell of, "" where that is not one."""
    identities = {identity_of(each.order.user) for each in observations}
    return identities.pop() if len(identities) == 1 else ""


def _checkouts_of_unknown(**named: Any) -> QuerySet[Checkout]:
    """The sales that a batch may be about, locked; none where one of its orders is known, whose lock comes first."""
    batch = _Named(**named)
    return _checkouts(bound=[], **named).exclude(Exists(_named_orders(batch.project, batch.ids)))


def _checkouts(*, bound: list[int], **named: Any) -> QuerySet[Checkout]:
    """The sales that a batch may be about, locked: by order id, by reference, and as ``bound`` before."""
    alias, batch = state_database(), _Named(**named)
    if not (batch.ids or batch.references or bound):
        return Checkout.objects.none()
    mine = Checkout.objects.using(alias).filter(project=batch.project)
    # A union of indexed look-ups; an OR over them would read the whole table.
    wanted = (
        mine.filter(order_id__in=batch.ids)
        .values("pk")
        .union(
            mine.filter(reference__in=batch.references).values("pk"),
            Checkout.objects.using(alias).filter(pk__in=bound).values("pk"),
        )
    )
    found = Checkout.objects.using(alias).filter(pk__in=_as_table(wanted))
    return locked(found.annotate(**_asked(batch))).order_by("pk")


def _as_table(keys: QuerySet[Any, Any]) -> RawSQL:
    """The keys of a union, read once. MariaDB asks it for each row of the table otherwise, and waits for each one's lock."""
    sql, params = keys.query.get_compiler(using=keys.db).as_sql()
    return RawSQL(f"SELECT wanted.* FROM ({sql}) wanted", params)  # noqa: S608, S611  # of Django's own making


def _orders(*, project: str, ids: list[str]) -> QuerySet[Order]:
    """The known ones of these orders, locked with their personal data."""
    return locked(_with_personal_data(project, ids), "self", "personal_data").order_by("pk")


def _free_orders(*, project: str, ids: list[str]) -> QuerySet[Order]:
    """The known ones of these orders that nobody has locked, locked with their personal data."""
    orders = _with_personal_data(project, ids)
    if not connections[orders.db].features.has_select_for_update_skip_locked:
        return orders.none()
    return locked(orders, "self", "personal_data", wait=False).order_by("pk")


def _orders_with_checkouts(**named: Any) -> QuerySet[Order]:
    """The bound ones of these orders, locked in the lock order with their personal data and their sales."""
    batch = _Named(**named)
    known = _with_personal_data(batch.project, batch.ids).annotate(**_asked(batch))
    bound = known.filter(checkout__project=batch.project).select_related("checkout")
    return locked(bound, "self", "personal_data", "checkout").order_by("pk")


def _with_personal_data(project: str, ids: list[str]) -> QuerySet[Order]:
    """Those of these orders that have a row, joined with their personal data, which every order has.

    An inner join where PostgreSQL is told whose rows to lock, which must not be missing; an outer join elsewhere, since
    MariaDB may begin an inner one with either table, and locks as it reads.
    """
    known = _named_orders(project, ids).select_related("personal_data")
    told_whose = connections[known.db].features.has_select_for_update_of
    return known.filter(personal_data__isnull=False) if told_whose else known


def _named_orders(project: str, ids: list[str]) -> QuerySet[Order]:
    return Order.objects.using(state_database()).filter(project=project, order_id__in=ids)


def _asked(batch: _Named) -> dict[str, Exists | Subquery]:
    """What is asked beside a lock. The answers may be from before the wait for it.

    A reversal that came since then is read again by the next pass of the list; a customer who was erased since then is
    noticed when their row is inserted (`customers.find_users`).
    """
    users = CheckoutUser.objects.using(state_database()).filter(project=batch.project)
    return {
        "awaited": Exists(waiting_for(batch.project, batch.ids, batch.transactions)),
        "tombstone": Exists(users.filter(identity__in=batch.tombstones)),
        "customer": Subquery(users.filter(identity=batch.identity).values("pk")[:1]),
    }


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
