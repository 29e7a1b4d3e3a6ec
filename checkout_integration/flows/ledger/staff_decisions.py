"""Decisions of staff about one order, and previews of their changes: accept its payment, bind, revoke or restore it.

Each is a part of the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from django.utils.translation import gettext as _

from checkout_integration.conf import Project
from checkout_integration.flows.database import key_about_order
from checkout_integration.flows.ledger.batch import (
    NO_ADVICE,
    Advice,
    Batch,
    Cause,
    OrderChange,
    lock,
    look_up,
)
from checkout_integration.flows.ledger.deciding import follow, judge_payment, settle
from checkout_integration.flows.ledger.incidents import incident_kinds, is_grouped
from checkout_integration.flows.ledger.recording import sends_change, signal_key
from checkout_integration.models import Checkout, Incident, Order, OutboxMessage
from checkout_integration.policy.facts import decide
from checkout_integration.policy.fulfilment import fulfilment_of, payment_of
from checkout_integration.policy.verdict import Reason, Verdict, VerdictStatus
from checkout_integration.protocol.vocabulary import OrderStatus

ACCEPTABLE: Final = (VerdictStatus.REVIEW, VerdictStatus.HISTORIC, VerdictStatus.REVOKED)
"""Verdicts of payments that staff may accept."""


def accepted(order: Order, project: Project, cause: Cause) -> Batch:
    """Return the batch that accepts a payment: its goods are granted as if it were verified.

    Raises ``ValueError`` when the order is not in review, historic or revoked, or its payment was reversed.
    """
    batch, change = _locked(order, project, cause)
    if change.verdict_before.status not in ACCEPTABLE or not change.before.stands:
        raise ValueError(
            "Only a paid order can be accepted that is in review, from before the installation, or revoked."
        )
    change.verdict = Verdict(VerdictStatus.ACCEPTED, Reason.BY_STAFF)
    settle(batch, [change])
    return batch


def bound(
    order: Order, project: Project, cause: Cause, *, to: Checkout | Callable[[OrderChange], Checkout]
) -> Batch:
    """Return the batch that binds an order to a checkout: its payment is judged against it.

    ``to`` is a checkout, or inserts one under the order's lock. Raises ``ValueError`` when the order is bound already, or
    the checkout is not there.
    """
    named = {order.order_id: to.pk} if isinstance(to, Checkout) else {}
    batch, change = _locked(order, project, cause, Advice(checkouts=named))
    if change.checkout is not None:
        raise ValueError(_("The order is linked to a checkout already."))
    change.checkout = batch.checkouts[to.pk] if isinstance(to, Checkout) else to(change)
    batch.checkouts[change.checkout.pk] = change.checkout
    judge_payment(batch, change)
    follow(change)
    settle(batch, [change])
    return batch


def revoked(order: Order, project: Project, cause: Cause) -> Batch:
    """Return the batch that revokes the goods of a payment, although the money is with the shop.

    The other payments for the same goods that are known now are revoked too: one of them would pay for the goods instead.
    Each renewal has goods of its own. Raises ``ValueError`` when the order has no goods to revoke.
    """
    batch, own = _locked(order, project, cause, others=_orders_of_checkout(order))
    known = batch.settlement_of([own]).orders.values()
    payments = [payment_of(each.order_id, each.state, each.verdict) for each in known]
    line = next(each for each in fulfilment_of(payments).lines if order.order_id in each.order_ids)
    revocable = [
        each for each in known if each.order_id in line.order_ids and each.verdict.pays and each.state.stands
    ]
    if all(each is not own.order for each in revocable):
        raise ValueError(
            "Only the goods of a payment that is verified or accepted, and stands, can be revoked."
        )
    changes = [OrderChange(order=each, cause=cause) for each in revocable]
    for change in changes:
        change.verdict = Verdict(VerdictStatus.REVOKED, Reason.BY_STAFF)
    settle(batch, changes)
    return batch


def _orders_of_checkout(order: Order) -> list[Order]:
    """Return all orders of an order's checkout; one that is bound meanwhile was not known when staff decided."""
    if order.checkout_id is None:
        return []
    return list(Order.primary.filter(checkout=order.checkout_id).select_related("personal_data"))


def restored(order: Order, project: Project, cause: Cause) -> Batch:
    """Return the batch that restores a reversed payment, for example after a dispute was won.

    Raises ``ValueError`` when the payment was not reversed.
    """
    batch, change = _locked(order, project, cause)
    if not change.before.fully_reversed:
        raise ValueError("Only a payment that was refunded or charged back can be restored.")
    facts = decide(change.before.facts, OrderStatus.PROCESSED, datetime.now(UTC))
    change.after = replace(change.before, facts=facts)
    if not change.verdict.pays:
        change.verdict = Verdict(VerdictStatus.ACCEPTED, Reason.BY_STAFF)
    settle(batch, [change])
    return batch


def _locked(
    order: Order, project: Project, cause: Cause, advice: Advice = NO_ADVICE, others: Sequence[Order] = ()
) -> tuple[Batch, OrderChange]:
    """Return a batch with the order and others of its checkout, locked, and a change in which nothing has changed yet."""
    documents = [each.snapshot for each in {each.order_id: each for each in (*others, order)}.values()]
    batch = lock(project, documents, look_up(project, documents, {}), advice)
    return batch, OrderChange(order=batch.order(order.order_id), cause=cause)


@dataclass(frozen=True, kw_only=True)
class ChangePreview:
    """The changes of one order, and of its checkout.

    Attributes:
        order_id: the service's id.
        status_before: the displayed status; "" for an order that is not known yet.
        status_after: the displayed status afterwards.
        verdict_before: the verdict as words, with its reason.
        verdict_after: the verdict afterwards.
        checkout: the reference of the checkout; "" for an unbound order.
        checkout_before: the checkout's status.
        checkout_after: the checkout's status afterwards.
        signals: names of the signals that are sent, sorted.
        incidents: kinds of the incidents that are opened, or that the payment is added to, sorted.

    """

    order_id: str
    status_before: str
    status_after: str
    verdict_before: str
    verdict_after: str
    checkout: str = ""
    checkout_before: str = ""
    checkout_after: str = ""
    signals: tuple[str, ...] = ()
    incidents: tuple[str, ...] = ()

    @property
    def as_json(self) -> dict[str, Any]:
        """The change as plain values."""
        return asdict(self)

    @property
    def summary(self) -> str:
        """The change in one line, for a log or a terminal."""
        parts = [
            f"order {self.order_id}: {_step(self.status_before or 'unknown', self.status_after)}",
            f"verdict {_step(self.verdict_before, self.verdict_after)}",
        ]
        if self.checkout:
            parts.append(f"checkout {self.checkout}: {_step(self.checkout_before, self.checkout_after)}")
        parts.append(f"signals: {', '.join(self.signals) or 'none'}")
        if self.incidents:
            parts.append(f"incidents: {', '.join(self.incidents)}")
        return ", ".join(parts)


def changes_of(batch: Batch) -> tuple[ChangePreview, ...]:
    """Return the changes of a computed batch, before it is written; signals and incidents that exist are left out."""
    return tuple(_change(batch, change) for change in batch.changes if change.to_write)


def _change(batch: Batch, change: OrderChange) -> ChangePreview:
    checkout = change.checkout
    before, after = _checkout_statuses(batch, change)
    return ChangePreview(
        order_id=change.order_id,
        status_before="" if change.is_new else change.before.status.value,
        status_after=change.after.status.value,
        verdict_before=_words(change.verdict_before.status, change.verdict_before.reason),
        verdict_after=_words(change.verdict.status, change.verdict.reason),
        checkout=checkout.reference if checkout else "",
        checkout_before=before,
        checkout_after=after,
        signals=_new_signals(batch.project, change),
        incidents=_new_incidents(change),
    )


def _checkout_statuses(batch: Batch, change: OrderChange) -> tuple[str, str]:
    """Return the status of the change's checkout before and afterwards; "" without one."""
    if change.checkout is None:
        return "", ""
    for settlement in batch.settlements:
        if any(each is change for each in settlement.changes) and settlement.after is not None:
            return settlement.before[0], settlement.after[0]
    return str(change.checkout.status), str(change.checkout.status)


def _new_signals(project: Project, change: OrderChange) -> tuple[str, ...]:
    names = {signal_key(project, signal): signal.name for signal in change.signals}
    sent = OutboxMessage.primary.filter(idempotency_key__in=list(names))
    known = set(sent.values_list("idempotency_key", flat=True)) if names else set()
    changed = ["order_changed"] if sends_change(change) else []
    return tuple(sorted([name for key, name in names.items() if key not in known] + changed))


def _new_incidents(change: OrderChange) -> tuple[str, ...]:
    kinds = {
        # A payment is added to the incident of the day, whether or not there is one yet.
        kind if is_grouped(change, kind) else key_about_order(order.project, order.order_id, kind): kind
        for kind, order in incident_kinds(change)
    }
    opened = Incident.primary.filter(key__in=list(kinds))
    known = set(opened.values_list("key", flat=True)) if kinds else set()
    return tuple(sorted(kind for key, kind in kinds.items() if key not in known))


def _words(status: str, reason: str) -> str:
    return f"{status} ({reason})" if reason else str(status)


def _step(before: str, after: str) -> str:
    return after if before == after else f"{before} → {after}"
