"""A shop with a slow receiver and a quick one. Each leaves a row that says when it was done."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from typing import Any

from django.apps import AppConfig

SLOW_SECONDS = "CHECKOUT_WORKER_SLOW_SECONDS"


class WorkersShop(AppConfig):
    """Connects the receivers."""

    name = "tests.stress.workers"
    label = "workers_shop"

    def ready(self) -> None:
        """Connects them."""
        from checkout_integration.signals import checkout_paid, payment_success

        checkout_paid.connect(be_slow, weak=False, dispatch_uid="slow")
        payment_success.connect(be_quick, weak=False, dispatch_uid="quick")


def be_slow(**arguments: Any) -> None:
    """Takes its time."""
    time.sleep(float(os.environ[SLOW_SECONDS]))


def be_quick(order: Any, **arguments: Any) -> None:
    """Note the moment of the run."""
    from django.contrib.auth.models import Group

    Group.objects.create(name=f"{order.order_id} {datetime.now(UTC).isoformat()}")
