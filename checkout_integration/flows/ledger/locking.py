"""The locking and loading of the rows that a batch of steps touches.

Lock order, everywhere: notification → order → checkout → reversal without an order → user, rows sorted by primary key. The
order comes before the checkout, since its row names the checkout. Inserting a row locks it; an order is inserted under its
checkout's lock. Child rows are written only under their order's lock.

A statement that waited for a lock reads the locked rows anew, but not the rows that it joins (PostgreSQL, READ COMMITTED).
So a row is joined only if it is locked too. All else is read by separate statements, after the locks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from django.db import connections
from django.db.models import QuerySet

from checkout_integration.conf import Project
from checkout_integration.flows.database import Command, Query, key_of, state_database
from checkout_integration.flows.ledger.rows import public_state_of, state_of
from checkout_integration.flows.ledger.steps import (
    Advice,
    LockedGrant,
    LockedOrder,
    OrderChange,
    Settlement,
    verdict_of,
)
from checkout_integration.models import Checkout, CheckoutUser, Grant, Order, Refund
from checkout_integration.policy.binding import bind, reference_of
from checkout_integration.policy.fulfilment import payment_of
from checkout_integration.policy.observation import Observation
from checkout_integration.policy.state import NOTHING
from checkout_integration.protocol import order as documents
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.vocabulary import OrderStatus

# One indexed look-up each: an OR over them would read the whole table.
MENTIONED: Final = Command(
    """SELECT 'checkout', id FROM {checkouts} WHERE project = {project} AND order_id IN {ids}
    UNION ALL
    SELECT 'checkout', id FROM {checkouts} WHERE project = {project} AND reference IN {references}
    UNION ALL
    SELECT 'reversal', id FROM {refunds} WHERE project = {project} AND [transaction] IN {transactions} AND order_id IS NULL
    UNION ALL
    SELECT 'reversal', id FROM {refunds} WHERE project = {project} AND [key] IN {documents} AND order_id IS NULL
    UNION ALL
    SELECT 'order', id FROM {orders} WHERE project = {project} AND order_id IN {ids}
    UNION ALL
    SELECT 'customer', id FROM {customers} WHERE project = {project} AND identity IN {identities}
    """,
    checkouts=Checkout,
    refunds=Refund,
    orders=Order,
    customers=CheckoutUser,
)


@dataclass(frozen=True, kw_only=True)
class Hints:
    """What observations name, read before the locks, so it may be outdated.

    A checkout is committed before its order is made, so it is not missed. A reversal that was stored meanwhile is read again
    by the next pass of the list. An order or a customer that was inserted meanwhile is met at its unique key.

    Attributes:
        checkouts: the keys of checkouts, by order id or reference.
        reversals_wait: whether reversals wait for one of the orders.
        knows_orders: whether one of the orders is stored.
        strangers: identities of customers without a row or a tombstone.

    """

    checkouts: frozenset[int] = frozenset()
    reversals_wait: bool = False
    knows_orders: bool = False
    strangers: frozenset[str] = frozenset()


def look_up(
    project: Project, observations: Sequence[Observation], customers: Mapping[str, Collection[str]]
) -> Hints:
    """Return what is stored about these observations.

    ``customers``: the identities of their customers, each with its tombstones.
    """
    if not observations:
        return Hints()
    names = [name for identity, tombstones in customers.items() for name in (identity, *tombstones)]
    rows = _mentioned(project, [observation.order for observation in observations], names)
    waiting = [key for kind, key in rows if kind == "reversal"]
    if waiting:
        # One of them may be the order itself, and only its row names the checkout.
        refunds = Refund.objects.using(state_database()).filter(pk__in=waiting)
        rows += _mentioned(project, [parse_order(each.document) for each in refunds.only("document")])
    kinds = {kind for kind, _ in rows}
    return Hints(
        checkouts=frozenset(key for kind, key in rows if kind == "checkout"),
        reversals_wait=bool(waiting),
        knows_orders="order" in kinds,
        strangers=frozenset() if "customer" in kinds else frozenset(customers),
    )


def _mentioned(
    project: Project, orders: Sequence[documents.Order], identities: Collection[str] = ()
) -> list[tuple[str, int]]:
    ids = _texts(order.id for order in orders)
    return MENTIONED.fetch(
        project=project.alias,
        ids=ids,
        references=_texts(reference_of(order, project.reference_key) for order in orders),
        transactions=_texts(order.transaction for order in orders),
        documents=[key_of("document", project.alias, each) for each in ids],
        identities=identities,
    )


def _texts(texts: Iterable[str | None]) -> list[str]:
    return sorted({text for text in texts if text})


class LockedRows:
    """The locked orders and checkouts of a batch, and the rows that belong to them.

    Rows are looked up by keys, never searched one by one: a batch may have hundreds.
    """

    def __init__(
        self,
        *,
        project: Project,
        checkouts: Iterable[Checkout],
        orders: dict[str, Order],
        siblings: Iterable[Order] = (),
        grants: Iterable[Grant] = (),
        strangers: Collection[str] = (),
    ) -> None:
        self.project, self.strangers = project, strangers
        self.checkouts = {checkout.pk: checkout for checkout in checkouts}
        self.unused = {checkout.pk for checkout in self.checkouts.values() if not checkout.order_id}
        self._by_order_id = {each.order_id: each for each in self.checkouts.values() if each.order_id}
        self._by_reference = {each.reference: each for each in self.checkouts.values()}
        self.orders = {order_id: self._locked_order(row) for order_id, row in orders.items()}
        self._settlements: dict[object, Settlement] = {}
        self._siblings: dict[int | None, list[Order]] = {}
        for row in siblings:
            self._siblings.setdefault(row.checkout_id, []).append(row)
        self._bound: dict[int, list[LockedOrder]] = {}
        for order in self.orders.values():
            if order.checkout is not None:
                self._bound.setdefault(order.checkout.pk, []).append(order)
        self.grants: list[LockedGrant] = []
        self._grants_by_payer: dict[str, list[LockedGrant]] = {}
        for grant in self._locked_grants(grants):
            self._add_grant(grant)

    def _locked_order(self, row: Order) -> LockedOrder:
        state, checkout = state_of(row), self.checkouts.get(row.checkout_id) if row.checkout_id else None
        return LockedOrder(
            row=row, is_new=False, stored=state, state=state, verdict=verdict_of(row), checkout=checkout
        )

    def _locked_grants(self, grants: Iterable[Grant]) -> Iterable[LockedGrant]:
        rows = {order.row.pk: order.row for order in self.orders.values()}
        rows |= {row.pk: row for siblings in self._siblings.values() for row in siblings}
        return (LockedGrant(row=row, payer=rows[row.order_id]) for row in grants if row.order_id in rows)

    def _add_grant(self, grant: LockedGrant) -> None:
        self.grants.append(grant)
        self._grants_by_payer.setdefault(grant.payer.order_id, []).append(grant)

    def order(self, order_id: str) -> LockedOrder:
        """Return the order with this id; a new one if it is unknown."""
        if order_id not in self.orders:
            row = Order.new(project=self.project.alias, order_id=order_id)
            self.orders[order_id] = LockedOrder(row=row, is_new=True, stored=NOTHING, state=NOTHING)
        return self.orders[order_id]

    def checkout_named_by(self, observations: Iterable[Observation]) -> Checkout | None:
        """Return the checkout that observations of an unbound order name: by the order's id, or by our reference."""
        key = self.project.reference_key
        for order in (observation.order for observation in observations):
            reference = (order.metadata or {}).get(key, "")
            found = (self._by_order_id.get(order.id or ""), self._by_reference.get(reference))
            candidates = {each.pk: each for each in found if each is not None}
            bound = bind(order, self.project.alias, key, [each.value for each in candidates.values()])
            if bound is not None and bound.primary_key is not None:
                return candidates[bound.primary_key]
        return None

    def settlement_of(self, change: OrderChange) -> Settlement:
        """Return the settlement of the change's checkout, or of its order if it has none, with all orders and grants."""
        key = change.checkout.pk if change.checkout else change.order_id
        if key not in self._settlements:
            self._settlements[key] = self._new_settlement(change)
        settlement = self._settlements[key]
        if change.order_id not in settlement.orders:
            self._add_order(settlement, change.row)
        return settlement

    def _add_order(self, settlement: Settlement, row: Order) -> None:
        settlement.orders[row.order_id] = row
        settlement.grants += self._grants_by_payer.get(row.order_id, [])

    def _new_settlement(self, change: OrderChange) -> Settlement:
        checkout = change.checkout
        if checkout is None:
            return Settlement(checkout=None)
        settlement = Settlement(checkout=checkout, before=(str(checkout.status), checkout.paid_order_id))
        for row in self._siblings.get(checkout.pk, []):
            self._add_order(settlement, row)
            payment = payment_of(row.order_id, public_state_of(row), verdict_of(row))
            settlement.payments[row.order_id] = payment
        for order in self._bound.get(checkout.pk, []):
            self._add_order(settlement, order.row)
            payment = payment_of(order.order_id, order.state, order.verdict)
            settlement.payments[order.order_id] = payment
        settlement.grants.sort(key=lambda grant: (grant.is_new, grant.row.pk or 0))
        return settlement

    def open_grant(self, settlement: Settlement, grant: LockedGrant) -> None:
        """Add a grant that a step has opened."""
        settlement.grants.append(grant)
        self._add_grant(grant)

    @property
    def settlements(self) -> list[Settlement]:
        """The settlement of each checkout that the batch touched, and of each order without a checkout."""
        return list(self._settlements.values())

    def end(self) -> None:
        """Drop the changes of each order, which refer to it: only the garbage collector could free such a cycle."""
        for order in self.orders.values():
            order.changes.clear()


def lock(project: Project, observations: Sequence[Observation], hints: Hints, advice: Advice) -> LockedRows:
    """Lock the orders and checkouts that these observations may be about, and read the rows that belong to them."""
    ids = sorted({each.order.id or "" for each in observations})
    known = ORDERS.rows(project=project.alias, ids=ids) if hints.knows_orders else []
    orders = {order.order_id: order for order in known}
    bound = {order.checkout_id for order in orders.values() if order.checkout_id is not None}
    keys = bound | hints.checkouts | set(advice.checkouts.values())
    checkouts = CHECKOUTS.rows(project=project.alias, keys=sorted(keys)) if keys else []
    siblings = _orders_of(checkouts, orders)
    missed = [order.order_id for order in siblings if order.order_id in set(ids)]
    if missed:
        orders |= _inserted_meanwhile(project, missed)
        siblings = [order for order in siblings if order.order_id not in missed]
    return LockedRows(
        project=project,
        checkouts=checkouts,
        orders=orders,
        siblings=siblings,
        grants=_grants_of(checkouts, [*orders.values(), *siblings]),
        strangers=hints.strangers,
    )


UNPAID: Final = (OrderStatus.CREATED, OrderStatus.PENDING)
NAMED: Final = "own.project = {project} AND own.order_id IN {ids} ORDER BY own.id"
ORDERS: Final = Query(Order, NAMED, joined=["personal_data"], lock=["own", "personal_data"])
"""Orders with their personal data, which every order has."""
FREE_ORDERS: Final = Query(Order, NAMED, joined=["personal_data"], lock=["own", "personal_data"], waits=False)
CHECKOUTS: Final = Query(
    Checkout, "own.project = {project} AND own.id IN {keys} ORDER BY own.id", lock=["own"]
)
SIBLINGS: Final = Query(Order, "own.checkout_id IN {checkouts} AND own.id NOT IN {known}")
GRANTS: Final = Query(Grant, "own.checkout_id IN {checkouts} OR own.order_id IN {orders} ORDER BY own.id")


class CheckoutName(NamedTuple):
    """The primary key of a checkout, with the order id and the reference by which it is found."""

    pk: int
    order_id: str
    reference: str


def find_checkouts(project: Project, observations: Sequence[Observation]) -> list[CheckoutName]:
    """Return the checkouts that these observations name, by order id or by reference. Nothing is locked."""
    ids = sorted({each.order.id or "" for each in observations})
    references = {reference_of(each.order, project.reference_key) for each in observations} - {""}
    own = Checkout.objects.using(state_database()).filter(project=project.alias)
    found = own.filter(order_id__in=ids).values_list(*CheckoutName._fields)
    if references:
        # A union of indexed look-ups; an OR over them would read the whole table.
        found = found.union(own.filter(reference__in=sorted(references)).values_list(*CheckoutName._fields))
    return [CheckoutName(*row) for row in found]


def named_orders(project: Project, ids: Collection[str]) -> QuerySet[Order]:
    """Return those of these orders that are known, with their personal data. Nothing is locked."""
    orders = Order.objects.using(state_database()).filter(project=project.alias, order_id__in=ids)
    return orders.select_related("personal_data")


def _orders_of(checkouts: Sequence[Checkout], known: dict[str, Order]) -> list[Order]:
    """Return the other orders of these checkouts. Their writers lock the checkout first, so they stay as they were read.

    Among them are orders of the batch that another transaction inserted while we waited for their checkout. A checkout gets
    the id of the first order that is bound to it; without one it has no orders.
    """
    keys = [each.pk for each in checkouts if each.order_id]
    if not keys:
        return []
    no_row = 0
    return SIBLINGS.rows(checkouts=keys, known=[order.pk for order in known.values()] or [no_row])


def _inserted_meanwhile(project: Project, ids: Sequence[str]) -> dict[str, Order]:
    """Lock and return those of these orders that no other transaction has locked.

    Against the lock order, so without waiting: a transaction that has locked one may be waiting for our checkout. An order
    that is left out for this is inserted again, so the whole transaction is retried; but a page that meets many new orders
    must succeed in the end.
    """
    if not connections[state_database()].features.has_select_for_update_skip_locked:
        return {}
    return {order.order_id: order for order in FREE_ORDERS.rows(project=project.alias, ids=ids)}


def _grants_of(checkouts: Sequence[Checkout], orders: Iterable[Order]) -> list[Grant]:
    """Return all grants that were ever opened for these checkouts and orders, oldest first.

    Without a payment for any of them there can be none, and nothing is read.
    """
    paid = [order for order in orders if order.status not in UNPAID]
    if not paid:
        return []
    keys = {each.pk for each in checkouts} & {order.checkout_id for order in paid}
    return GRANTS.rows(checkouts=keys, orders=[order.pk for order in paid])
