"""Django's tables. Queries only; no network, no signals, and no writing of state outside ``flows``."""

from checkout_integration.models.checkout import Checkout, Grant
from checkout_integration.models.history import Incident, Transition
from checkout_integration.models.money import Money
from checkout_integration.models.notification import Notification, RefusedRequests, ValidationDecision
from checkout_integration.models.order import Order, OrderItem
from checkout_integration.models.outbox import FailedAttempt, Failures, OutboxMessage, ReceiverRun
from checkout_integration.models.personal_data import PersonalData
from checkout_integration.models.receiver import Receiver
from checkout_integration.models.refund import Refund
from checkout_integration.models.staff_act import StaffAct
from checkout_integration.models.sync import (
    Alert,
    HostClock,
    Installation,
    ListedRow,
    SyncCursor,
    SyncDifference,
    SyncRun,
    SyncWindow,
)
from checkout_integration.models.user import CheckoutUser

User = CheckoutUser
"""The specification's word for `CheckoutUser`. Not in ``__all__``: an import of all names must not hide Django's User."""

__all__ = [
    "Alert",
    "Checkout",
    "CheckoutUser",
    "FailedAttempt",
    "Failures",
    "Grant",
    "HostClock",
    "Incident",
    "Installation",
    "ListedRow",
    "Money",
    "Notification",
    "Order",
    "OrderItem",
    "OutboxMessage",
    "PersonalData",
    "Receiver",
    "ReceiverRun",
    "Refund",
    "RefusedRequests",
    "StaffAct",
    "SyncCursor",
    "SyncDifference",
    "SyncRun",
    "SyncWindow",
    "Transition",
    "ValidationDecision",
]
