"""The shop's Celery app: runs receivers, and reads the service's list of transactions at intervals."""

from __future__ import annotations

import os

from celery import Celery

import example_project.broker  # noqa: F401  # registers the transport of the settings
from checkout_integration.schedule import beat_schedule

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
app = Celery("example_project")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.beat_schedule = {**app.conf.beat_schedule, **beat_schedule()}
