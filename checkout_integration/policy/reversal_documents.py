"""Reversal documents: in the field, a refund or chargeback is a second item of the list with an id of its own.

It has the ``transaction``, ``metadata`` and ``description`` of the paid order and no field that links it. It is never a
new payment: `may_be_reversal_document` recognises it, `reversal_of` turns it into an observation of the reversed order.
"""

from __future__ import annotations

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
    if order.created_at is None or order.refunded_at is None:
        return True
    return order.refunded_at - order.created_at <= SAME_MOMENT


def may_be_the_order_of(first: Order, second: Order) -> bool:
    """Return whether the first row may be the order that the second one reverses, although both look like reversals.

    An order is charged back once, so of two such rows one is the order. There may be several documents of refunds: a row
    is their order if it was refunded later than it was created, while a document is made by its refund.
    """
    if first.transaction != second.transaction or not is_older(first, second):
        return False
    if first.status == second.status == OrderStatus.CHARGEBACK:
        return True
    if first.created_at is None or first.refunded_at is None:
        return False
    return first.refunded_at - first.created_at > CLOCK_STEP


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
