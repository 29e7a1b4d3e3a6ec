"""Rows of refunds and chargebacks: one for each reversal document, else one for what a notification states."""

from __future__ import annotations

from collections.abc import Sequence

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import insert_once, key_of, state_database
from checkout_integration.flows.ledger.entry import Entry
from checkout_integration.models import Refund
from checkout_integration.models.columns import as_column_money, as_column_text
from checkout_integration.policy.observation import Observation
from checkout_integration.policy.personal import REFUND, lasting, split
from checkout_integration.policy.refunds import refunded_by

COLUMNS = tuple(
    "order status refunded_at amount currency reason code receipt_number document transaction observed_at".split()
)


def write_refunds(project: Project, entries: Sequence[Entry]) -> None:
    """Write the refunds of a batch. Called under the locks of their orders.

    What a notification states and a reversal document are the same money, so the documents take its place.
    """
    documents = [_document_row(project, entry, each) for entry in entries for each in entry.reversals]
    documented = {entry.row.pk for entry in entries if entry.reversals}
    others = [entry for entry in entries if _is_reversed(entry) and entry.row.pk not in documented]
    refunds = Refund.objects.using(state_database())
    if others:
        known = refunds.filter(order__in=[entry.row.pk for entry in others]).exclude(document_id="")
        before = set(known.values_list("order_id", flat=True))
        others = [entry for entry in others if entry.row.pk not in before]
    insert_once([*documents, *map(_stated_row, others)], "key", update_fields=COLUMNS)
    if documented:
        refunds.filter(order__in=documented, document_id="").delete()


def _is_reversed(entry: Entry) -> bool:
    return entry.after.order.refund is not None and (
        bool(entry.after.order.refunded) or entry.after.fully_reversed or entry.after.partial
    )


def _document_row(project: Project, entry: Entry, observation: Observation) -> Refund:
    reversal = observation.reversal
    assert reversal is not None  # `Entry.reversals` has no others
    refund = reversal.refund
    stated = refunded_by(reversal)
    shown = lasting(project.reference_key)["refund"] if entry.erased else REFUND
    return Refund(
        key=key_of("document", project.alias, reversal.id),
        project=project.alias,
        order=entry.row,
        document_id=as_column_text(reversal.id),
        transaction=as_column_text(reversal.transaction),
        status=as_column_text(reversal.status, 16),
        refunded_at=reversal.refunded_at or reversal.created_at,
        amount=as_column_money(stated.amount, stated.currency),
        currency=as_column_text(stated.currency, 8),
        reason="" if entry.erased or refund is None else refund.reason or "",
        code=as_column_text(refund.code if refund else None),
        receipt_number=as_column_text(refund.receipt_number if refund else None),
        document=split(refund.document, shown or {})[0] if refund else {},
        observed_at=observation.observed_at,
    )


def _stated_row(entry: Entry) -> Refund:
    order = entry.after.order
    assert order.refund is not None  # `_is_reversed`
    return Refund(
        key=key_of("order", entry.row.project, entry.order_id),
        project=entry.row.project,
        order=entry.row,
        transaction=as_column_text(order.transaction),
        status=entry.after.status.value,
        refunded_at=order.refunded_at,
        amount=as_column_money(order.refund.amount, order.refund.currency),
        currency=as_column_text(order.refund.currency, 8),
        reason=order.refund.reason or "",
        code=as_column_text(order.refund.code),
        receipt_number=as_column_text(order.refund.receipt_number),
        document=split(order.refund.document, REFUND)[0],
    )
