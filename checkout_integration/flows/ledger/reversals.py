"""Refunds and chargebacks: what notifications state, and the reversal documents of the list.

A document is assigned to the order that it reverses, or stored until that is known; it is never a payment. A batch enters
this file five times, in this sequence:

    assign            before the locks: which order does each document reverse? None for one whose order is unknown
    attach_waiting    under the locks of the orders: documents that were stored earlier, and waited for one of them
    absorb            deciding a step: those of them that share the transaction that its order names now
    store_unmatched   writing: the documents without an order, as rows that wait
    write_refunds     writing, after the orders: a row for each document, and one for what only notifications state

"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from django.db.models import Exists, OuterRef, Q, QuerySet

from checkout_integration.conf import Project
from checkout_integration.flows.database import insert_missing, key_of, update, upsert
from checkout_integration.flows.ledger.batch import Batch, LockedOrder, OrderChange, Step
from checkout_integration.models import Checkout, Order, Refund
from checkout_integration.models.columns import as_column_money, as_column_text
from checkout_integration.policy.erasure import lasting
from checkout_integration.policy.facts import REVERSALS
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.policy.personal import REFUND, Public, split
from checkout_integration.policy.refunds import Refunded, code_of, refunded_by
from checkout_integration.policy.reversal_documents import (
    is_older,
    is_the_order,
    may_be_reversal_document,
    may_be_the_order_of,
    reversal_of,
)
from checkout_integration.policy.state import OrderState
from checkout_integration.protocol import order as documents
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.values import parse_moment
from checkout_integration.protocol.vocabulary import OrderStatus


def assign(project: Project, steps: Sequence[Step]) -> list[Step | None]:
    """Return each step as one about its order; None for the reversal of an unknown order."""
    observations = [step.observation for step in steps]
    candidates = [each for each in observations if may_be_reversal_document(each)]
    owners = _owners(project, candidates, observations) if candidates else {}
    is_candidate = {id(each) for each in candidates}
    assigned: list[Step | None] = []
    for step in steps:
        own = step.order_id
        owner = owners.get(own) if id(step.observation) in is_candidate else own
        if owner is not None and owner != own:
            assigned.append(replace(step, observation=reversal_of(owner, step.observation)))
        else:
            assigned.append(None if owner is None else step)
    return assigned


def store_unmatched(project: Project, reversals: Sequence[Observation]) -> None:
    """Store reversals as `Refund` rows until their orders come. Called at its place in the lock order (`batch`)."""
    rows: dict[str, Refund] = {}
    for each in reversals:
        row = _waiting_row(project, each)
        rows.setdefault(row.key, row)
    insert_missing(list(rows.values()), "key")


def missed_reversals(project: Project, *, read_whole: bool) -> list[Observation]:
    """Return the reversals that wait although another row of their transaction is stored: it may be their order.

    RACE: one worker reads the window with the payment, another one that with its refund. Each looks for the other's row
    (`assign`, `attach_waiting`), finds nothing, since neither has committed, and stores its own: the refund waits for an
    order that is there. No lock could order them, as there is no row yet that both know. So the end of a pass looks once
    more.

    ``read_whole``: the pass has read every row of the list. What still waits then may be the order itself (`is_the_order`),
    in a shop that has never heard of it, such as a restored backup.
    """
    waiting = Refund.primary.filter(project=project.alias, order=None)
    same = {"project": project.alias, "transaction": OuterRef("transaction")}
    known = Exists(Order.primary.filter(**same)) | Exists(waiting.filter(**same).exclude(pk=OuterRef("pk")))
    missed = {each.pk: _waiting_observation(each) for each in waiting.filter(known).order_by("pk")}
    if read_whole:
        unpaid = waiting.exclude(Exists(Order.primary.filter(**same)))
        rows = {each.pk: _waiting_observation(each) for each in unpaid.order_by("pk")}
        alike = defaultdict(list)
        for row in rows.values():
            alike[row.order.transaction].append(row.order)
        orders = {
            key: replace(row, is_order=True)
            for key, row in rows.items()
            if is_the_order(row.order, alike[row.order.transaction])
        }
        missed = orders | {key: each for key, each in missed.items() if key not in orders}
    return list(missed.values())


def attach_waiting(batch: Batch, orders: Sequence[documents.Order]) -> None:
    """Attach to the orders of a batch the reversals that waited for them. Called under the locks of the orders.

    Reversals can wait only for an order whose transaction is known for the first time.
    """
    named = [order for order in orders if order.transaction]
    new = [order for order in named if order.transaction != batch.order(order.id or "").row.transaction]
    if not new:
        return
    ids = {order.id or "" for order in new}
    transactions = {order.transaction or "" for order in new}
    for refund in _waiting_for(batch.project, ids, transactions).order_by("pk"):
        observation = _waiting_observation(refund)
        owner = refund.document_id
        if owner not in ids:
            owner = _earliest(observation.order, new) or ""
            observation = reversal_of(owner, observation)
        if owner:
            batch.order(owner).waiting.append((refund, observation))


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
    refunds = Refund.primary.filter(project=project.alias, order=None)
    return refunds.filter(Q(transaction__in=sorted(transactions)) | Q(key__in=keys))


def _owners(
    project: Project, candidates: Sequence[Observation], observations: Sequence[Observation]
) -> dict[str, str]:
    """Return for each candidate's id the id of the order that it is about.

    This is the candidate itself if it is known as an order, or as that of a checkout: by the specification a chargeback is a
    status of the order, without a time (STA-07). Else it is the first created order with the same transaction. If only
    candidates share a transaction, including those that wait, one of them may be the order; otherwise all wait for it.
    """
    ids = [each.order.id or "" for each in candidates]
    transactions = [each.order.transaction or "" for each in candidates]
    known = Order.primary.filter(project=project.alias)
    rows = known.filter(Q(order_id__in=ids) | Q(transaction__in=transactions)).only(
        "order_id", "transaction", "created_at"
    )
    orders = [parse_order(_identity(row)) for row in rows]
    checkouts = Checkout.primary.filter(project=project.alias, order_id__in=ids)
    known_ids = {*(order.id for order in orders), *checkouts.values_list("order_id", flat=True)}
    waiting = Refund.primary.filter(project=project.alias, order=None, transaction__in=transactions)
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
    # Its customer is not known yet, so no personal data is stored: the order will bring it.
    document, _personal = split(observation.document, lasting(project.reference_key))
    row = _row_of(project, observation.order, observation)
    row.document = document
    return row


def _row_of(project: Project, reversal: documents.Order, observation: Observation) -> Refund:
    """Return the row of a reversal document, without its order and its texts."""
    amount, currency = _columns(refunded_by(reversal))
    return Refund(
        key=key_of("document", project.alias, reversal.id),
        project=project.alias,
        document_id=as_column_text(reversal.id),
        transaction=as_column_text(reversal.transaction),
        status=as_column_text(reversal.status, 16),
        refunded_at=reversal.refunded_at or reversal.created_at,
        amount=amount,
        currency=currency,
        observed_at=observation.observed_at,
    )


REFUND_COLUMNS = tuple(
    "order status refunded_at amount currency reason code receipt_number document transaction observed_at".split()
)


def write_refunds(project: Project, orders: Sequence[LockedOrder]) -> None:
    """Write the refunds of a batch. Called under the locks of their orders.

    The amounts are those of `policy.refunds`: a row for each reversal document, and one for what notifications state beyond
    them. It gets smaller as the documents come, and goes when they are complete.
    """
    from_list = {
        row.key: row
        for order in orders
        for row in (_document_row(project, order, each) for each in order.reversals)
    }
    reversed_orders = [order for order in orders if is_reversed(order.state)]
    stored = _stored_rows([order.row.pk for order in reversed_orders if not order.is_new])
    rows, moved = dict(from_list), list[Refund]()
    gone = [refund.pk for order in orders for refund in order.orders_themselves]
    for order in reversed_orders:
        own = [row for row in stored if row.order_id == order.row.pk]
        new = {row.key: row for row in from_list.values() if row.order_id == order.row.pk}
        documents = {row.key: row for row in own if row.document_id} | new
        amounts = document_amounts(project, order.state)
        for row in documents.values():
            amount = amounts.get(row.key, (row.amount, row.currency))
            if amount != (row.amount, row.currency):
                row.amount, row.currency = amount
                moved += [] if row.key in new else [row]
        stated = {row.key: row for row in _stated_rows(order, list(documents.values()))}
        rows |= stated
        gone += [row.pk for row in own if not row.document_id and row.key not in stated]
    upsert([rows[key] for key in sorted(rows)], "key", update=REFUND_COLUMNS)
    update(moved, ("amount", "currency"))
    if gone:
        Refund.primary.filter(pk__in=gone).delete()


def is_reversed(state: OrderState) -> bool:
    """Return whether a refund or chargeback of the order is known, so that it has rows."""
    return any(state.facts.knows(kind) for kind in REVERSALS)


def document_amounts(project: Project, state: OrderState) -> dict[str, tuple[Decimal | None, str]]:
    """Return amount and currency of the rows of an order's refund documents, by their keys."""
    return {
        key_of("document", project.alias, name): _columns(refunded)
        for name, refunded in state.returned.documents.items()
    }


def stated_amounts(
    state: OrderState, documents: Iterable[str]
) -> dict[tuple[OrderStatus, str], tuple[Decimal | None, str]]:
    """Return what no document has: refunds by currency, and the chargeback; ``documents`` are the documents' statuses.

    By the facts, and not by the status, which shows one of the two, and may have been the other one before.
    """
    amounts = {
        (OrderStatus.REFUNDED, currency): _columns(Refunded(amount=amount, currency=currency))
        for currency, amount in state.returned.rest.items()
    }
    charged_back = state.facts.knows(OrderStatus.CHARGEBACK)
    if charged_back and OrderStatus.CHARGEBACK not in documents:
        amounts[OrderStatus.CHARGEBACK, ""] = _columns(_left(state))
    return amounts


def _columns(refunded: Refunded) -> tuple[Decimal | None, str]:
    return as_column_money(refunded.amount, refunded.currency), as_column_text(refunded.currency, 8)


def _left(state: OrderState) -> Refunded:
    """Return what a chargeback took: the charge without the part that was refunded before."""
    if not state.facts.knows(OrderStatus.REFUNDED):
        return refunded_by(state.order)
    charge = refunded_by(replace(state.order, refund=None))
    part = state.returned.sums.get(code_of(charge.currency), Decimal(0))
    if charge.amount is None or not 0 < part < charge.amount:
        return charge
    return Refunded(amount=charge.amount - part, currency=charge.currency)


def _stored_rows(orders: Collection[int]) -> list[Refund]:
    if not orders:
        return []
    stored = Refund.primary.filter(order__in=orders)
    return list(stored.defer("document", "reason").order_by("pk"))


def _document_row(project: Project, order: LockedOrder, observation: Observation) -> Refund:
    reversal = observation.reversal
    assert reversal is not None  # `OrderChange.reversals` has no others
    row = _row_of(project, reversal, observation)
    row.order = order.row
    if order.erased:
        _set_texts(row, reversal, lasting(project.reference_key)["refund"] or {})
        row.reason = ""
    else:
        _set_texts(row, reversal, REFUND)
    return row


def _set_texts(row: Refund, document: documents.Order, shown: Public) -> None:
    """Set what a document says about its refund; of its JSON the parts that are not personal, or are to last."""
    refund = document.refund
    if refund is not None:
        row.reason = refund.reason or ""
        row.code = as_column_text(refund.code)
        row.receipt_number = as_column_text(refund.receipt_number)
        row.document = split(refund.document, shown)[0]


def _stated_rows(order: LockedOrder, documents: Sequence[Refund]) -> Iterator[Refund]:
    """Yield a row for each refund that notifications state and no document has."""
    project, document = order.row.project, order.state.order
    statuses = [row.status for row in documents]
    for (status, currency), (amount, code) in stated_amounts(order.state, statuses).items():
        kind = "order" if status is OrderStatus.REFUNDED else "chargeback"
        row = Refund(
            key=key_of(kind, project, order.order_id, currency),
            project=project,
            order=order.row,
            transaction=as_column_text(document.transaction),
            status=status.value,
            refunded_at=_reversed_at(order.state, status),
            amount=amount,
            currency=code,
        )
        _set_texts(row, document, REFUND)
        yield row


def _reversed_at(state: OrderState, status: OrderStatus) -> datetime | None:
    """Return the time of the last refund, as documents state it; else the first time at which the reversal is known.

    An earlier statement that arrives later changes the time in the order's document, but not this one. The document of a
    chargeback has the chargeback's time, unless there was a refund before it.
    """
    stated = state.order.refunded_at
    if state.facts.knows(OrderStatus.REFUNDED):
        stated = parse_moment(_last_refund(state)) if status is OrderStatus.REFUNDED else None
    return stated or parse_moment(min(filter(None, state.facts.times(status)), default=""))


def _last_refund(state: OrderState) -> str:
    return max(
        (
            slot.latest
            for key, slot in state.facts.slots.items()
            if key.startswith(f"{OrderStatus.REFUNDED}/") and (slot.own or key.endswith(f"/{Source.LIST}"))
        ),
        default="",
    )
