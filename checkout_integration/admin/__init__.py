"""The admin for support staff, in Django's own theme: read-only lists and pages, and buttons.

Importing this package registers the screens with ``django.contrib.admin.site``; Django's autodiscovery does it.

* ``site``: the read-only base: lists, pages, buttons, labels, and values as HTML.
* ``screens``: one file a table.
* ``order``: the list of orders and the page of one.
* ``reports``: pages about many rows: health, money, reconciliation.
"""

from checkout_integration.admin.order.list import OrderAdmin
from checkout_integration.admin.reports.health import HealthAdmin
from checkout_integration.admin.reports.money import MoneyAdmin
from checkout_integration.admin.reports.reconciliation import ReconciliationAdmin, SyncRunAdmin
from checkout_integration.admin.screens.checkouts import CheckoutAdmin
from checkout_integration.admin.screens.customers import CustomerAdmin
from checkout_integration.admin.screens.incidents import IncidentAdmin
from checkout_integration.admin.screens.notifications import NotificationAdmin
from checkout_integration.admin.screens.receiver_runs import (
    FailuresAdmin,
    OutboxMessageAdmin,
    ReceiverRunAdmin,
)
from checkout_integration.admin.screens.refunds import RefundAdmin
from checkout_integration.admin.screens.staff_acts import StaffActAdmin
from checkout_integration.admin.screens.validation_decisions import ValidationDecisionAdmin

__all__ = [
    "CheckoutAdmin",
    "CustomerAdmin",
    "FailuresAdmin",
    "HealthAdmin",
    "IncidentAdmin",
    "MoneyAdmin",
    "NotificationAdmin",
    "OrderAdmin",
    "OutboxMessageAdmin",
    "ReceiverRunAdmin",
    "ReconciliationAdmin",
    "RefundAdmin",
    "StaffActAdmin",
    "SyncRunAdmin",
    "ValidationDecisionAdmin",
]
