"""What a batch has locked and read, as its steps find it and leave it to those behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from checkout_integration.conf import Project
from checkout_integration.flows.ledger.order_change import LockedOrder, OrderChange, verdict_of
from checkout_integration.flows.ledger.rows import public_state_of, state_of
from checkout_integration.models import Checkout, Grant, Order
from checkout_integration.policy.binding import bind
from checkout_integration.policy.fulfilment import Payment, payment_of
from checkout_integration.policy.observation import Observation
from checkout_integration.policy.state import OrderState


@dataclass(kw_only=True)
class LockedGrant:
    """A grant in the batch, with the order that pays for it; ``is_new`` until it is written."""

    row: Grant
    payer: Order
    is_new: bool = False
    changed: bool = False


@dataclass(kw_only=True)
class Settlement:
    """One checkout, or one order without a checkout, and what the batch means for it.

    Attributes:
        checkout: its row, None for an order without one.
        orders: all orders of it, by the service's id.
        payments: what each of them is worth, after the steps until now.
        grants: all that were ever opened for it, oldest first.
        before: the checkout's status and the key of its payer, in the database.
        after: status and payer now; None where no money moved.
        changes: the steps of the batch that were taken of its orders.

    """

    checkout: Checkout | None
    orders: dict[str, Order] = field(default_factory=dict)
    payments: dict[str, Payment] = field(default_factory=dict)
    grants: list[LockedGrant] = field(default_factory=list)
    before: tuple[str, int | None] = ("", None)
    after: tuple[str, Order | None] | None = None
    changes: list[OrderChange] = field(default_factory=list)


class LockedRows:
    """The locked orders and checkouts of a batch, and the rows that belong to them.

    Rows are found by their keys, never by looking through all of them: a batch may have hundreds.
    """

    def __init__(
        self,
        *,
        project: Project,
        checkouts: Iterable[Checkout],
        orders: dict[str, Order],
        siblings: Iterable[Order] = (),
        grants: Iterable[Grant] = (),
    ) -> None:
        self.project = project
        self.checkouts = {checkout.pk: checkout for checkout in checkouts}
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
        """Return the order of this id, a new one where none is known."""
        if order_id not in self.orders:
            row, nothing = Order(project=self.project.alias, order_id=order_id), OrderState()
            self.orders[order_id] = LockedOrder(row=row, is_new=True, stored=nothing, state=nothing)
        return self.orders[order_id]

    def checkout_named_by(self, observations: Iterable[Observation]) -> Checkout | None:
        """Return the checkout that observations of an unbound order name, by the order's id or by our reference."""
        key = self.project.reference_key
        for order in (observation.order for observation in observations):
            reference = (order.metadata or {}).get(key, "")
            found = (self._by_order_id.get(order.id or ""), self._by_reference.get(reference))
            candidates = {each.pk: each for each in found if each is not None}
            sale = bind(order, self.project.alias, key, [each.sale for each in candidates.values()])
            if sale is not None and sale.primary_key is not None:
                return candidates[sale.primary_key]
        return None

    def settlement_of(self, change: OrderChange) -> Settlement:
        """Return the settlement of the change's checkout, else of its order, with all that belongs to it."""
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
        """What the batch means for each checkout that it touched, and for each order without one."""
        return list(self._settlements.values())
