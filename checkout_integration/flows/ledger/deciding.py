"""The decisions on the steps of a batch, one after the other: merge, bind, judge, settle, grant.

They change the locked rows in memory, and write nothing. What may fail comes before the first change, so a rule that fails
costs the orders of its own checkout only.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from typing import TypeAlias, TypeVar

from django.db import DatabaseError

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database import key_of
from checkout_integration.flows.ledger.batch import (
    Batch,
    OrderChange,
    PendingSignal,
    Settlement,
    Step,
)
from checkout_integration.flows.ledger.customers import names_of
from checkout_integration.flows.ledger.reversals import absorb
from checkout_integration.models import Checkout, Grant
from checkout_integration.policy.fulfilment import (
    PAID_TWICE,
    Fulfilment,
    GrantChanges,
    Line,
    Payment,
    fulfilment_of,
    grant_changes,
    owned_until,
    payment_of,
)
from checkout_integration.policy.incidents import REVIEW, causes, ended
from checkout_integration.policy.observation import Observation, Source, Timing
from checkout_integration.policy.signals import new_events
from checkout_integration.policy.state import NOTHING, OrderState, observe
from checkout_integration.policy.unreadable import unknown_words
from checkout_integration.policy.verdict import Reason, Terms, VerdictStatus, judge

logger = logging.getLogger("checkout_integration.ledger")

Result = TypeVar("Result")
Numbered: TypeAlias = tuple[int, Step]
"""A step of a batch, after its position."""


def take_all(batch: Batch, steps: Sequence[Step | None]) -> None:
    """Take the steps in their order; consecutive steps with the same cause are taken together. None has no order."""
    batch.results = [None] * len(steps)
    numbered = [(position, step) for position, step in enumerate(steps) if step is not None]
    for _, act in groupby(numbered, key=lambda each: id(each[1].cause)):
        _take(batch, list(act))


def _take(batch: Batch, act: Sequence[Numbered]) -> None:
    by_order: dict[str, list[Numbered]] = defaultdict(list)
    for position, step in act:
        by_order[step.order_id].append((position, step))
    groups: dict[object, dict[str, OrderChange]] = defaultdict(dict)
    results: dict[str, OrderChange | Exception] = {}
    for order_id, steps in sorted(by_order.items()):
        change = _attempted(partial(_prepared, batch, order_id, [step for _, step in steps]))
        if isinstance(change, Exception):
            results[order_id] = change
        else:
            groups[change.checkout.pk if change.checkout else order_id][order_id] = change
    for changes in groups.values():
        failure = _attempted(partial(settle, batch, list(changes.values())))
        results |= dict.fromkeys(changes, failure) if failure else changes
    for order_id, steps in by_order.items():
        for position, _ in steps:
            batch.results[position] = results[order_id]


def _attempted(work: Callable[[], Result]) -> Result | Exception:
    """Return the result, or the failure of our rules: that of one order, or of one checkout, must not stop the others."""
    try:
        return work()
    except DatabaseError:
        raise
    except Exception as error:  # noqa: BLE001  # whatever a rule raises
        return error


def _prepared(batch: Batch, order_id: str, steps: Sequence[Step]) -> OrderChange:
    """Return a step's change: moved, bound and judged. The order itself stays as it is."""
    if order_id in batch.advice.errors:
        raise batch.advice.errors[order_id]
    observations = [step.observation for step in steps]
    change = OrderChange(order=batch.order(order_id), cause=steps[0].cause, observations=observations)
    absorb(change)
    change.after = observed(batch.project, change.after, change.observations)
    change.incidents += [word for each in change.observations for word in sorted(unknown_words(each))]
    _bind(batch, change)
    judge_payment(batch, change)
    follow(change)
    return change


def _bind(batch: Batch, change: OrderChange) -> None:
    """Find the checkout of an order that is not bound yet: by its id, by our reference, or as the shop's hook said."""
    if change.checkout is None:
        known = () if change.is_new else (change.before.order,)
        change.checkout = batch.checkout_named_by([*known, *(each.order for each in change.observations)])
    if change.checkout is None and change.after.settled and change.before != change.after:
        change.checkout = batch.checkouts.get(batch.advice.checkouts.get(change.order_id, 0))


def judge_payment(batch: Batch, change: OrderChange) -> None:
    """Decide whether the payment pays for its checkout."""
    checkout = change.checkout.value if change.checkout else None
    terms = terms_of(batch.project, batch.watched_since if checkout is None else None)
    known = batch.hints.blocked
    blocked = bool(known) and not known.isdisjoint(names_of(change.after.order.user))
    change.verdict = judge(change.after, checkout, terms, before=change.verdict_before, blocked=blocked)


def terms_of(project: Project, watched_since: datetime | None) -> Terms:
    """Return the settings about payments; for unbound ones with the time since when this app watches the project."""
    return Terms(
        accept_unbound=project.unbound_orders == "accept",
        accept_test=project.accept_test_payments,
        historic_margin=project.historic_delta,
        installed_at=watched_since,
    )


def observed(project: Project, state: OrderState, observations: Sequence[Observation]) -> OrderState:
    """Return the state with more observations."""
    timing = Timing(retry_interval=project.retry_delta, list_margin=project.list_delta)
    for observation in observations:
        state = observe(state, observation, timing)
    return state


def follow(change: OrderChange) -> None:
    """Collect the consequences for this order: the service's facts, and incidents for staff."""
    change.silent = change.verdict.status is VerdictStatus.HISTORIC and change.cause.source is Source.LIST
    if change.silent:
        change.incidents.clear()
        return
    # What was recorded in silence is new now, as it would be if the notification had come first.
    before = NOTHING if change.was_silent else change.before
    for event in new_events(before, change.after):
        name = event.replace(".", "_")
        change.signals.append(PendingSignal(name, (name, change.order_id)))
    were_open = causes(before, change.verdict_before)
    are_open = causes(change.after, change.verdict)
    for kind in sorted(are_open - were_open):
        if kind.startswith(REVIEW):
            change.ask_for_review(kind.removeprefix(REVIEW))
        else:
            change.incidents.append(kind)
    if f"{REVIEW}{Reason.UNBOUND}" in are_open - were_open:
        _log_unbound_payment(change)
    over = ended(were_open, are_open, change.before, change.after)
    change.ended += [(kind, change.row) for kind in over]


def _log_unbound_payment(change: OrderChange) -> None:
    # %r: the id is the service's text, and a line end in it would forge a line of the log.
    logger.warning(
        "Order %r is paid and bound to no checkout of this shop, so no goods were granted. Sell with "
        "flows.create_checkout, name its checkout in Hooks.resolve_checkout, or set UNBOUND_ORDERS.",
        change.order_id,
        extra={"project": change.row.project, "order_id": change.order_id},
    )


# From payments to goods. Writers of an order that is bound to a checkout have locked the checkout, so the other orders of the
# checkout stay as they were read.


def settle(batch: Batch, changes: Sequence[OrderChange]) -> None:
    """Take the changes of one checkout, or of one order without one; then move its grants and its status by them."""
    settlement = batch.settlement_of(changes)
    orders = settlement.orders.values()
    before = {each.order_id: payment_of(each.order_id, each.state, each.verdict) for each in orders}
    now = {change.order_id: payment_of(change.order_id, change.after, change.verdict) for change in changes}
    moves = None
    payments = list((before | now).values())
    if any(
        change.is_new or change.newly_bound or before[change.order_id] != now[change.order_id]
        for change in changes
    ):
        moves = _moves_of(settlement, payments)
    # Nothing above has changed anything, and nothing below fails.
    for change in changes:
        change.order.take(change)
    settlement.changes += changes
    batch.changes += changes
    if moves is None:
        return
    fulfilment, grants = moves
    for position, order_id in grants.payers.items():
        _hand_over(batch, settlement, settlement.grants[position], order_id)
    for position in grants.closed:
        _close_grant(batch, settlement.grants[position], changes)
    for line in grants.opened:
        _open_grant(batch, settlement, line, changes)
    if settlement.checkout is not None:
        _move_checkout(settlement, settlement.checkout, fulfilment, payments)
        _review_second_payments(settlement, fulfilment, changes)


def _moves_of(settlement: Settlement, payments: Sequence[Payment]) -> tuple[Fulfilment, GrantChanges]:
    fulfilment = fulfilment_of(payments)
    open_grants = [
        (position, grant.order.order_id)
        for position, grant in enumerate(settlement.grants)
        if grant.state == Grant.State.OPEN
    ]
    return fulfilment, grant_changes(fulfilment, payments, open_grants)


def _hand_over(batch: Batch, settlement: Settlement, grant: Grant, order_id: str) -> None:
    """Assign an open grant to the order that pays for it now, and to that order's checkout."""
    payer, checkout = settlement.orders[order_id].row, settlement.checkout
    if grant.order is payer and grant.checkout_id == (checkout.pk if checkout else None):
        return
    grant.order, grant.checkout = payer, checkout
    batch.moved_grants.append(grant)


def _close_grant(batch: Batch, grant: Grant, changes: Sequence[OrderChange]) -> None:
    grant.state, grant.closed_at = Grant.State.CLOSED.value, datetime.now(UTC)
    batch.moved_grants.append(grant)
    _send(grant, "checkout_reversed", changes)


def _open_grant(batch: Batch, settlement: Settlement, line: Line, changes: Sequence[OrderChange]) -> None:
    payer, checkout = settlement.orders[line.payer].row, settlement.checkout
    number = 1 + max((grant.number for grant in settlement.grants), default=0)
    scope = ("checkout", checkout.reference) if checkout else ("order", payer.order_id)
    grant = Grant(
        key=key_of("grant", batch.project.alias, *scope, number),
        project=batch.project.alias,
        order=payer,
        checkout=checkout,
        number=number,
        renewal=line.renewal,
        state=Grant.State.OPEN.value,
        pull=checkout is not None and app_settings().is_fetched(batch.project),
    )
    batch.open_grant(settlement, grant)
    _send(grant, "checkout_paid", changes)


def _send(grant: Grant, name: str, changes: Sequence[OrderChange]) -> None:
    """Add the signal to the change of the grant's order, or to the change that caused it if there is none."""
    own = [change for change in changes if change.row is grant.order]
    arguments = {"renewal": grant.renewal}
    signal = PendingSignal(name, (name, grant.key), arguments, grant=grant, order=grant.order)
    (own or changes)[0].signals.append(signal)


def _move_checkout(
    settlement: Settlement, checkout: Checkout, fulfilment: Fulfilment, payments: Sequence[Payment]
) -> None:
    payer = settlement.orders.get(fulfilment.payer)
    until = owned_until(payments, checkout.lasts_days, checkout.grace_days)
    settlement.after = (fulfilment.status.value, payer.row if payer else None, until)
    if payer is not None and checkout.paid_at is None:
        checkout.paid_at = datetime.now(UTC)


def _review_second_payments(
    settlement: Settlement, fulfilment: Fulfilment, changes: Sequence[OrderChange]
) -> None:
    """Ask staff to review further payments of one checkout: once for each, in whatever order they arrived.

    A payment that is no further one any more, since one of the two was reversed, is no question for staff.
    """
    orders = {order_id: order.row for order_id, order in settlement.orders.items()}
    for order_id in fulfilment.paid_twice:
        own = [change for change in changes if change.order_id == order_id]
        (own or changes)[0].ask_for_review(PAID_TWICE, orders[order_id])
    changes[0].ended += [(f"{REVIEW}{PAID_TWICE}", orders[order_id]) for order_id in fulfilment.paid_once]
