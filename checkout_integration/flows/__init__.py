"""The things that happen: the only writer of state and the only caller of the client.

What a shop calls stands here; the modules behind it read as tables of contents of their paths.
"""

from checkout_integration.client.errors import CheckoutError
from checkout_integration.conf import UnknownAlias
from checkout_integration.flows.binding import CheckoutDescription, bind_order
from checkout_integration.flows.checkout import (
    IssuedToken,
    NotRecorded,
    TransactionOpen,
    create_checkout,
    create_order_from_token,
    create_token,
)
from checkout_integration.flows.due import DueSummary, oldest_due_seconds, run_due
from checkout_integration.flows.erasing import Erasure, erase, survey
from checkout_integration.flows.inbox import ApplySummary, apply_due, apply_for, apply_stored, still_stored
from checkout_integration.flows.inbox.again import (
    WAITING,
    Application,
    NotApplicable,
    apply_notification,
    preview_notification,
    waiting_notifications,
)
from checkout_integration.flows.ledger.preview import ChangePreview
from checkout_integration.flows.outbox import fan_out, queue_state
from checkout_integration.flows.outbox.replay import replay, retry_failed_runs
from checkout_integration.flows.person import Person, find_persons
from checkout_integration.flows.service import service_client
from checkout_integration.flows.support import (
    accept_payment,
    mark_granted,
    preview_acceptance,
    refresh_checkout,
    refresh_order,
    resolve_incident,
    restore_payment,
    run_again,
)
from checkout_integration.flows.sync import UnknownLane, sync_transactions
from checkout_integration.protocol.creation import CreationError, Customer, CustomerAddress

__all__ = [
    "WAITING",
    "Application",
    "ApplySummary",
    "ChangePreview",
    "CheckoutDescription",
    "CheckoutError",
    "CreationError",
    "Customer",
    "CustomerAddress",
    "DueSummary",
    "Erasure",
    "IssuedToken",
    "NotApplicable",
    "NotRecorded",
    "Person",
    "TransactionOpen",
    "UnknownAlias",
    "UnknownLane",
    "accept_payment",
    "apply_due",
    "apply_for",
    "apply_notification",
    "apply_stored",
    "bind_order",
    "create_checkout",
    "create_order_from_token",
    "create_token",
    "erase",
    "fan_out",
    "find_persons",
    "mark_granted",
    "oldest_due_seconds",
    "preview_acceptance",
    "preview_notification",
    "queue_state",
    "refresh_checkout",
    "refresh_order",
    "replay",
    "resolve_incident",
    "restore_payment",
    "retry_failed_runs",
    "run_again",
    "run_due",
    "service_client",
    "still_stored",
    "survey",
    "sync_transactions",
    "waiting_notifications",
]
