"""A receiver that sleeps 30 s beside real workers: others are not delayed by it. In the full run."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.contrib.auth.models import Group
from django.db import connection

from checkout_integration import dispatch
from checkout_integration.models import Checkout, Order, ReceiverRun
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.stress.chaos.parts import Part
from tests.stress.workers.apps import SLOW_SECONDS
from tests.support.flows.threads import await_true
from tests.support.scale import FULL
from tests.test_tasks import as_current

pytestmark = [
    pytest.mark.skipif(not FULL, reason="in the full run"),
    pytest.mark.postgres,
    pytest.mark.mariadb,
    pytest.mark.redis,
    pytest.mark.django_db(transaction=True),
]
SLOTS = 4
SECONDS = 30.0
LONGEST_DELAY = 10.0
COMMANDS = {
    "checkout_work": ["django", "checkout_work", "--slots", str(SLOTS)],
    "celery": ["celery", "--app", "tests.stress.workers.celery", "worker", "--concurrency", str(SLOTS)],
}


@contextmanager
def workers(kind: str, count: int, broker: str, folder: Path) -> Iterator[None]:
    """So many worker processes on the database of this test."""
    name = str(connection.settings_dict["NAME"])
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.stress.workers.settings",
        "CHECKOUT_WORKER_DATABASE": name,
        "CHECKOUT_WORKER_RUN": "celery" if kind == "celery" else "worker",
        "CHECKOUT_WORKER_BROKER": broker,
        SLOW_SECONDS: str(SECONDS),
    }
    parts = []
    for number in range(count):
        own = ["--hostname", f"worker{number}@%h"] if kind == "celery" else []
        command = [sys.executable, "-m", *COMMANDS[kind], *own]
        parts.append(Part(f"{kind}-{number}", command, environment, folder))
    for part in parts:
        part.start()
    app = Celery("shop", broker=broker, set_as_current=False)
    app.conf.task_default_queue = name
    try:
        with as_current(app):
            yield
    finally:
        for part in parts:
            print(part.name, part.last_words())
            part.stop()


def sell(checkout: Checkout | None = None) -> Order:
    """A payment, recorded and handed over as the view does it."""
    order: Order = OrderFactory(checkout=checkout)
    dispatch.dispatch_due()
    return order


def delay(order: Order) -> float:
    """Seconds from the payment to its quick receiver."""
    (name,) = Group.objects.filter(name__startswith=order.order_id).values_list("name", flat=True)
    return (datetime.fromisoformat(name.split()[1]) - order.recorded_at).total_seconds()


@pytest.mark.parametrize(("kind", "count"), [("checkout_work", 1), ("checkout_work", 2), ("celery", 1)])
def test_slow_receiver_delays_nobody(
    kind: str, count: int, redis_url: str, tmp_path: Path, settings: Any
) -> None:
    """Twenty checkouts occupy the slow receiver while a minute of unbound payments goes to the quick one only."""
    runner = "celery" if kind == "celery" else "worker"
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": runner}
    half = SLOTS // 2 * count
    slow = ReceiverRun.objects.filter(receiver="slow", state=ReceiverRun.State.RUNNING)
    others, at_once = [], []
    with workers(kind, count, redis_url, tmp_path):
        for _ in range(20):
            sell(CheckoutFactory())
        await_true(lambda: slow.count() >= half)
        ends_at = time.monotonic() + 2 * SECONDS
        while time.monotonic() < ends_at:
            others.append(sell())
            at_once.append(slow.count())
            time.sleep(1)
        quick = ReceiverRun.objects.filter(
            receiver="quick", state=ReceiverRun.State.DONE, message__checkout=None
        )
        await_true(lambda: quick.count() == len(others))
    delays = sorted(map(delay, others))
    print(
        f"{kind} x{count}: {len(delays)} others, the slowest after {delays[-1]:.1f} s, {max(at_once)} slow at once"
    )
    assert max(at_once) == half
    assert delays[-1] <= LONGEST_DELAY
