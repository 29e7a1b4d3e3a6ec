"""Reversal documents: in the field, a refund or chargeback is a second item of the list with an id of its own.

It has the ``transaction``, ``metadata`` and ``description`` of the paid order and no field that links it. It is never a
new payment: `may_be_reversal_document` recognises it, `reversal_of` turns it into an observation of the reversed order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from checkout_integration.policy.facts import REVERSALS
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol.order import Order, parse_order
from checkout_integration.protocol.vocabulary import OrderStatus

SAME_MOMENT = timedelta(seconds=60)
CLOCK_STEP = timedelta(seconds=1)


def may_be_reversal_document(observation: Observation) -> bool:
    """Return whether a list row of an id that is not known as an order may be the document of another order's reversal.

    An order that was itself refunded was created before its refund; a reversal document is created by it.
    """
    order = observation.order
    if observation.source is not Source.LIST or order.status not in REVERSALS or not order.transaction:
        return False
    if observation.is_order:
        return False
    return None in (order.created_at, order.refunded_at) or _lasted(order) <= SAME_MOMENT


def may_be_the_order_of(first: Order, second: Order) -> bool:
    """Return whether the first row may be the order that the second one reverses, although both look like reversals.

    An order is charged back once, so of two such rows one is the order. There may be several documents of refunds: a row
    is their order if it was refunded later than it was created, while a document is made by its refund.
    """
    if first.transaction != second.transaction or not is_older(first, second):
        return False
    if first.status == second.status == OrderStatus.CHARGEBACK:
        return True
    return None not in (first.created_at, first.refunded_at) and _lasted(first) > CLOCK_STEP


def is_the_order(row: Order, alike: Sequence[Order]) -> bool:
    """Return whether a row that looks like a reversal is the order itself; ``alike`` is all that there is of its transaction.

    Its payment would be among them. So the earliest row is the order, charged back (STA-07) or refunded at once; but one
    row alone that was created by its refund may be the document of a payment that the service does not show.
    """
    if any(is_older(each, row) for each in alike):
        return False
    made_by_refund = row.status == OrderStatus.REFUNDED and _lasted(row) <= CLOCK_STEP
    return not made_by_refund or len(alike) > 1


def _lasted(row: Order) -> timedelta:
    """Return how long after its creation a row was refunded; "long" where a time is not known."""
    return row.refunded_at - row.created_at if row.created_at and row.refunded_at else timedelta.max


def is_older(order: Order, reversal: Order) -> bool:
    """Return whether the order was created before the reversal document: the earliest row of a transaction is the order."""
    if order.created_at is None or reversal.created_at is None:
        return order.created_at is None and reversal.created_at is not None
    return order.created_at < reversal.created_at


def reversal_of(order_id: str, observation: Observation) -> Observation:
    """Return an observation of the reversed order, with the status, the times and the refund of this document only."""
    reversal = observation.order
    fields = ("status", "refunded", "refunded_at", "refund", "receipt_number", "transaction")
    document = {name: reversal.document[name] for name in fields if name in reversal.document}
    if reversal.status == OrderStatus.REFUNDED and reversal.refunded_at is None and reversal.created_at:
        document["refunded_at"] = reversal.document["created_at"]
    return replace(observation, order=parse_order({**document, "id": order_id}), reversal=reversal)
