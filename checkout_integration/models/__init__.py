"""What we remember: Django tables. Queries only; no network, no signals, and no writing of state outside ``flows``."""

from checkout_integration.models.checkout import Checkout, Grant
from checkout_integration.models.history import Incident, Transition
from checkout_integration.models.notification import Notification, ValidationDecision
from checkout_integration.models.order import Order, OrderItem, PersonalData, Refund
from checkout_integration.models.outbox import FailedAttempt, OutboxMessage, ReceiverRun
from checkout_integration.models.sync import Installation, SyncCursor, SyncRun
from checkout_integration.models.user import CheckoutUser

User = CheckoutUser
"""The specification's word for `CheckoutUser`."""

__all__ = [
    "Checkout",
    "CheckoutUser",
    "FailedAttempt",
    "Grant",
    "Incident",
    "Installation",
    "Notification",
    "Order",
    "OrderItem",
    "OutboxMessage",
    "PersonalData",
    "ReceiverRun",
    "Refund",
    "SyncCursor",
    "SyncRun",
    "Transition",
    "User",
    "ValidationDecision",
]
