"""A checkout with its orders: the paying order, the status, and the granted goods.

Pure functions of the *set* of orders, so that the end does not depend on the order in which notifications and list rows
arrived. The rules are described in docs/fulfilment.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from checkout_integration.policy.moments import BEHIND_ALL_TIMES, stamp
from checkout_integration.policy.observation import Source
from checkout_integration.policy.state import OrderState
from checkout_integration.policy.verdict import Verdict, VerdictStatus
from checkout_integration.protocol.values import parse_moment
from checkout_integration.protocol.vocabulary import OrderStatus

PAID_TWICE: Final = "paid_twice"
"""Why staff review a payment for a checkout that another order has paid."""
ENDED = (OrderStatus.CANCELED, OrderStatus.REJECTED)


class CheckoutState(StrEnum):
    """Status of a checkout of which an order is known."""

    OPEN = "open"
    REVIEW = "review"
    PAID = "paid"
    REVERSED = "reversed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, kw_only=True)
class Payment:
    """One order, as far as it matters to its checkout.

    ``moment`` is when it was paid, as text that sorts. ``stands``: the money is with the shop; ``reversed``: all of it went
    back; ``ended``: it ended unpaid. ``decided``: staff decided that it stands, so no later reversal closes its grant.
    """

    order_id: str
    moment: str
    stands: bool
    reversed: bool
    ended: bool
    decided: bool
    pays: bool
    recurring_id: str = ""


def payment_of(order_id: str, state: OrderState, verdict: Verdict) -> Payment:
    """Return an order's state and verdict as a payment. One whose goods staff revoked counts like one that went back."""
    order, decision = state.order, state.facts.decision
    revoked = verdict.status is VerdictStatus.REVOKED
    return Payment(
        order_id=order_id,
        moment=_moment(state),
        stands=state.stands and not revoked,
        reversed=state.fully_reversed or revoked,
        ended=not state.settled and state.status in ENDED,
        decided=decision is not None and decision.status == OrderStatus.PROCESSED and not revoked,
        pays=verdict.pays or revoked,
        recurring_id=(order.recurring_id or "") if order.recurring else "",
    )


def _moment(state: OrderState) -> str:
    """Return when the order was paid: as a notification says, else when it was created, which the list says too."""
    signed = [time for time in state.facts.times(OrderStatus.PROCESSED, Source.NOTIFICATION) if time]
    return min(signed, default="") or stamp(state.order.created_at) or BEHIND_ALL_TIMES


@dataclass(frozen=True, kw_only=True)
class Line:
    """Orders that share one grant: all of a checkout but its renewals, or one renewal.

    ``payer`` is the first order whose payment stands and pays; "" if there is none.
    """

    order_ids: tuple[str, ...]
    payer: str
    renewal: bool = False


@dataclass(frozen=True, kw_only=True)
class Fulfilment:
    """The result of a checkout's orders.

    ``paid_twice`` are further valid payments besides the one that pays: staff review each (`PAID_TWICE`). ``paid_once`` are
    the other orders of a checkout with several: a question about one of them is over.
    """

    status: CheckoutState
    payer: str
    lines: tuple[Line, ...]
    paid_twice: tuple[str, ...]
    paid_once: tuple[str, ...] = ()


def fulfilment_of(payments: Iterable[Payment]) -> Fulfilment:
    """Return what follows from the payments of a checkout, or of one order without a checkout."""
    everything = sorted(payments, key=lambda payment: (payment.moment, payment.order_id))
    paying = [payment for payment in everything if payment.pays]
    standing = [payment for payment in paying if payment.stands]
    renewing = _renewals(everything, paying)
    renewals = [payment for payment in paying if payment.order_id in renewing]
    first_line = [payment for payment in everything if payment.order_id not in renewing]
    lines = [_line(first_line), *(_line([renewal], renewal=True) for renewal in renewals)]
    paid_twice = tuple(payment.order_id for payment in standing if payment.order_id not in renewing)[1:]
    others = sorted({payment.order_id for payment in everything}.difference(paid_twice))
    return Fulfilment(
        status=_status(everything, standing),
        payer=_first(standing) or _first([payment for payment in paying if payment.reversed]),
        lines=tuple(lines),
        paid_twice=paid_twice,
        paid_once=tuple(others) if len(everything) > 1 else (),
    )


def _renewals(payments: Sequence[Payment], paying: Sequence[Payment]) -> frozenset[str]:
    """Return the ids of all renewals of an agreement: a customer who paid twice may have two agreements."""
    begun: dict[str, str] = {}
    for payment in paying:
        begun.setdefault(payment.recurring_id, payment.order_id)
    begun.pop("", None)
    return frozenset(
        payment.order_id
        for payment in payments
        if begun.get(payment.recurring_id, payment.order_id) != payment.order_id
    )


def _line(payments: Sequence[Payment], *, renewal: bool = False) -> Line:
    return Line(
        order_ids=tuple(payment.order_id for payment in payments),
        payer=_first([payment for payment in payments if payment.stands and payment.pays]),
        renewal=renewal,
    )


def _first(payments: Sequence[Payment]) -> str:
    return payments[0].order_id if payments else ""


def _status(payments: Sequence[Payment], standing: Sequence[Payment]) -> CheckoutState:
    if standing:
        return CheckoutState.PAID
    if any(payment.stands for payment in payments):
        return CheckoutState.REVIEW
    if any(payment.reversed for payment in payments):
        return CheckoutState.REVERSED
    if payments and all(payment.ended for payment in payments):
        return CheckoutState.CANCELLED
    return CheckoutState.OPEN


@dataclass(frozen=True, kw_only=True)
class GrantChanges:
    """Changes of the open grants: those that stay, by their key, with the paying order of each; and the others."""

    payers: dict[int, str]
    closed: tuple[int, ...]
    opened: tuple[Line, ...]


def grant_changes(
    fulfilment: Fulfilment, payments: Iterable[Payment], open_grants: Iterable[tuple[int, str]]
) -> GrantChanges:
    """Return the changes of the open grants, given as pairs of a key and the order that paid.

    Each line with a payer has one grant: the payer's own if there is one, else the grant of another order of the line. A
    grant closes when no payment for it stands any more. Neither a withdrawn verdict nor a reversal after a decision of staff
    revokes goods: staff review these.
    """
    secure = {payment.order_id for payment in payments if payment.stands or payment.decided}
    left = sorted(open_grants)
    payers: dict[int, str] = {}
    opened: list[Line] = []
    for line in fulfilment.lines:
        mine = [(order_id != line.payer, key) for key, order_id in left if order_id in line.order_ids]
        if line.payer and mine:
            payers[min(mine)[1]] = line.payer
        elif line.payer:
            opened.append(line)
    others = [(key, order_id) for key, order_id in left if key not in payers]
    payers |= {key: order_id for key, order_id in others if order_id in secure}
    closed = tuple(key for key, order_id in others if order_id not in secure)
    return GrantChanges(payers=payers, closed=closed, opened=tuple(opened))


def owned_until(payments: Iterable[Payment], days: int | None, grace: int = 0) -> datetime | None:
    """Return the end of what is paid for, and of the grace: so many days after the last payment that stands and pays.

    None for a checkout without an end, for one without such a payment, and where the time of one cannot be read: then nobody
    loses what was paid for.
    """
    moments = [payment.moment for payment in payments if payment.stands and payment.pays]
    if not days or not moments or BEHIND_ALL_TIMES in moments:
        return None
    last = parse_moment(max(moments))
    return last and last + timedelta(days=days + grace)
