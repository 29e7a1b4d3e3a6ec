"""The operations of staff, commands and monitors.

`draining`: apply and run until nothing is due (`flows.run_due`). `abandoned`: checkouts that stay unpaid. `alerts`: changes
of health. `payments`: accept, revoke, restore, resolve an incident; `binding`: bind a payment to a checkout; `receivers`:
retry one, or mark its goods as granted; `notes`: a note on an order; `customers`: link one to an account, block one. Applying
notifications again is exported here, and implemented in `flows.inbox`; so are health, backlog and queues, which are
implemented in `flows.monitoring`, and the pause and the end of a receiver, in `flows.outbox`. ``__all__`` is public; the
other names are for other rooms.
"""

from checkout_integration.flows.database import acting_from as acting_from
from checkout_integration.flows.database import record_staff_act as record_staff_act
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
    Rows,
    Severity,
    StaffQueue,
    health,
    queue_state,
    staff_queues,
)
from checkout_integration.flows.operations.binding import (
    Candidate,
    CheckoutDescription,
    bind_order,
    checkout_candidates,
    goes_to_another,
)
from checkout_integration.flows.operations.customers import (
    block_customer,
    link_account,
    linkable_checkouts,
    unblock_customer,
    undo_claim,
    unlink_account,
)
from checkout_integration.flows.operations.customers import rows_of_person as rows_of_person
from checkout_integration.flows.operations.draining import run_due as run_due
from checkout_integration.flows.operations.draining import run_own as run_own
from checkout_integration.flows.operations.notes import add_note
from checkout_integration.flows.operations.payments import (
    accept_payment,
    preview_decision,
    resolve_incident,
    restore_payment,
    revoke_payment,
)
from checkout_integration.flows.operations.receivers import (
    Pause,
    is_retryable,
    mark_granted,
    markable_runs,
    pause_of,
    pauses,
    retry_run,
    retry_runs,
    retryable_runs,
)
from checkout_integration.flows.outbox import pause_receiver, resume_receiver, retire_receiver

__all__ = [
    "Application",
    "Candidate",
    "ChangePreview",
    "CheckoutDescription",
    "Finding",
    "Health",
    "NotApplicable",
    "Pause",
    "ProjectMode",
    "QueueState",
    "Rows",
    "Severity",
    "StaffQueue",
    "accept_payment",
    "add_note",
    "apply_notification",
    "bind_order",
    "block_customer",
    "checkout_candidates",
    "goes_to_another",
    "health",
    "is_retryable",
    "link_account",
    "linkable_checkouts",
    "mark_granted",
    "markable_runs",
    "notifications_of",
    "pause_of",
    "pause_receiver",
    "pauses",
    "preview_decision",
    "preview_notification",
    "queue_state",
    "resolve_incident",
    "restore_payment",
    "resume_receiver",
    "retire_receiver",
    "retry_run",
    "retry_runs",
    "retryable_runs",
    "revoke_payment",
    "staff_queues",
    "unblock_customer",
    "undo_claim",
    "unlink_account",
    "waiting_notifications",
]
