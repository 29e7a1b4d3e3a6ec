"""Lock and load what a batch of steps touches.

Lock order, everywhere: notification → order → checkout → reversal without an order → user, rows sorted by primary key. The
order comes before the checkout since it says which one it is bound to. A row that is inserted is locked by that; an order is
inserted under its checkout's lock. Child rows are written only under their order's lock.

A statement that waited for its lock brings the locked rows up to date, but not what it joins (PostgreSQL, READ COMMITTED).
So a row is joined only where it is locked too; everything else is read by statements of its own, after the locks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from django.db import connections
from django.db.models import Q, QuerySet

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import locked, state_database
from checkout_integration.flows.ledger.batch import LockedRows
from checkout_integration.flows.ledger.hints import Hints
from checkout_integration.flows.ledger.steps import Advice
from checkout_integration.models import Checkout, Grant, Order
from checkout_integration.policy.binding import reference_of
from checkout_integration.policy.observation import Observation
from checkout_integration.protocol.vocabulary import OrderStatus


def lock(project: Project, observations: Sequence[Observation], hints: Hints, advice: Advice) -> LockedRows:
    """Lock the orders and checkouts that these observations may be about, and read what belongs to them."""
    ids = sorted({each.order.id or "" for each in observations})
    orders = {order.order_id: order for order in locked_orders(project, ids)}
    bound = {order.checkout_id for order in orders.values() if order.checkout_id is not None}
    keys = bound | hints.checkouts | set(advice.checkouts.values())
    checkouts = _locked_checkouts(project, keys)
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
    )


UNPAID: Final = (OrderStatus.CREATED, OrderStatus.PENDING)


class CheckoutName(NamedTuple):
    """What a checkout is found by."""

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


def locked_orders(project: Project, ids: Collection[str]) -> QuerySet[Order]:
    """Return the known ones of these orders, locked with their personal data, which every order has.

    An inner join where PostgreSQL is told whose rows to lock, which must not be missing; an outer join elsewhere, since
    MariaDB may begin an inner one with either table, and locks as it reads.
    """
    orders = named_orders(project, ids)
    if connections[orders.db].features.has_select_for_update_of:
        orders = orders.filter(personal_data__isnull=False)
    return locked(orders, "self", "personal_data").order_by("pk")


def named_orders(project: Project, ids: Collection[str]) -> QuerySet[Order]:
    """Return the known ones of these orders with their personal data. Nothing is locked."""
    orders = Order.objects.using(state_database()).filter(project=project.alias, order_id__in=ids)
    return orders.select_related("personal_data")


def _locked_checkouts(project: Project, keys: Collection[int]) -> list[Checkout]:
    if not keys:
        return []
    checkouts = Checkout.objects.using(state_database()).filter(project=project.alias, pk__in=sorted(keys))
    return list(locked(checkouts).order_by("pk"))


def _orders_of(checkouts: Sequence[Checkout], known: dict[str, Order]) -> list[Order]:
    """Return the other orders of these checkouts. Whoever writes one of them has locked its checkout, so they stay as read.

    Among them are orders of the batch that another transaction inserted while we waited for their checkout.
    """
    if not checkouts:
        return []
    orders = Order.objects.using(state_database()).filter(checkout__in=[each.pk for each in checkouts])
    return list(orders.exclude(pk__in=[order.pk for order in known.values()]))


def _inserted_meanwhile(project: Project, ids: Sequence[str]) -> dict[str, Order]:
    """Return those of these orders that nobody has locked, locked.

    Against the lock order, hence without waiting: who has locked one already may want our checkout. One that is missed for
    that is inserted again, and so the whole transaction is retried; but a page that meets many new orders must get through.
    """
    orders = named_orders(project, ids)
    if not connections[orders.db].features.has_select_for_update_skip_locked:
        return {}
    if connections[orders.db].features.has_select_for_update_of:
        orders = orders.filter(personal_data__isnull=False)
    free = locked(orders, "self", "personal_data", wait=False).order_by("pk")
    return {order.order_id: order for order in free}


def _grants_of(checkouts: Sequence[Checkout], orders: Iterable[Order]) -> list[Grant]:
    """Return all grants that were ever opened for these checkouts and orders, oldest first.

    There can be none while no money has come for any of them.
    """
    paid = [order for order in orders if order.status not in UNPAID]
    if not paid:
        return []
    keys = {each.pk for each in checkouts} & {order.checkout_id for order in paid}
    condition = Q(checkout__in=keys) | Q(order__in=[order.pk for order in paid])
    grants = Grant.objects.using(state_database()).filter(condition)
    return list(grants.order_by("pk"))
