"""The operations of staff, commands and monitors.

`draining`: apply and run until nothing is due; `backlog`: the size and age of due work. `payments`: accept, restore, resolve
an incident; `binding`: bind a payment to a checkout; `receivers`: retry one, or mark its goods as granted. Applying failed
or quarantined notifications is exported here, and implemented in `flows.inbox`.
"""

from checkout_integration.flows.inbox import (
    WAITING,
    Application,
    NotApplicable,
    apply_notification,
    preview_notification,
    waiting_notifications,
)
from checkout_integration.flows.ledger import ChangePreview
from checkout_integration.flows.operations.backlog import QueueState, queue_state
from checkout_integration.flows.operations.binding import CheckoutDescription, bind_order
from checkout_integration.flows.operations.draining import (
    DueSummary,
    arun_due,
    is_anything_left,
    run_due,
    run_own,
)
from checkout_integration.flows.operations.payments import (
    accept_payment,
    preview_acceptance,
    resolve_incident,
    restore_payment,
)
from checkout_integration.flows.operations.receivers import RETRYABLE_STATES, mark_granted, retry_run

__all__ = [
    "RETRYABLE_STATES",
    "WAITING",
    "Application",
    "ChangePreview",
    "CheckoutDescription",
    "DueSummary",
    "NotApplicable",
    "QueueState",
    "accept_payment",
    "apply_notification",
    "arun_due",
    "bind_order",
    "is_anything_left",
    "mark_granted",
    "preview_acceptance",
    "preview_notification",
    "queue_state",
    "resolve_incident",
    "restore_payment",
    "retry_run",
    "run_due",
    "run_own",
    "waiting_notifications",
]
