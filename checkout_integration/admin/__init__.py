"""What support staff see: one module per screen, all read-only, in Django's own admin theme.

Importing this package registers the screens with ``django.contrib.admin.site``; Django's autodiscovery does it.
"""

from checkout_integration.admin.checkouts import CheckoutScreen
from checkout_integration.admin.customers import CustomerScreen
from checkout_integration.admin.incidents import IncidentScreen
from checkout_integration.admin.notifications import NotificationScreen
from checkout_integration.admin.orders import OrderScreen
from checkout_integration.admin.outbox import AnnouncementScreen, DeliveryScreen
from checkout_integration.admin.refunds import RefundScreen
from checkout_integration.admin.sync_runs import SyncRunScreen
from checkout_integration.admin.validation import ValidationScreen

__all__ = [
    "AnnouncementScreen",
    "CheckoutScreen",
    "CustomerScreen",
    "DeliveryScreen",
    "IncidentScreen",
    "NotificationScreen",
    "OrderScreen",
    "RefundScreen",
    "SyncRunScreen",
    "ValidationScreen",
]
