"""The operations of staff, commands and monitors.

`draining`: apply and run until nothing is due. `payments`: accept, restore, resolve
an incident; `binding`: bind a payment to a checkout; `receivers`: retry one, or mark its goods as granted. Applying failed
or quarantined notifications is exported here, and implemented in `flows.inbox`; so are health, backlog and queues, which are
implemented in `flows.monitoring`.
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
    "Finding",
    "Health",
    "NotApplicable",
    "ProjectMode",
    "QueueState",
    "Severity",
    "StaffQueue",
    "accept_payment",
    "apply_notification",
    "arun_due",
    "bind_order",
    "health",
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
    "staff_queues",
    "waiting_notifications",
]
