"""The batch that the ledger works on: steps and their outcomes, and the rows that they touch, locked and loaded.

Lock order, everywhere: notification → order → checkout → reversal without an order → user, rows sorted by primary key. The
order comes before the checkout, since its row names the checkout. Inserting a row locks it; an order is inserted under its
checkout's lock. Child rows are written only under their order's lock.

A statement that waited for a lock reads the locked rows anew, but not the rows that it joins (PostgreSQL, READ COMMITTED).
So a row is joined only if it is locked too. All else is read by separate statements, after the locks.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Final

from django.db import IntegrityError, connections
from django.db.models import QuerySet

from checkout_integration.conf import Project
from checkout_integration.flows.database import Command, Query, installed_at, key_of, state_database
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Grant,
    ListedRow,
    Notification,
    Order,
    Refund,
    SyncRun,
)
from checkout_integration.models.actor import Actor
from checkout_integration.models.order import public_state_of, state_of
from checkout_integration.policy.binding import bind, reference_of
from checkout_integration.policy.erasure import is_erased, is_order_erased
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.policy.state import NOTHING, OrderState
from checkout_integration.policy.verdict import PENDING, SAME_QUESTION, Verdict, VerdictStatus
from checkout_integration.protocol import order as documents
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.vocabulary import OrderStatus


@dataclass(frozen=True, kw_only=True)
class Cause:
    """The cause of a change of state: stored with each transition. ``act``: what staff did (`Transition.Act`)."""

    source: Source
    notification: Notification | None = None
    sync_run: SyncRun | None = None
    staff: Actor | None = None
    act: str = ""
    reason: str = ""

    @property
    def word(self) -> str:
        """The argument ``source`` of the signals."""
        return "sync" if self.source is Source.LIST else self.source.value


@dataclass(frozen=True)
class PendingSignal:
    """A signal to be sent; ``idempotency_parts`` make its idempotency key.

    ``grant`` is the grant that it opens or closes; ``order`` is set where it is not the order of the change.
    """

    name: str
    idempotency_parts: tuple[str, ...]
    arguments: dict[str, Any] = field(default_factory=dict)
    grant: Grant | None = None
    order: Order | None = None


@dataclass(kw_only=True)
class LockedOrder:
    """An order of the batch: ``row`` is locked, itself or by its checkout, or not in the database yet when ``is_new``.

    ``state``, ``verdict`` and ``checkout`` are those after the steps so far; ``stored`` is the state in the database.
    ``changes`` are those steps. ``waiting`` are reversals that waited for this order, each with its row.
    """

    row: Order
    is_new: bool
    stored: OrderState
    state: OrderState
    verdict: Verdict = PENDING
    checkout: Checkout | None = None
    user: CheckoutUser | None = None
    changes: list[OrderChange] = field(default_factory=list)
    waiting: list[tuple[Refund, Observation]] = field(default_factory=list)

    @property
    def order_id(self) -> str:
        """The service's id of the order."""
        return self.row.order_id

    @property
    def changed(self) -> bool:
        """Whether the order's row is to be written."""
        return any(change.changed for change in self.changes)

    @property
    def reversals(self) -> list[Observation]:
        """Observations of this order from reversal documents with ids of their own."""
        return [each for change in self.changes for each in change.observations if each.reversal is not None]

    @property
    def refund_receipts(self) -> dict[str, str]:
        """The addresses of the receipts in those documents, by their ids (RFD-06)."""
        documents = [each.reversal for each in self.reversals if each.reversal and each.reversal.refund]
        receipts = {each.id or "": each.refund.receipt_url for each in documents if each.refund}
        return {name: address for name, address in receipts.items() if address}

    @property
    def orders_themselves(self) -> list[Refund]:
        """Rows that waited as reversals and turned out to be this very order."""
        absorbed = [each for change in self.changes for each in change.absorbed]
        return [refund for refund, observation in absorbed if observation.reversal is None]

    @property
    def erased(self) -> bool:
        """Whether no personal data may be stored: of this order, of this customer, or of the checkout's customer."""
        personal_data = None if self.is_new else self.row.personal_data
        known = self.row.user_id is not None
        return is_order_erased(personal_data, self.user, self.checkout, has_customer=known)

    @property
    def turns_out_erased(self) -> bool:
        """Whether this batch is the first to show that the customer was erased."""
        return self.erased and (self.is_new or not is_erased(self.row.personal_data))

    def take(self, change: OrderChange) -> None:
        """Make a finished step a part of the order."""
        self.state, self.verdict, self.checkout = change.after, change.verdict, change.checkout
        self.changes.append(change)
        self.waiting = [each for each in self.waiting if each not in change.absorbed]


@dataclass(kw_only=True)
class OrderChange:
    """The changes of one order by one step. Filled from top to bottom: moved, bound, judged, followed.

    It begins with nothing changed; the order itself changes only in `LockedOrder.take`.

    ``silent``: the order is from before the installation, so nothing is sent for it. ``ended`` are kinds of incidents whose
    cause is over, each with its order.
    """

    order: LockedOrder
    cause: Cause
    observations: list[Observation] = field(default_factory=list)
    absorbed: list[tuple[Refund, Observation]] = field(default_factory=list)
    silent: bool = False
    signals: list[PendingSignal] = field(default_factory=list)
    incidents: list[str] = field(default_factory=list)
    reviews: list[tuple[str, Order]] = field(default_factory=list)
    ended: list[tuple[str, Order]] = field(default_factory=list)

    def __post_init__(self) -> None:
        order = self.order
        self.is_new = order.is_new and not order.changes
        self.before = self.after = order.state
        self.verdict_before = self.verdict = order.verdict
        self.checkout_before = self.checkout = order.checkout

    @property
    def row(self) -> Order:
        """The order's row."""
        return self.order.row

    @property
    def order_id(self) -> str:
        """The service's id of the order."""
        return self.row.order_id

    @property
    def moved(self) -> bool:
        """Whether the displayed status has changed."""
        return self.is_new or self.before.status != self.after.status

    @property
    def changed(self) -> bool:
        """Whether the order's row is to be written."""
        moved = self.before != self.after or self.verdict != self.verdict_before
        return self.is_new or moved or self.newly_bound

    @property
    def newly_bound(self) -> bool:
        """Whether the order was bound to its checkout in this step."""
        return self.checkout is not None and self.checkout is not self.checkout_before

    @property
    def was_silent(self) -> bool:
        """Whether nothing was sent for the order until now, since only the list showed it, and staff have not decided."""
        return self.verdict_before.status is VerdictStatus.HISTORIC and self.cause.source is not Source.STAFF

    @property
    def to_write(self) -> bool:
        """Whether anything about this order is to be written."""
        return self.changed or bool(self.incidents or self.signals)

    def ask_for_review(self, reason: str, order: Order | None = None) -> None:
        """Add ``payment_review`` and its incident, once per order and reason; ``order`` if it is not that of the change."""
        about = order or self.row
        once = ("review", about.order_id, SAME_QUESTION.get(reason, reason))
        # Plain text: a receiver may get the arguments before they were stored.
        self.signals.append(PendingSignal("payment_review", once, {"reason": str(reason)}, order=order))
        self.reviews.append((reason, about))


@dataclass(kw_only=True)
class Settlement:
    """The effects of the batch on one checkout, or on one order without a checkout.

    Attributes:
        checkout: its row, None for an order without one.
        orders: all its orders, by the service's id, as they are after the steps so far.
        grants: all grants that were ever opened for it, oldest first.
        before: the checkout's status, the key of its payer, and until when it is owned, in the database.
        after: status, payer and that time now; None if no payment has changed.
        changes: the changes of its orders in this batch.

    """

    checkout: Checkout | None
    orders: dict[str, LockedOrder] = field(default_factory=dict)
    grants: list[Grant] = field(default_factory=list)
    before: tuple[str, int | None, datetime | None] = ("", None, None)
    after: tuple[str, Order | None, datetime | None] | None = None
    changes: list[OrderChange] = field(default_factory=list)


logger = logging.getLogger("checkout_integration.ledger")


def log_change(change: OrderChange) -> None:
    """Log what became of an order and which signals are sent for it, after the commit."""
    ids = {
        "project": change.row.project,
        "order_id": change.order_id,
        "signals": [signal.name for signal in change.signals],
        "source": change.cause.word,
    }
    status, verdict = change.after.status, change.verdict.status
    # %r: the id is the service's text, and a line end in it would forge a line of the log.
    logger.info("Order %r is %s, verdict %s.", change.order_id, status, verdict, extra=ids)


def verdict_of(row: Order) -> Verdict:
    """Return the verdict in a row."""
    return Verdict(VerdictStatus(row.verdict), row.verdict_reason)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One observation from one cause: a notification, or a row of a page of the list.

    Consecutive steps with the same cause, such as the rows of a page, are taken together: their checkout is settled once. Any
    other step is taken by itself, after those before it.
    """

    observation: Observation
    cause: Cause

    @property
    def order_id(self) -> str:
        """The id of the order that it is about; of a reversal document before `reversals.assign` its own id."""
        return self.observation.order.id or ""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a step.

    Attributes:
        change: the change of the order; None for a reversal of an unknown order, and where our rules failed.
        erased: no personal data of it may be stored.
        error: the failure of our rules or the shop's hook; then nothing of the step was written.

    """

    change: OrderChange | None = None
    erased: bool = False
    error: Exception | None = None


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Results of the shop's hooks, called before anything was locked.

    Attributes:
        checkouts: keys of checkouts that `Hooks.resolve_checkout` named, by the order's id.
        accounts: keys of accounts that `Hooks.find_user` named, by the customer's identity.
        errors: of orders for which `Hooks.resolve_checkout` failed.

    """

    checkouts: Mapping[str, Any] = field(default_factory=dict)
    accounts: Mapping[str, Any] = field(default_factory=dict)
    errors: Mapping[str, Exception] = field(default_factory=dict)


NO_ADVICE = Advice()


CUSTOMERS: Final = ("customer", "unnamed", "blocked")
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
    SELECT CASE WHEN blocked_at IS NOT NULL THEN 'blocked' WHEN user_id = '' AND erased_at IS NULL THEN 'unnamed'
        ELSE 'customer' END, id FROM {customers} WHERE project = {project} AND identity IN {identities}
    UNION ALL
    SELECT 'blocked', id FROM {customers} WHERE project = {project} AND user_id IN {user_ids} AND blocked_at IS NOT NULL
    UNION ALL
    SELECT 'deleted', 0 FROM {listed} WHERE [key] IN {deleted} AND row_hash = 'deleted'
    """,
    checkouts=Checkout,
    refunds=Refund,
    orders=Order,
    customers=CheckoutUser,
    listed=ListedRow,
)


@dataclass(frozen=True, kw_only=True)
class Hints:
    """What orders name, read before the locks, so it may be outdated.

    A checkout is committed before its order is made, so it is not missed. A reversal that was stored meanwhile is read again
    by the next pass of the list. An order or a customer that was inserted meanwhile is met at its unique key.

    Attributes:
        checkouts: the keys of checkouts, by order id or reference.
        reversals_wait: whether reversals wait for one of the orders.
        known_orders: how many of the orders are stored.
        strangers: identities of customers without a row or a tombstone.
        unnamed: whether a customer has a row without the service's id.
        blocked: the identities of blocked customers, at the shop and at the service.
        deleted: keys of orders and transactions of deleted test data (`deleted_keys`).

    """

    checkouts: frozenset[int] = frozenset()
    reversals_wait: bool = False
    known_orders: int = 0
    strangers: frozenset[str] = frozenset()
    unnamed: bool = False
    blocked: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()


def deleted_keys(project: Project, order: documents.Order) -> list[str]:
    """Return the keys under which deleted test data is remembered: of the order, and of its transaction."""
    keys = [key_of(project.alias, order.id)] if order.id else []
    return [*keys, key_of(project.alias, "transaction", order.transaction)] if order.transaction else keys


def look_up(
    project: Project,
    orders: Sequence[documents.Order],
    customers: Mapping[str, Collection[str]],
    others: Sequence[documents.Order] = (),
) -> Hints:
    """Return what is stored about these documents of orders.

    ``customers``: the identities of their customers, each with all names of its customer; without any, nobody is looked for.
    ``others``: documents that may be about deleted test data, and about nothing else here.
    """
    if not (orders or others):
        return Hints()
    deleted = sorted({key for order in (*orders, *others) for key in deleted_keys(project, order)})
    names = sorted({name for own in customers.values() for name in own})
    rows = _mentioned(project, orders, names, deleted)
    known_orders = sum(kind == "order" for kind, _ in rows)
    waiting = [key for kind, key in rows if kind == "reversal"]
    if waiting:
        # One of them may be the order itself, and only its row names the checkout.
        refunds = Refund.primary.filter(pk__in=waiting)
        rows += _mentioned(project, [parse_order(each.document) for each in refunds.only("document")])
    kinds = {kind for kind, _ in rows}
    return Hints(
        checkouts=frozenset(key for kind, key in rows if kind == "checkout"),
        reversals_wait=bool(waiting),
        known_orders=known_orders,
        strangers=frozenset(customers) if kinds.isdisjoint(CUSTOMERS) else frozenset(),
        unnamed=not kinds.isdisjoint(("unnamed", "blocked")),
        blocked=_blocked([key for kind, key in rows if kind == "blocked"]),
        deleted=_deleted(deleted) if "deleted" in kinds else frozenset(),
    )


def _deleted(keys: Collection[str]) -> frozenset[str]:
    rows = ListedRow.primary.filter(key__in=keys, row_hash=ListedRow.DELETED)
    return frozenset(rows.values_list("key", flat=True))


def _blocked(keys: Collection[int]) -> frozenset[str]:
    """Return the identities of blocked customers: of their rows, and of their ids at the service."""
    if not keys:
        return frozenset()
    names = CheckoutUser.primary.filter(pk__in=keys).values_list("identity", "user_id")
    of_service = {key_of("user", user_id) for _, user_id in names if user_id}
    return frozenset({identity for identity, _ in names} | of_service)


def _mentioned(
    project: Project,
    orders: Sequence[documents.Order],
    identities: Collection[str] = (),
    deleted: Collection[str] = (),
) -> list[tuple[str, int]]:
    ids = _texts(order.id for order in orders)
    return MENTIONED.fetch(
        project=project.alias,
        ids=ids,
        references=_texts(reference_of(order, project.reference_key) for order in orders),
        transactions=_texts(order.transaction for order in orders),
        documents=[key_of("document", project.alias, each) for each in ids],
        identities=identities,
        user_ids=_texts(order.user.id for order in orders if order.user) if identities else [],
        deleted=deleted,
    )


def _texts(texts: Iterable[str | None]) -> list[str]:
    return sorted({text for text in texts if text})


class Batch:
    """Steps in progress with their outcomes, and the locked orders and checkouts that they touch. Nothing is written yet.

    Rows are looked up by keys, never searched one by one: there may be hundreds.

    Attributes:
        changes: what became of orders so far, step by step.
        results: of each step its change, the failure of our rules, or None for a reversal of an unknown order.
        unmatched: those reversals.
        skipped: positions of steps about deleted test data.

    """

    def __init__(
        self,
        *,
        project: Project,
        checkouts: Iterable[Checkout],
        orders: Iterable[Order],
        siblings: Iterable[Order] = (),
        grants: Iterable[Grant] = (),
        hints: Hints,
        advice: Advice,
    ) -> None:
        self.project, self.hints, self.advice = project, hints, advice
        self.changes = list[OrderChange]()
        self.results = list[OrderChange | Exception | None]()
        self.unmatched = list[Observation]()
        self.skipped = set[int]()
        self.checkouts = {checkout.pk: checkout for checkout in checkouts}
        self._by_order_id = {each.order_id: each for each in self.checkouts.values() if each.order_id}
        self._by_reference = {each.reference: each for each in self.checkouts.values()}
        self._orders = {row.order_id: self._locked_order(row, state_of(row)) for row in orders}
        known = [self._locked_order(row, public_state_of(row)) for row in siblings]
        known += self._orders.values()
        self._of_checkout: dict[int, list[LockedOrder]] = defaultdict(list)
        for order in known:
            if order.checkout is not None:
                self._of_checkout[order.checkout.pk].append(order)
        self._settlements: dict[object, Settlement] = {}
        self.new_grants, self.moved_grants = list[Grant](), list[Grant]()
        self._grants: dict[str, list[Grant]] = defaultdict(list)
        payers = {order.row.pk: order.row for order in known}
        for grant in grants:
            if grant.order_id in payers:
                grant.order = payers[grant.order_id]
                self._grants[grant.order.order_id].append(grant)

    def _locked_order(self, row: Order, state: OrderState) -> LockedOrder:
        checkout = self.checkouts.get(row.checkout_id) if row.checkout_id else None
        return LockedOrder(
            row=row, is_new=False, stored=state, state=state, verdict=verdict_of(row), checkout=checkout
        )

    def order(self, order_id: str) -> LockedOrder:
        """Return the order with this id; a new one if it is unknown."""
        if order_id not in self._orders:
            row = Order(project=self.project.alias, order_id=order_id)
            self._orders[order_id] = LockedOrder(row=row, is_new=True, stored=NOTHING, state=NOTHING)
        return self._orders[order_id]

    @cached_property
    def watched_since(self) -> datetime:
        """Since when this app watches the project; read only for an unbound order."""
        return installed_at(self.project)

    @property
    def orders(self) -> list[LockedOrder]:
        """The orders with steps in the batch, sorted by their ids."""
        return [order for _, order in sorted(self._orders.items()) if order.changes]

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcome of each step, in their order."""
        return [
            Outcome(error=result)
            if isinstance(result, Exception)
            else Outcome(
                change=result, erased=position in self.skipped or (result is not None and result.order.erased)
            )
            for position, result in enumerate(self.results)
        ]

    def checkout_named_by(self, orders: Iterable[documents.Order]) -> Checkout | None:
        """Return the checkout that an unbound order names in one of its documents: by its id, or by our reference."""
        key = self.project.reference_key
        for order in orders:
            reference = (order.metadata or {}).get(key, "")
            found = (self._by_order_id.get(order.id or ""), self._by_reference.get(reference))
            candidates = {each.pk: each for each in found if each is not None}
            bound = bind(order, self.project.alias, key, [each.value for each in candidates.values()])
            if bound is not None and bound.primary_key is not None:
                return candidates[bound.primary_key]
        return None

    def settlement_of(self, changes: Sequence[OrderChange]) -> Settlement:
        """Return the settlement of the checkout of these changes, or of their order if it has none.

        It has all orders and grants of the checkout.
        """
        checkout = changes[0].checkout
        key = checkout.pk if checkout else changes[0].order_id
        if key not in self._settlements:
            settlement = self._settlements[key] = Settlement(checkout=checkout)
            if checkout is not None:
                settlement.before = (str(checkout.status), checkout.paid_order_id, checkout.owned_until)
                for order in self._of_checkout[checkout.pk]:
                    self._add_order(settlement, order)
                settlement.grants.sort(key=lambda grant: (grant.pk is None, grant.pk or 0))
        for change in changes:
            if change.order_id not in self._settlements[key].orders:
                self._add_order(self._settlements[key], change.order)
        return self._settlements[key]

    def _add_order(self, settlement: Settlement, order: LockedOrder) -> None:
        settlement.orders[order.order_id] = order
        settlement.grants += self._grants[order.order_id]

    def open_grant(self, settlement: Settlement, grant: Grant) -> None:
        """Add a grant that a step has opened."""
        settlement.grants.append(grant)
        self.new_grants.append(grant)
        self._grants[grant.order.order_id].append(grant)

    @property
    def settlements(self) -> list[Settlement]:
        """The settlement of each checkout that the batch touched, and of each order without a checkout."""
        return list(self._settlements.values())


class DeletedMeanwhile(IntegrityError):
    """An order was deleted as test data between the look and the lock."""


def lock(project: Project, named: Sequence[documents.Order], hints: Hints, advice: Advice) -> Batch:
    """Lock the orders and checkouts that these documents may be about, and read the rows that belong to them."""
    ids = sorted({each.id or "" for each in named})
    orders = ORDERS.rows(project=project.alias, ids=ids) if hints.known_orders else []
    if len(orders) < hints.known_orders:
        raise DeletedMeanwhile
    bound = {order.checkout_id for order in orders if order.checkout_id is not None}
    keys = bound | hints.checkouts | set(advice.checkouts.values())
    checkouts = CHECKOUTS.rows(project=project.alias, keys=sorted(keys)) if keys else []
    siblings = _orders_of(checkouts, orders)
    missed = [order.order_id for order in siblings if order.order_id in set(ids)]
    if missed:
        orders += _inserted_meanwhile(project, missed)
        siblings = [order for order in siblings if order.order_id not in missed]
    return Batch(
        project=project,
        checkouts=checkouts,
        orders=orders,
        siblings=siblings,
        grants=_grants_of(checkouts, [*orders, *siblings]),
        hints=hints,
        advice=advice,
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


def named_orders(project: Project, ids: Collection[str]) -> QuerySet[Order]:
    """Return those of these orders that are known, with their personal data. Nothing is locked."""
    orders = Order.primary.filter(project=project.alias, order_id__in=ids)
    return orders.select_related("personal_data")


def _orders_of(checkouts: Sequence[Checkout], known: Sequence[Order]) -> list[Order]:
    """Return the other orders of these checkouts. Their writers lock the checkout first, so they stay as they were read.

    Among them are orders of the batch that another transaction inserted while we waited for their checkout. A checkout gets
    the id of the first order that is bound to it; without one it has no orders.
    """
    keys = [each.pk for each in checkouts if each.order_id]
    if not keys:
        return []
    no_row = 0
    return SIBLINGS.rows(checkouts=keys, known=[order.pk for order in known] or [no_row])


def _inserted_meanwhile(project: Project, ids: Sequence[str]) -> list[Order]:
    """Lock and return those of these orders that no other transaction has locked.

    Against the lock order, so without waiting: a transaction that has locked one may be waiting for our checkout. An order
    that is left out for this is inserted again, so the whole transaction is retried; but a page that meets many new orders
    must succeed in the end.
    """
    if not connections[state_database()].features.has_select_for_update_skip_locked:
        return []
    return FREE_ORDERS.rows(project=project.alias, ids=ids)


def _grants_of(checkouts: Sequence[Checkout], orders: Iterable[Order]) -> list[Grant]:
    """Return all grants that were ever opened for these checkouts and orders, oldest first.

    Without a payment for any of them there can be none, and nothing is read.
    """
    paid = [order for order in orders if order.status not in UNPAID]
    if not paid:
        return []
    keys = {each.pk for each in checkouts} & {order.checkout_id for order in paid}
    return GRANTS.rows(checkouts=keys, orders=[order.pk for order in paid])
