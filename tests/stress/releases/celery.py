"""The Celery app of the worker process, with a beat that looks every second for what is due."""

from __future__ import annotations

from celery import Celery

app = Celery("releases")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["checkout_integration"])
app.conf.beat_schedule = {"run due": {"task": "checkout_integration.run_due", "schedule": 1.0}}
