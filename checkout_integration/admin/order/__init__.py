"""Orders: their list with its search box, and the page of one with summary, details and timeline."""

from checkout_integration.admin.order.list import OrderAdmin

__all__ = ["OrderAdmin"]
