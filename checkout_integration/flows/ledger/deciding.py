"""The decisions on the steps of a batch, one after the other: merge, bind, judge, settle, grant.

The functions are pure, except that they read locked rows.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import groupby

from django.db import DatabaseError

from checkout_integration.conf import Project
from checkout_integration.flows.database import installed_at, key_of
from checkout_integration.flows.ledger.locking import LockedRows
from checkout_integration.flows.ledger.reversals import absorb
from checkout_integration.flows.ledger.steps import (
    NO_ADVICE,
    Advice,
    Assigned,
    LockedGrant,
    LockedOrder,
    OrderChange,
    Outcome,
    PendingSignal,
    Settlement,
)
from checkout_integration.models import Checkout, Grant
from checkout_integration.policy.consequences import REVIEWED, new_contradictions, new_events
from checkout_integration.policy.fulfilment import (
    Fulfilment,
    GrantChanges,
    Line,
    Payment,
    fulfilment_of,
    grant_changes,
    payment_of,
)
from checkout_integration.policy.observation import Observation, Source, Timing
from checkout_integration.policy.state import observe, unknown_words
from checkout_integration.policy.verdict import Reason, Terms, VerdictStatus, judge

# From payments to goods: the order that pays a checkout, the checkout's status, and the grants with their signals.
#
# Called under the locks of the batch. Writers of an order that is bound to a checkout have locked the checkout, so its
# other orders stay as they were read.


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The outcome of changes of one checkout; making a plan changes nothing, so a rule that fails leaves no trace."""

    settlement: Settlement
    changes: Sequence[OrderChange]
    payments: dict[str, Payment]
    fulfilment: Fulfilment | None = None
    grant_changes: GrantChanges | None = None


def plan(rows: LockedRows, changes: Sequence[OrderChange]) -> Plan:
    """Return the plan for changes of one checkout, or of one order without a checkout."""
    settlement = rows.settlement_of(changes[0])
    for change in changes[1:]:
        rows.settlement_of(change)
    payments = {
        change.order_id: payment_of(change.order_id, change.after, change.verdict) for change in changes
    }
    if not any(_moves_money(change, payments[change.order_id]) for change in changes):
        return Plan(settlement=settlement, changes=changes, payments=payments)
    every = list((settlement.payments | payments).values())
    fulfilment = fulfilment_of(every)
    open_grants = [
        (position, grant.payer.order_id)
        for position, grant in enumerate(settlement.grants)
        if grant.row.state == Grant.State.OPEN
    ]
    return Plan(
        settlement=settlement,
        changes=changes,
        payments=payments,
        fulfilment=fulfilment,
        grant_changes=grant_changes(fulfilment, every, open_grants),
    )


def carry_out(rows: LockedRows, plan: Plan) -> None:
    """Apply the changes of a plan, and change grants and checkout by it."""
    settlement = plan.settlement
    for change in plan.changes:
        change.order.take(change)
    settlement.payments |= plan.payments
    settlement.changes += plan.changes
    if plan.fulfilment is None or plan.grant_changes is None:
        return
    for position, order_id in plan.grant_changes.payers.items():
        _hand_over(settlement, settlement.grants[position], order_id)
    for position in plan.grant_changes.closed:
        _close_grant(settlement.grants[position], plan)
    for line in plan.grant_changes.opened:
        _open_grant(rows, plan, line)
    if settlement.checkout is not None:
        _move_checkout(settlement, settlement.checkout, plan.fulfilment)
        _review_second_payments(plan, plan.fulfilment)


def _moves_money(change: OrderChange, payment: Payment) -> bool:
    """Return whether the order's payment has changed, or the order was bound to its checkout."""
    return (
        change.is_new
        or change.newly_bound
        or payment_of(change.order_id, change.before, change.verdict_before) != payment
    )


def _hand_over(settlement: Settlement, grant: LockedGrant, order_id: str) -> None:
    """Assign an open grant to the order that pays for it now, and to that order's checkout."""
    payer, checkout = settlement.orders[order_id], settlement.checkout
    key = checkout.pk if checkout else None
    if grant.payer is payer and grant.row.checkout_id == key:
        return
    grant.payer, grant.row.checkout, grant.changed = payer, checkout, True


def _close_grant(grant: LockedGrant, plan: Plan) -> None:
    row = grant.row
    row.state, row.closed_at, grant.changed = Grant.State.CLOSED.value, datetime.now(UTC), True
    _send(plan, grant, "checkout_reversed")


def _open_grant(rows: LockedRows, plan: Plan, line: Line) -> None:
    settlement = plan.settlement
    payer, checkout = settlement.orders[line.payer], settlement.checkout
    number = 1 + max((grant.row.number for grant in settlement.grants), default=0)
    scope = ("checkout", checkout.reference) if checkout else ("order", payer.order_id)
    row = Grant.new(
        key=_grant_key(rows.project, scope, number),
        project=rows.project.alias,
        checkout=checkout,
        number=number,
        renewal=line.renewal,
        state=Grant.State.OPEN.value,
    )
    grant = LockedGrant(row=row, payer=payer, is_new=True)
    rows.open_grant(settlement, grant)
    _send(plan, grant, "checkout_paid")


def _grant_key(project: Project, scope: tuple[str, str], number: int) -> str:
    return key_of("grant", project.alias, *scope, number)


def _send(plan: Plan, grant: LockedGrant, name: str) -> None:
    """Add the signal to the change of the grant's order, or to the change that caused it if there is none."""
    own = [change for change in plan.changes if change.row is grant.payer]
    row = grant.row
    signal = PendingSignal(name, (name, row.key), {"renewal": row.renewal}, grant=row, order=grant.payer)
    (own or plan.changes)[0].signals.append(signal)


def _move_checkout(settlement: Settlement, checkout: Checkout, fulfilment: Fulfilment) -> None:
    payer = settlement.orders.get(fulfilment.payer)
    settlement.after = (fulfilment.status.value, payer)
    if payer is not None and checkout.paid_at is None:
        checkout.paid_at = datetime.now(UTC)


def _review_second_payments(plan: Plan, fulfilment: Fulfilment) -> None:
    """Ask staff to review further payments of one checkout: once for each, in whatever order they arrived."""
    for order_id in fulfilment.paid_twice:
        own = [change for change in plan.changes if change.order_id == order_id]
        (own or plan.changes)[0].ask_for_review(Reason.PAID_TWICE, plan.settlement.orders[order_id])


logger = logging.getLogger("checkout_integration.ledger")


@dataclass(kw_only=True)
class Batch:
    """Steps in progress, and their outcomes. Nothing is written yet."""

    rows: LockedRows
    advice: Advice = NO_ADVICE
    unmatched: Sequence[Observation] = ()
    changes: list[OrderChange] = field(default_factory=list)
    _change_of: dict[int, OrderChange] = field(default_factory=dict)
    _errors: dict[int, Exception] = field(default_factory=dict)

    @property
    def project(self) -> Project:
        """The project of the orders."""
        return self.rows.project

    @property
    def settlements(self) -> list[Settlement]:
        """The settlements of checkouts, and of orders without a checkout."""
        return self.rows.settlements

    @property
    def orders(self) -> list[LockedOrder]:
        """The orders with steps in the batch, sorted by their ids."""
        return [order for _, order in sorted(self.rows.orders.items()) if order.changes]

    def outcomes(self, count: int) -> list[Outcome]:
        """Return the outcome of each of the ``count`` steps, in their order."""
        return [self._outcome(position) for position in range(count)]

    def _outcome(self, position: int) -> Outcome:
        if position in self._errors:
            return Outcome(error=self._errors[position])
        change = self._change_of.get(position)
        return Outcome(change=change, erased=change is not None and change.order.erased)

    def take_all(self, steps: Iterable[Assigned]) -> None:
        """Take the steps in their order; consecutive steps with the same cause are taken together."""
        for _, act in groupby(steps, key=lambda step: id(step.cause)):
            self._take(list(act))

    def _take(self, act: Sequence[Assigned]) -> None:
        positions: dict[int, list[int]] = {}
        groups: dict[object, list[OrderChange]] = {}
        for order_id, steps in _by_order(act):
            own = [step.position for step in steps]
            try:
                change = self._prepared(order_id, steps)
            except DatabaseError:
                raise
            except Exception as error:  # noqa: BLE001  # one order's failure must not stop the others
                self._errors |= dict.fromkeys(own, error)
                continue
            positions[id(change)] = own
            groups.setdefault(change.checkout.pk if change.checkout else change.order_id, []).append(change)
        for changes in groups.values():
            try:
                self.settle(changes)
            except DatabaseError:
                raise
            except Exception as error:  # noqa: BLE001  # one checkout's failure must not stop the others
                for change in changes:
                    self._errors |= dict.fromkeys(positions[id(change)], error)
                continue
            for change in changes:
                self._change_of |= dict.fromkeys(positions[id(change)], change)

    def settle(self, changes: Sequence[OrderChange]) -> None:
        """Settle changes of one checkout, or of one order without one, and take them: all of them, or none."""
        carry_out(self.rows, plan(self.rows, changes))
        self.changes += changes

    def _prepared(self, order_id: str, steps: Sequence[Assigned]) -> OrderChange:
        """Return a step's change: moved, bound and judged. The order itself stays as it is."""
        if order_id in self.advice.errors:
            raise self.advice.errors[order_id]
        order = self.rows.order(order_id)
        observations = [observation for step in steps for observation in step.observations]
        change = order.begin(observations, steps[0].cause)
        absorb(change)
        _merge_observations(self.project, change)
        self._bind(change)
        self.judge(change)
        follow(change)
        return change

    def _bind(self, change: OrderChange) -> None:
        """Find the checkout of an order that is not bound yet: by its id, by our reference, or as the shop's hook said."""
        if change.checkout is None:
            known = () if change.is_new else (Observation(source=Source.STAFF, order=change.before.order),)
            change.checkout = self.rows.checkout_named_by([*known, *change.observations])
        if change.checkout is None and change.after.settled and change.before != change.after:
            change.checkout = self.rows.checkouts.get(self.advice.checkouts.get(change.order_id, 0))

    def judge(self, change: OrderChange) -> None:
        """Decide whether the payment pays for its checkout."""
        checkout = change.checkout.value if change.checkout else None
        terms = self._terms_of_unbound if checkout is None else self._terms
        change.verdict = judge(change.after, checkout, terms, before=change.verdict_before)

    @cached_property
    def _terms(self) -> Terms:
        """The terms of payments for checkouts."""
        return terms_of(self.project)

    @cached_property
    def _terms_of_unbound(self) -> Terms:
        """The terms of unbound orders, whose time of the installation is read for them only."""
        return terms_of_unbound(self.project)


def terms_of(project: Project) -> Terms:
    """Return the settings about payments for checkouts."""
    return Terms(
        accept_unbound=project.unbound_orders == "accept",
        accept_test=project.accept_test_payments,
        historic_margin=project.historic_delta,
    )


def terms_of_unbound(project: Project) -> Terms:
    """Return the terms for unbound orders: also the time since which this app watches the project."""
    return replace(terms_of(project), installed_at=installed_at(project))


def _by_order(act: Sequence[Assigned]) -> Iterator[tuple[str, list[Assigned]]]:
    """Yield the orders of these steps, sorted by their ids, each with its steps."""
    for order_id, steps in groupby(
        sorted(act, key=lambda step: step.order_id), key=lambda step: step.order_id
    ):
        yield order_id, list(steps)


def _merge_observations(project: Project, change: OrderChange) -> None:
    timing = Timing(retry_interval=project.retry_delta, list_margin=project.list_delta)
    for observation in change.observations:
        change.after = observe(change.after, observation, timing)
        change.incidents.extend(sorted(unknown_words(observation)))


def follow(change: OrderChange) -> None:
    """Collect the consequences for this order: the service's facts, and incidents for staff."""
    change.silent = change.verdict.status is VerdictStatus.HISTORIC and change.cause.source is Source.LIST
    if change.silent:
        change.incidents.clear()
        return
    for event in new_events(change.before, change.after):
        name = event.replace(".", "_")
        change.signals.append(PendingSignal(name, (name, change.order_id)))
    in_review = change.after.stands and change.verdict.status is VerdictStatus.REVIEW
    if in_review and change.verdict != change.verdict_before:
        change.ask_for_review(change.verdict.reason)
        _log_unbound_payment(change)
    for code in new_contradictions(change.before, change.after):
        if code in REVIEWED:
            change.ask_for_review(code)
        else:
            change.incidents.append(code)


def _log_unbound_payment(change: OrderChange) -> None:
    if change.verdict.reason == Reason.UNBOUND:
        # %r: the id is the service's text, and a line end in it would forge a line of the log.
        logger.warning(
            "Order %r is paid and bound to no checkout of this shop, so no goods were granted. Sell with "
            "flows.create_checkout, name its checkout in Hooks.resolve_checkout, or set UNBOUND_ORDERS.",
            change.order_id,
            extra={"project": change.row.project, "order_id": change.order_id},
        )
