"""Pages about many rows."""

from checkout_integration.admin.reports.health import HealthAdmin
from checkout_integration.admin.reports.money import MoneyAdmin
from checkout_integration.admin.reports.reconciliation import ReconciliationAdmin

__all__ = ["HealthAdmin", "MoneyAdmin", "ReconciliationAdmin"]
