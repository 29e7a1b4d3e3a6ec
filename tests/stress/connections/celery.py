"""The Celery app of a worker process."""

from __future__ import annotations

from celery import Celery

app = Celery("connections")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["checkout_integration"])
