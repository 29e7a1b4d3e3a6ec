"""The shop as Django sees it."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class ShopConfig(AppConfig):
    """Connects the receivers of paid and reversed checkouts, and makes the shop's Celery app the current one."""

    name = "example_project.shop"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Load what works by being loaded."""
        import_module("example_project.shop.receivers")
        import_module("example_project.celery")
