"""Decisions of staff about one order: accept its payment, bind it, restore it. Each is a part of the caller's transaction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from checkout_integration.conf import Project
from checkout_integration.flows.ledger.cause import Cause
from checkout_integration.flows.ledger.hints import look_up
from checkout_integration.flows.ledger.locking import lock
from checkout_integration.flows.ledger.order_change import OrderChange
from checkout_integration.flows.ledger.steps import NO_ADVICE, Advice
from checkout_integration.flows.ledger.taking import Batch, follow
from checkout_integration.models import Checkout, Order
from checkout_integration.policy.facts import decide
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.policy.verdict import Reason, Verdict, VerdictStatus
from checkout_integration.protocol.vocabulary import OrderStatus

ACCEPTABLE: Final = (VerdictStatus.REVIEW, VerdictStatus.HISTORIC)
"""Verdicts of payments that staff may accept."""


def accepted(order: Order, project: Project, cause: Cause) -> Batch:
    """Return what it comes to when a payment is accepted: its goods are granted as if it were verified.

    Raises ``ValueError`` when the order is not in review or historic, or its payment was reversed.
    """
    batch, change = _locked(order, project, cause)
    if change.verdict_before.status not in ACCEPTABLE or not change.before.stands:
        raise ValueError(
            "Only a paid order that is in review, or from before the installation, can be accepted."
        )
    change.verdict = Verdict(VerdictStatus.ACCEPTED, Reason.BY_STAFF)
    batch.settle([change])
    return batch


def bound(
    order: Order, project: Project, to: Checkout | Callable[[OrderChange], Checkout], cause: Cause
) -> Batch:
    """Return what it comes to when an order is bound to a checkout: its payment is judged against it.

    ``to`` is a checkout, or inserts one under the order's lock. Raises ``ValueError`` when the order is bound already, or
    the checkout is not there.
    """
    named = {order.order_id: to.pk} if isinstance(to, Checkout) else {}
    batch, change = _locked(order, project, cause, Advice(checkouts=named))
    if change.checkout is not None:
        raise ValueError("The order is bound to a checkout already.")
    change.checkout = batch.rows.checkouts[to.pk] if isinstance(to, Checkout) else to(change)
    batch.rows.checkouts[change.checkout.pk] = change.checkout
    batch.judge(change)
    follow(change)
    batch.settle([change])
    return batch


def restored(order: Order, project: Project, cause: Cause) -> Batch:
    """Return what it comes to when a reversed payment stands after all, such as a dispute that was won.

    Raises ``ValueError`` when the payment was not reversed.
    """
    batch, change = _locked(order, project, cause)
    if not change.before.fully_reversed:
        raise ValueError("Only a payment that was refunded or charged back can be restored.")
    facts = decide(change.before.facts, OrderStatus.PROCESSED, datetime.now(UTC))
    change.after = replace(change.before, facts=facts)
    if not change.verdict.pays:
        change.verdict = Verdict(VerdictStatus.ACCEPTED, Reason.BY_STAFF)
    batch.settle([change])
    return batch


def _locked(
    order: Order, project: Project, cause: Cause, advice: Advice = NO_ADVICE
) -> tuple[Batch, OrderChange]:
    """Return a batch with the order alone, locked, and a change in which nothing has changed yet."""
    known = [Observation(source=Source.STAFF, order=order.snapshot)]
    rows = lock(project, known, look_up(project, known), advice)
    return Batch(rows=rows), rows.order(order.order_id).begin([], cause)
