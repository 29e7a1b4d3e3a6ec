"""Granting a sale and taking it back: which order pays a checkout, and what is announced once for it."""

from __future__ import annotations

from datetime import UTC, datetime

from checkout_integration.flows.database import state_database
from checkout_integration.flows.entry import Entry, Notice
from checkout_integration.models import Announcement, Checkout, Order
from checkout_integration.models.columns import as_column_text
from checkout_integration.policy.verdict import Reason, Verdict, VerdictStatus


def grant(entry: Entry) -> None:
    """Announces ``checkout_paid``: the first verified success pays the checkout, a further one is a renewal or a review.

    The checkout's row is locked, so of two orders of one sale exactly one pays it.
    """
    checkout = entry.checkout
    if checkout is None:
        entry.notices.append(Notice("checkout_paid", ("accepted", entry.order_id)))
    elif entry.is_payer or not _is_paid(checkout):
        # A renewal on the same page of the list is compared with what is not written yet.
        entry.row.recurring_id = as_column_text(entry.after.order.recurring_id)
        checkout.paid_order = entry.row
        checkout.paid_at = checkout.paid_at or datetime.now(UTC)
        checkout.status = Checkout.Status.PAID
        entry.notices.append(Notice("checkout_paid", ("paid", checkout.reference)))
    elif _is_renewal(entry):
        once = ("renewal", checkout.reference, entry.order_id)
        entry.notices.append(Notice("checkout_paid", once, {"renewal": True}))
    elif entry.verdict.reason == Reason.BY_STAFF:
        entry.notices.append(Notice("checkout_paid", ("accepted", entry.order_id)))
    else:
        entry.verdict = Verdict(VerdictStatus.REVIEW, Reason.PAID_TWICE)


def take_back(entry: Entry) -> None:
    """Announces ``checkout_reversed`` when a payment that granted goods has been fully refunded or charged back."""
    before, after = entry.before, entry.after
    if not after.fully_reversed or (before.fully_reversed and before.status == after.status):
        return
    if not _was_granted(entry):
        return
    if entry.checkout and entry.is_payer:
        entry.checkout.status = Checkout.Status.REVERSED
    sale = entry.checkout.reference if entry.checkout and entry.is_payer else entry.order_id
    once = ("reversed", sale, entry.after.status.value)
    entry.notices.append(Notice("checkout_reversed", once, {"renewal": _is_renewal(entry)}))


def _is_paid(checkout: Checkout) -> bool:
    return checkout.paid_order_id is not None or checkout.paid_order is not None


def _is_renewal(entry: Entry) -> bool:
    """Whether this is a recurring payment of the agreement that paid its checkout."""
    told, checkout = entry.after.order, entry.checkout
    if checkout is None or entry.is_payer or not (told.recurring and told.recurring_id):
        return False
    if Checkout._meta.get_field("paid_order").is_cached(
        checkout
    ):  # paid by this batch, which is not written yet
        return checkout.paid_order is not None and checkout.paid_order.recurring_id == told.recurring_id
    if checkout.paid_order_id is None:
        return False
    payer = Order.objects.using(state_database()).filter(pk=checkout.paid_order_id)
    return payer.filter(recurring_id=told.recurring_id).exists()


def _was_granted(entry: Entry) -> bool:
    """Whether goods were ever announced for this order. A cancel or a conflict since then may have withdrawn the verdict."""
    if entry.granted_before or entry.is_payer:
        return True
    granted = Announcement.objects.using(state_database()).filter(
        order_id=entry.row.pk, signal="checkout_paid"
    )
    return not entry.is_new and granted.exists()


def announce_review(entry: Entry, reason: str) -> None:
    """Announces ``payment_review``, once per order and reason, and opens an incident."""
    entry.notices.append(Notice("payment_review", ("review", entry.order_id, reason), {"reason": reason}))
    entry.incidents.append(f"review:{reason}")
