"""The admin for support staff, in Django's own theme: read-only lists and pages, and buttons.

Importing this package registers the screens with ``django.contrib.admin.site``; Django's autodiscovery does it.

* ``site``: the read-only base: lists, pages, buttons, labels, and values as HTML.
* ``screens``: one file a table.
* ``order``: the list of orders and the page of one.
* ``reports``: pages about many rows: health, money, reconciliation.
"""

from checkout_integration.admin.order import OrderAdmin
from checkout_integration.admin.reports import HealthAdmin, MoneyAdmin, ReconciliationAdmin
from checkout_integration.admin.screens import (
    CheckoutAdmin,
    CustomerAdmin,
    IncidentAdmin,
    NotificationAdmin,
    OutboxMessageAdmin,
    PrivacyActAdmin,
    ReceiverRunAdmin,
    RefundAdmin,
    SyncRunAdmin,
    ValidationDecisionAdmin,
)

__all__ = [
    "CheckoutAdmin",
    "CustomerAdmin",
    "HealthAdmin",
    "IncidentAdmin",
    "MoneyAdmin",
    "NotificationAdmin",
    "OrderAdmin",
    "OutboxMessageAdmin",
    "PrivacyActAdmin",
    "ReceiverRunAdmin",
    "ReconciliationAdmin",
    "RefundAdmin",
    "SyncRunAdmin",
    "ValidationDecisionAdmin",
]
