"""Refunds and chargebacks: what notifications state, and the reversal documents of the list.

A document is assigned to the order that it reverses, or stored until that is known; it is never a payment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from django.db.models import Q, QuerySet

from checkout_integration.conf import Project
from checkout_integration.flows.database import Query, insert_missing, key_of, state_database, upsert
from checkout_integration.flows.ledger.locking import LockedRows
from checkout_integration.flows.ledger.steps import Assigned, LockedOrder, OrderChange, Step
from checkout_integration.models import Order, Refund
from checkout_integration.models.columns import as_column_money, as_column_text
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.policy.personal import REFUND, lasting, split
from checkout_integration.policy.refunds import Refunded, refunded_by
from checkout_integration.policy.reversal_documents import (
    is_older,
    may_be_reversal_document,
    may_be_the_order_of,
    reversal_of,
)
from checkout_integration.protocol import order as documents
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.values import parse_moment
from checkout_integration.protocol.vocabulary import OrderStatus


def assign(project: Project, steps: Sequence[Step]) -> tuple[list[Assigned], list[Observation]]:
    """Return the steps, each assigned to its order, and separately the reversals of unknown orders.

    Two transactions at the same time may miss each other's row: the end of a pass records it again (`missed_reversals`).
    """
    observations = [observation for step in steps for observation in step.observations]
    candidates = [each for each in observations if may_be_reversal_document(each)]
    owners = _owners(project, candidates, observations) if candidates else {}
    is_candidate = {id(each) for each in candidates}
    assigned: list[Assigned] = []
    unmatched: list[Observation] = []
    for position, step in enumerate(steps):
        for observation in step.observations:
            order_id = observation.order.id or ""
            owner = owners.get(order_id) if id(observation) in is_candidate else order_id
            if owner is None:
                unmatched.append(observation)
                continue
            about = observation if owner == order_id else reversal_of(owner, observation)
            assigned.append(
                Assigned(position=position, order_id=owner, observations=(about,), cause=step.cause)
            )
    return assigned, unmatched


def store_unmatched(project: Project, reversals: Sequence[Observation]) -> None:
    """Store reversals as `Refund` rows until their orders come. Called at its place in the lock order (`locking`)."""
    rows: dict[str, Refund] = {}
    for each in reversals:
        row = _waiting_row(project, each)
        rows.setdefault(row.key, row)
    insert_missing(list(rows.values()), "key")


MISSED: Final = Query(
    Refund,
    """own.project = {project} AND own.order_id IS NULL AND (EXISTS (
        SELECT 1 FROM {orders} known WHERE known.project = own.project AND known.[transaction] = own.[transaction]
    ) OR EXISTS (
        SELECT 1 FROM {refunds} other WHERE other.project = own.project AND other.[transaction] = own.[transaction]
            AND other.order_id IS NULL AND other.id <> own.id
    )) ORDER BY own.id""",
    orders=Order,
    refunds=Refund,
)


def missed_reversals(project: Project) -> list[Observation]:
    """Return the reversals that wait although another row of their transaction is stored: it may be their order.

    RACE: that row was recorded in another transaction at the same moment.
    """
    return [_waiting_observation(each) for each in MISSED.rows(project=project.alias)]


def attach_waiting(rows: LockedRows, observations: Sequence[Observation]) -> None:
    """Attach to the orders of a batch the reversals that waited for them. Called under the locks of the orders.

    Reversals can wait only for an order whose transaction is known for the first time.
    """
    named = [each.order for each in observations if each.order.transaction]
    new = [order for order in named if order.transaction != rows.order(order.id or "").row.transaction]
    if not new:
        return
    ids = {order.id or "" for order in new}
    transactions = {order.transaction or "" for order in new}
    for refund in _waiting_for(rows.project, ids, transactions).order_by("pk"):
        observation = _waiting_observation(refund)
        owner = refund.document_id
        if owner not in ids:
            owner = _earliest(observation.order, new) or ""
            observation = reversal_of(owner, observation)
        if owner:
            rows.order(owner).waiting.append((refund, observation))


def _waiting_observation(refund: Refund) -> Observation:
    return Observation(source=Source.LIST, order=parse_order(refund.document), observed_at=refund.observed_at)


def absorb(change: OrderChange) -> None:
    """Add to a change the reversals that waited for its order, once the order names the transaction that they share."""
    transactions = {each.order.transaction for each in change.observations}
    change.absorbed = [each for each in change.order.waiting if each[0].transaction in transactions]
    change.observations += [observation for _, observation in change.absorbed]


def _waiting_for(project: Project, ids: Iterable[str], transactions: Iterable[str]) -> QuerySet[Refund]:
    """Return the reversals without an order that share a transaction with these orders, or are one of them."""
    keys = [key_of("document", project.alias, order_id) for order_id in ids]
    refunds = Refund.objects.using(state_database()).filter(project=project.alias, order=None)
    return refunds.filter(Q(transaction__in=sorted(transactions)) | Q(key__in=keys))


def _owners(
    project: Project, candidates: Sequence[Observation], observations: Sequence[Observation]
) -> dict[str, str]:
    """Return for each candidate's id the id of the order that it is about.

    This is the candidate itself if it is known as an order, else the first created order with the same transaction. If only
    candidates share a transaction, including those that wait, one of them may be the order; otherwise all wait for it.
    """
    ids = [each.order.id or "" for each in candidates]
    transactions = [each.order.transaction or "" for each in candidates]
    known = Order.objects.using(state_database()).filter(project=project.alias)
    rows = known.filter(Q(order_id__in=ids) | Q(transaction__in=transactions)).only(
        "order_id", "transaction", "created_at"
    )
    orders = [parse_order(_identity(row)) for row in rows]
    known_ids = {order.id for order in orders}
    waiting = Refund.objects.using(state_database()).filter(
        project=project.alias, order=None, transaction__in=transactions
    )
    rows_alike = [each.order for each in candidates] + [parse_order(each.document) for each in waiting]
    orders += [each.order for each in observations if each not in candidates]
    owners = {}
    for candidate in (each.order for each in candidates):
        alike = [each for each in rows_alike if may_be_the_order_of(each, candidate)]
        if candidate.id in known_ids:
            owners[candidate.id or ""] = candidate.id or ""
        elif older := _earliest(candidate, [*orders, *alike]):
            owners[candidate.id or ""] = older
        elif any(may_be_the_order_of(candidate, each) for each in rows_alike):
            owners[candidate.id or ""] = candidate.id or ""
    return owners


def _identity(row: Order) -> dict[str, object]:
    created_at = row.created_at.isoformat() if row.created_at else None
    return {"id": row.order_id, "transaction": row.transaction, "created_at": created_at}


def _earliest(reversal: documents.Order, orders: Sequence[documents.Order]) -> str | None:
    older = [each for each in orders if each.transaction == reversal.transaction and is_older(each, reversal)]
    first = min(older, key=lambda each: (each.created_at is not None, each.created_at, each.id), default=None)
    return first.id if first else None


def _waiting_row(project: Project, observation: Observation) -> Refund:
    reversal = observation.order
    # Its customer is not known yet, so no personal data is stored: the order will bring it.
    document, _personal = split(observation.document, lasting(project.reference_key))
    currency = (reversal.refund.currency if reversal.refund else None) or reversal.currency
    return Refund(
        key=key_of("document", project.alias, reversal.id),
        project=project.alias,
        document_id=as_column_text(reversal.id),
        transaction=as_column_text(reversal.transaction),
        status=as_column_text(reversal.status, 16),
        refunded_at=reversal.refunded_at or reversal.created_at,
        amount=as_column_money(reversal.refund.amount if reversal.refund else reversal.amount, currency),
        currency=as_column_text(currency, 8),
        document=document,
        observed_at=observation.observed_at,
    )


REFUND_COLUMNS = tuple(
    "order status refunded_at amount currency reason code receipt_number document transaction observed_at".split()
)


def write_refunds(project: Project, orders: Sequence[LockedOrder]) -> None:
    """Write the refunds of a batch. Called under the locks of their orders.

    A notification's statement and the reversal documents are about the same money, so the documents replace it: any of them
    its refund, and one of a chargeback its chargeback.
    """
    from_list = [_document_row(project, order, each) for order in orders for each in order.reversals]
    reversed_orders = [order for order in orders if _is_reversed(order)]
    known = _known_documents([order.row.pk for order in reversed_orders], from_list)
    stated = [row for order in reversed_orders for row in _stated_rows(order, known[order.row.pk])]
    rows = {row.key: row for row in [*from_list, *stated]}  # the latest of each
    upsert([rows[key] for key in sorted(rows)], "key", update=REFUND_COLUMNS)
    documented = {order.row.pk for order in orders if order.reversals}
    waited = [refund.pk for order in orders for refund in order.orders_themselves]
    if documented or waited:
        replaced = Q(order__in=documented, document_id="") & ~Q(key__in=[row.key for row in stated])
        Refund.objects.using(state_database()).filter(replaced | Q(pk__in=waited)).delete()


def _known_documents(orders: Collection[int], from_list: Sequence[Refund]) -> dict[int, list[Refund]]:
    """Return the documents of orders by the orders' keys: those that are stored, and those that are just written."""
    if not orders:
        return {}
    stored = Refund.objects.using(state_database()).filter(order__in=orders).exclude(document_id="")
    rows = {row.key: row for row in [*stored.defer("document", "reason"), *from_list]}
    return {key: [row for row in rows.values() if row.order_id == key] for key in orders}


def _is_reversed(order: LockedOrder) -> bool:
    state = order.state
    return state.fully_reversed or state.partial or bool(state.order.refund and state.order.refunded)


def _document_row(project: Project, order: LockedOrder, observation: Observation) -> Refund:
    reversal = observation.reversal
    assert reversal is not None  # `OrderChange.reversals` has no others
    refund = reversal.refund
    stated = refunded_by(reversal)
    shown = lasting(project.reference_key)["refund"] if order.erased else REFUND
    return Refund(
        key=key_of("document", project.alias, reversal.id),
        project=project.alias,
        order=order.row,
        document_id=as_column_text(reversal.id),
        transaction=as_column_text(reversal.transaction),
        status=as_column_text(reversal.status, 16),
        refunded_at=reversal.refunded_at or reversal.created_at,
        amount=as_column_money(stated.amount, stated.currency),
        currency=as_column_text(stated.currency, 8),
        reason="" if order.erased or refund is None else refund.reason or "",
        code=as_column_text(refund.code if refund else None),
        receipt_number=as_column_text(refund.receipt_number if refund else None),
        document=split(refund.document, shown or {})[0] if refund else {},
        observed_at=observation.observed_at,
    )


def _stated_rows(order: LockedOrder, documents: Sequence[Refund]) -> Iterator[Refund]:
    """Yield what notifications state and no document does: a refund, and a chargeback of what was left after it.

    By the facts, and not by the status, which shows one of the two, and may have been the other one before.
    """
    status, stated = order.state.status, refunded_by(order.state.order)
    is_refunded = order.state.facts.knows(OrderStatus.REFUNDED)
    is_charged_back = order.state.facts.knows(OrderStatus.CHARGEBACK) or status == OrderStatus.CHARGEBACK
    returned = [
        Refunded(amount=row.amount, currency=row.currency)
        for row in documents
        if row.status == OrderStatus.REFUNDED
    ]
    if not documents and (is_refunded or not is_charged_back):
        yield _stated_row(order, "order", OrderStatus.REFUNDED if is_refunded else status, stated)
        returned = [stated]
    if is_charged_back and all(row.status != OrderStatus.CHARGEBACK for row in documents):
        left = _left(order, returned) if returned else stated
        yield _stated_row(order, "chargeback", OrderStatus.CHARGEBACK, left)


def _left(order: LockedOrder, returned: Sequence[Refunded]) -> Refunded:
    """Return what a chargeback took: the charge without the part that was refunded before."""
    charge = refunded_by(replace(order.state.order, refund=None))
    part = sum(each.amount or 0 for each in returned if each.currency in ("", charge.currency))
    if charge.amount is None or not 0 < part < charge.amount:
        return charge
    return Refunded(amount=charge.amount - part, currency=charge.currency)


def _stated_row(order: LockedOrder, kind: str, status: OrderStatus, stated: Refunded) -> Refund:
    state, document = order.state, order.state.order
    refund = document.refund
    # The document's time is that of the refund before it.
    is_second = status == OrderStatus.CHARGEBACK and state.facts.knows(OrderStatus.REFUNDED)
    return Refund(
        key=key_of(kind, order.row.project, order.order_id),
        project=order.row.project,
        order=order.row,
        transaction=as_column_text(document.transaction),
        status=status.value,
        refunded_at=(None if is_second else document.refunded_at)
        or parse_moment(min(filter(None, state.facts.times(status)), default="")),
        amount=as_column_money(stated.amount, stated.currency),
        currency=as_column_text(stated.currency, 8),
        reason=refund.reason or "" if refund else "",
        code=as_column_text(refund.code if refund else None),
        receipt_number=as_column_text(refund.receipt_number if refund else None),
        document=split(refund.document, REFUND)[0] if refund else {},
    )
