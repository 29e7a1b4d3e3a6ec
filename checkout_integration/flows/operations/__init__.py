"""The operations of staff, commands and monitors.

`draining`: apply and run until nothing is due. `payments`: accept, restore, resolve an incident; `binding`: bind a payment to
a checkout; `receivers`: retry one, or mark its goods as granted; `notes`: a note on an order, the account of a customer.
Applying notifications again is exported here, and implemented in `flows.inbox`; so are health, backlog and queues, which are
implemented in `flows.monitoring`. ``__all__`` is public; the other names are for other rooms.
"""

from checkout_integration.flows.inbox import WAITING as WAITING
from checkout_integration.flows.inbox import (
    Application,
    NotApplicable,
    apply_notification,
    notifications_of,
    preview_notification,
    waiting_notifications,
)
from checkout_integration.flows.ledger import ChangePreview
from checkout_integration.flows.monitoring import (
    Finding,
    Health,
    ProjectMode,
    QueueState,
    Severity,
    StaffQueue,
    health,
    queue_state,
    staff_queues,
)
from checkout_integration.flows.operations.binding import CheckoutDescription, bind_order
from checkout_integration.flows.operations.draining import DueSummary, arun_due, run_due
from checkout_integration.flows.operations.draining import is_anything_left as is_anything_left
from checkout_integration.flows.operations.draining import run_own as run_own
from checkout_integration.flows.operations.notes import add_note, link_account
from checkout_integration.flows.operations.payments import (
    accept_payment,
    preview_acceptance,
    resolve_incident,
    restore_payment,
)
from checkout_integration.flows.operations.receivers import (
    is_retryable,
    mark_granted,
    markable_runs,
    retry_run,
    retryable_runs,
)

__all__ = [
    "Application",
    "ChangePreview",
    "CheckoutDescription",
    "DueSummary",
    "Finding",
    "Health",
    "NotApplicable",
    "ProjectMode",
    "QueueState",
    "Severity",
    "StaffQueue",
    "accept_payment",
    "add_note",
    "apply_notification",
    "arun_due",
    "bind_order",
    "health",
    "is_retryable",
    "link_account",
    "mark_granted",
    "markable_runs",
    "notifications_of",
    "preview_acceptance",
    "preview_notification",
    "queue_state",
    "resolve_incident",
    "restore_payment",
    "retry_run",
    "retryable_runs",
    "run_due",
    "staff_queues",
    "waiting_notifications",
]
