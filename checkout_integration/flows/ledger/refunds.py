"""Rows of refunds and chargebacks: one for each reversal document, else one for what a notification states."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import key_of, state_database
from checkout_integration.flows.database.statements import upsert
from checkout_integration.flows.ledger.order_change import LockedOrder
from checkout_integration.models import Refund
from checkout_integration.models.columns import as_column_money, as_column_text
from checkout_integration.policy.observation import Observation
from checkout_integration.policy.personal import REFUND, lasting, split
from checkout_integration.policy.refunds import refunded_by

COLUMNS = tuple(
    "order status refunded_at amount currency reason code receipt_number document transaction observed_at".split()
)


def write_refunds(project: Project, orders: Sequence[LockedOrder]) -> None:
    """Write the refunds of a batch. Called under the locks of their orders.

    What a notification states and a reversal document are the same money, so the documents take its place.
    """
    documents = [_document_row(project, order, each) for order in orders for each in order.reversals]
    documented = {order.row.pk for order in orders if order.reversals}
    others = [order for order in orders if _is_reversed(order) and order.row.pk not in documented]
    refunds = Refund.objects.using(state_database())
    if others:
        stored = refunds.filter(order__in=[order.row.pk for order in others]).exclude(document_id="")
        before = set(stored.values_list("order_id", flat=True))
        others = [order for order in others if order.row.pk not in before]
    rows = {row.key: row for row in [*documents, *map(_stated_row, others)]}  # the latest of each
    upsert([rows[key] for key in sorted(rows)], "key", update=COLUMNS)
    waited = [refund.pk for order in orders for refund in order.orders_themselves]
    if documented or waited:
        refunds.filter(Q(order__in=documented, document_id="") | Q(pk__in=waited)).delete()


def _is_reversed(order: LockedOrder) -> bool:
    state = order.state
    return state.order.refund is not None and (
        bool(state.order.refunded) or state.fully_reversed or state.partial
    )


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


def _stated_row(order: LockedOrder) -> Refund:
    document = order.state.order
    assert document.refund is not None  # `_is_reversed`
    return Refund(
        key=key_of("order", order.row.project, order.order_id),
        project=order.row.project,
        order=order.row,
        transaction=as_column_text(document.transaction),
        status=order.state.status.value,
        refunded_at=document.refunded_at,
        amount=as_column_money(document.refund.amount, document.refund.currency),
        currency=as_column_text(document.refund.currency, 8),
        reason=document.refund.reason or "",
        code=as_column_text(document.refund.code),
        receipt_number=as_column_text(document.refund.receipt_number),
        document=split(document.refund.document, REFUND)[0],
    )
