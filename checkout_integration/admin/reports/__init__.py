"""Pages about many rows."""

from checkout_integration.admin.reports.health import HealthAdmin

__all__ = ["HealthAdmin"]
