"""The shop as Django sees it."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

from django.apps import AppConfig


class ChaosShop(AppConfig):
    """Connects the receivers, shortens the waits, and lays the crash points where the environment asks for them."""

    name = "tests.stress.chaos.shop"
    label = "chaos_shop"

    def ready(self) -> None:
        """Load what works by being loaded."""
        import_module("tests.stress.chaos.shop.receivers")
        import_module("tests.stress.chaos.shop.celery")
        import_module("tests.stress.chaos.shop.waits").shorten()
        if folder := os.environ.get("CHAOS_FUSES"):
            # Load lazy modules now: once in the parent instead of once per child.
            import_module("kombu.transport.redis")
            import_module("checkout_integration.urls")
            import_module("tests.stress.chaos.shop.crash_points").arm(Path(folder))
