"""The inbox: store notifications, apply them in batches, and record the outcomes.

`storing` makes the row of a request. `claiming` finds and locks due ones; `applying` reads a batch (`reading`), passes it to
the ledger and records the outcomes (`settling`). `waiting` applies the notifications of one checkout. `by_staff` applies
failed, quarantined or applied ones, and previews this.
"""

from checkout_integration.flows.inbox.applying import apply_due
from checkout_integration.flows.inbox.by_staff import (
    WAITING,
    Application,
    NotApplicable,
    apply_notification,
    notifications_of,
    preview_notification,
    waiting_notifications,
)
from checkout_integration.flows.inbox.reading import read, read_notification
from checkout_integration.flows.inbox.storing import (
    VerifiedNotification,
    open_incidents_about,
    row_of,
    store,
    store_settled,
    stored_row,
    unreadable_incidents,
    unreadable_row_of,
)
from checkout_integration.flows.inbox.waiting import (
    apply_for,
    apply_for_account,
    apply_orders_of,
    still_stored,
)
