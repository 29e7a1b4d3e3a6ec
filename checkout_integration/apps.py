"""The app as Django sees it."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CheckoutIntegrationConfig(AppConfig):
    """Registers the system checks, and the runner of receivers that the settings name."""

    name = "checkout_integration"
    verbose_name = _("Checkout")
    default_auto_field = "django.db.models.BigAutoField"
