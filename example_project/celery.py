"""The shop's Celery app: runs receivers, and reads the service's list of transactions at intervals."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery

import example_project.broker  # noqa: F401  # registers the transport of the settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
app = Celery("example_project")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.on_after_finalize.connect
def plan(sender: Celery, **kwargs: Any) -> None:
    """Add what the app wants done at intervals; by now Django's models are loaded."""
    from checkout_integration.tasks import beat_schedule

    sender.conf.beat_schedule = beat_schedule()
