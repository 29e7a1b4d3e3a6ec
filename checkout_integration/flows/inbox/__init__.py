"""Stored notifications, and applying them: what other rooms call."""

from checkout_integration.flows.inbox.applying import ApplySummary, apply_due
from checkout_integration.flows.inbox.storing import (
    Verified,
    row_of,
    store,
    store_settled,
    stored_row,
    unreadable_row_of,
)
from checkout_integration.flows.inbox.waiting import apply_for, apply_stored, oldest_due, still_stored

__all__ = [
    "ApplySummary",
    "Verified",
    "apply_due",
    "apply_for",
    "apply_stored",
    "oldest_due",
    "row_of",
    "still_stored",
    "store",
    "store_settled",
    "stored_row",
    "unreadable_row_of",
]
