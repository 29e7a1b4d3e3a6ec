"""The app as Django sees it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from django.apps import AppConfig
from django.conf import settings
from django.core.signals import request_started
from django.utils.translation import gettext_lazy as _


class CheckoutIntegrationConfig(AppConfig):
    """The app: registers the system checks and the runners."""

    name = "checkout_integration"
    verbose_name = _("Checkout")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Load the checks, Celery's runner and the gauges where they work, and the alerts if they are set."""
        from checkout_integration import checks, telemetry  # noqa: F401  # the import registers the checks
        from checkout_integration.conf import SETTING
        from checkout_integration.flows.database import close_stranded

        # The thread may have been left with a connection that nothing else closes.
        request_started.connect(close_stranded, dispatch_uid="checkout_integration.close_stranded")
        raw = getattr(settings, SETTING, None)
        is_celery = isinstance(raw, dict) and raw.get("RUNNER") == "celery"
        if is_celery and find_spec("celery"):  # where it is missing, check E012 says so
            import_module("checkout_integration.tasks")
        if isinstance(raw, dict) and raw.get("ALERTS"):
            import_module("checkout_integration.alerts").connect()
        if telemetry.IS_INSTALLED:
            import_module("checkout_integration.gauges").register()
