"""A shop's Celery app for a worker process: `celery --app tests.worker --broker URL worker --queues NAME`.

`CHECKOUT_WORKER_DATABASE` names the database. Its one receiver writes the process that ran it there, for the test to read.
"""

from __future__ import annotations

import os
from typing import Any

import django
from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
app = Celery("shop")


def begin() -> None:
    """Open the test's database, and connect the receiver."""
    django.setup()

    from django.contrib.auth.models import Group
    from django.db import connection

    from checkout_integration.models import Order
    from checkout_integration.signals import payment_success

    def name_process(order: Order, **arguments: Any) -> None:
        Group.objects.create(name=f"{order.order_id} {os.getppid()}")

    connection.settings_dict["NAME"] = os.environ["CHECKOUT_WORKER_DATABASE"]
    payment_success.connect(name_process, weak=False, dispatch_uid="name_process")
    app.autodiscover_tasks(force=True)


begin()
