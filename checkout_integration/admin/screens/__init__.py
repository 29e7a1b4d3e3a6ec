"""One file a table: its list, and the page of a row."""

from checkout_integration.admin.screens.apply_notifications import preview_tables
from checkout_integration.admin.screens.changes import application_in_words, verdict_in_words
from checkout_integration.admin.screens.checkouts import CheckoutAdmin
from checkout_integration.admin.screens.customers import CustomerAdmin
from checkout_integration.admin.screens.incidents import IncidentAdmin
from checkout_integration.admin.screens.link_account import LINK
from checkout_integration.admin.screens.notifications import NotificationAdmin, delay_of
from checkout_integration.admin.screens.outbox_messages import OutboxMessageAdmin
from checkout_integration.admin.screens.personal_data import ERASE, EXPORT
from checkout_integration.admin.screens.privacy_acts import PrivacyActAdmin
from checkout_integration.admin.screens.receiver_runs import ReceiverRunAdmin
from checkout_integration.admin.screens.refunds import RefundAdmin
from checkout_integration.admin.screens.sync_runs import SyncRunAdmin
from checkout_integration.admin.screens.validation_decisions import ValidationDecisionAdmin

__all__ = [
    "ERASE",
    "EXPORT",
    "LINK",
    "CheckoutAdmin",
    "CustomerAdmin",
    "IncidentAdmin",
    "NotificationAdmin",
    "OutboxMessageAdmin",
    "PrivacyActAdmin",
    "ReceiverRunAdmin",
    "RefundAdmin",
    "SyncRunAdmin",
    "ValidationDecisionAdmin",
    "application_in_words",
    "delay_of",
    "preview_tables",
    "verdict_in_words",
]
