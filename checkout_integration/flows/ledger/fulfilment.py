"""From payments to goods: which order pays a checkout, its status, and the grants that the shop's signals follow.

Called under the locks of the batch. Whoever writes an order that is bound to a checkout has locked the checkout, so its other
orders stay as they were read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import key_of
from checkout_integration.flows.ledger.batch import LockedGrant, LockedRows, Settlement
from checkout_integration.flows.ledger.order_change import OrderChange, PendingSignal
from checkout_integration.models import Checkout, Grant
from checkout_integration.policy.fulfilment import (
    Fulfilment,
    GrantChanges,
    Line,
    Payment,
    fulfilment_of,
    grant_changes,
    payment_of,
)
from checkout_integration.policy.verdict import Reason


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What changes of one checkout come to; nothing is changed by making it, so a rule that fails leaves no trace."""

    settlement: Settlement
    changes: Sequence[OrderChange]
    payments: dict[str, Payment]
    fulfilment: Fulfilment | None = None
    grant_changes: GrantChanges | None = None


def plan(rows: LockedRows, changes: Sequence[OrderChange]) -> Plan:
    """Return what changes of one checkout, or of one order without a checkout, come to."""
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
    """Take the changes of a plan, and change grants and checkout as it says."""
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
        _close(settlement.grants[position], plan)
    for line in plan.grant_changes.opened:
        _open(rows, plan, line)
    if settlement.checkout is not None:
        _move_checkout(settlement, settlement.checkout, plan.fulfilment)
        _review_second_payments(plan, plan.fulfilment)


def _moves_money(change: OrderChange, payment: Payment) -> bool:
    """Whether an order became another payment than before, or came to its checkout."""
    return (
        change.is_new
        or change.newly_bound
        or payment_of(change.order_id, change.before, change.verdict_before) != payment
    )


def _hand_over(settlement: Settlement, grant: LockedGrant, order_id: str) -> None:
    """Give an open grant to the order that pays for it now, and to the checkout that this was bound to."""
    payer, checkout = settlement.orders[order_id], settlement.checkout
    key = checkout.pk if checkout else None
    if grant.payer is payer and grant.row.checkout_id == key:
        return
    grant.payer, grant.row.checkout, grant.changed = payer, checkout, True


def _close(grant: LockedGrant, plan: Plan) -> None:
    grant.row.state, grant.row.closed_at, grant.changed = Grant.State.CLOSED, datetime.now(UTC), True
    _send(plan, grant, "checkout_reversed")


def _open(rows: LockedRows, plan: Plan, line: Line) -> None:
    settlement = plan.settlement
    payer, checkout = settlement.orders[line.payer], settlement.checkout
    number = 1 + max((grant.row.number for grant in settlement.grants), default=0)
    scope = ("checkout", checkout.reference) if checkout else ("order", payer.order_id)
    row = Grant(
        key=_grant_key(rows.project, scope, number),
        project=rows.project.alias,
        checkout=checkout,
        number=number,
        renewal=line.renewal,
    )
    grant = LockedGrant(row=row, payer=payer, is_new=True)
    rows.open_grant(settlement, grant)
    _send(plan, grant, "checkout_paid")


def _grant_key(project: Project, scope: tuple[str, str], number: int) -> str:
    return key_of("grant", project.alias, *scope, number)


def _send(plan: Plan, grant: LockedGrant, name: str) -> None:
    """Add the signal to the change of the grant's order, else to the one that caused it."""
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
    """Ask staff to look at payments beside the one that pays: once for each, whichever of them came first."""
    for order_id in fulfilment.paid_twice:
        own = [change for change in plan.changes if change.order_id == order_id]
        (own or plan.changes)[0].ask_for_review(Reason.PAID_TWICE, plan.settlement.orders[order_id])
