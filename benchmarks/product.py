"""Everything that the benchmarks use of this app: its settings, its webhook, what applies and runs, and what it has done."""

from __future__ import annotations

from typing import Any, Final

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection

WEBHOOK: Final = "/checkout/webhook/"
SECRET: Final = "benchmarks_secret_of_a_shop"
RUNNER: Final = "RUNNER"
WORKER: Final = ["django", "checkout_work"]


class NotMeasured(Exception):
    """Something cannot be measured here; the text says why."""


def settings(runner: str) -> dict[str, Any]:
    """Return the setting `CHECKOUT_INTEGRATION` of a shop whose work is done by this runner."""
    return {
        "PROJECTS": {"default": {"PROJECT_ID": "benchmarks", "SECRET_KEY": SECRET}},
        "BASE_URL": "https://service.invalid",
        "CHECKOUT_URL": "https://service.invalid",
        "ORDER_FORM_URL": "https://service.invalid/form",
        RUNNER: runner,
    }


def apply_due(batch: int) -> int:
    """Apply what is stored, so many notifications at a time; return how many were applied."""
    from checkout_integration.flows import inbox

    return inbox.apply_due(batch=batch).applied


def run_due(limit: int) -> int:
    """Run receivers that are due, at most so many of them; return how many were run."""
    from checkout_integration import flows

    return flows.run_due(limit=limit).run


def stored() -> int:
    """Return how many notifications are stored."""
    from checkout_integration.models import Notification

    return Notification.objects.count()


def verified() -> int:
    """Return how many orders are paid and verified."""
    from checkout_integration.models import Order

    return Order.objects.filter(verdict="verified").count()


def completed() -> int:
    """Return how many receiver runs are done."""
    from checkout_integration.models import ReceiverRun

    return ReceiverRun.objects.filter(state=ReceiverRun.State.DONE).count()


def empty() -> None:
    """Empty our tables, so that each measurement meets the same; when the app was installed stays known."""
    from checkout_integration.models import Installation

    models = apps.get_app_config("checkout_integration").get_models(include_auto_created=True)
    tables = [model._meta.db_table for model in models if model is not Installation]
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), tables))
