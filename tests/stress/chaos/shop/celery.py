"""The shop's Celery app: it runs receivers on request, and beat requests that every few seconds."""

from __future__ import annotations

import os

from celery import Celery

from tests.stress.chaos.names import DRAIN_SECONDS

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.stress.chaos.shop.settings")
app = Celery("chaos")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["checkout_integration"])
app.conf.beat_schedule = {
    "drain": {"task": "checkout_integration.run_due", "schedule": DRAIN_SECONDS},
}
