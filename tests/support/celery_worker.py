"""A shop's Celery app for a worker process: `celery --app tests.support.celery_worker --broker URL worker --queues NAME`.

`CHECKOUT_WORKER_DATABASE` names the database, and `CHECKOUT_WORKER_SETTINGS` are the app's settings as JSON. Tasks
publish to `CHECKOUT_WORKER_QUEUE`. The one receiver writes the process that ran it to the database, for the test to read.
"""

from __future__ import annotations

import json
import os
from typing import Any

import django
from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
app = Celery("shop")
app.conf.task_default_queue = os.environ.get("CHECKOUT_WORKER_QUEUE", "celery")


def begin() -> None:
    """Open the test's database, and connect the receiver."""
    django.setup()

    from django.conf import settings
    from django.contrib.auth.models import Group
    from django.db import connection

    from checkout_integration.models import Order
    from checkout_integration.signals import payment_success

    def name_process(order: Order, **arguments: Any) -> None:
        Group.objects.create(name=f"{order.order_id} {os.getppid()}")

    if chosen := os.environ.get("CHECKOUT_WORKER_SETTINGS"):
        settings.CHECKOUT_INTEGRATION = json.loads(chosen)
    connection.settings_dict["NAME"] = os.environ["CHECKOUT_WORKER_DATABASE"]
    payment_success.connect(name_process, weak=False, dispatch_uid="name_process")
    app.autodiscover_tasks(force=True)


begin()
