"""A Celery child and a worker whose connection is ended at each point of their work: they go on, and tell no secret."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.contrib.auth.models import Group
from django.db import connection

from checkout_integration import dispatch
from checkout_integration.models import ReceiverRun
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.stress.chaos.parts import Part
from tests.stress.connections import shop
from tests.stress.connections.apps import FUSE
from tests.support.flows.shop import leave_behind, make_due
from tests.support.flows.threads import await_true
from tests.support.scale import times
from tests.test_tasks import as_current

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.mariadb,
    pytest.mark.redis,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]
ROUNDS = times(1, 20)
POINTS = 80
"""A payment passes about so many."""
STEP = times(16, 1)
"""Of the points, each so many-th is tried in every run, and each in the full one."""
COMMANDS = {
    "worker": ["django", "checkout_work", "--slots", "1", "--interval", "0.02", "--no-sync"],
    "celery": ["celery", "--app", "tests.stress.connections.celery", "worker", "--concurrency", "1"],
}


def deliver() -> str:
    """Deliver a payment; return the id of its order."""
    document = order_document_for(CheckoutFactory())
    assert Deliver()(order=document).status_code == 200
    return str(document["id"])


class Asking:
    """Asks a Celery worker twice a second, as beat does less often; the other worker looks by itself."""

    asks_again_at = 0.0

    def until(self, holds: Callable[[], bool]) -> None:
        """Return as soon as it is true."""

        def look() -> bool:
            if time.monotonic() > self.asks_again_at:
                self.asks_again_at = time.monotonic() + 0.5
                dispatch.dispatch_due()
            return holds()

        await_true(look)


def pay(asking: Asking) -> str:
    """Deliver a payment that nothing disturbs, and await its goods; return the id of its order."""
    order_id = deliver()
    asking.until(partial(is_granted, order_id))
    return order_id


def is_over(order_id: str, fuse: Path) -> bool:
    """Return whether a connection was ended, or the goods are there all the same."""
    return not fuse.exists() or is_granted(order_id)


def is_granted(order_id: str) -> bool:
    """Return whether the goods are there."""
    return Group.objects.filter(name__startswith=f"goods of {order_id} ").exists()


def is_all_done() -> bool:
    """Return whether all receivers have run; those that wait need not wait any longer."""
    make_due()
    leave_behind()
    return not ReceiverRun.objects.exclude(state=ReceiverRun.State.DONE).exists()


@pytest.mark.parametrize("kind", list(COMMANDS))
def test_process_goes_on(kind: str, redis_url: str, tmp_path: Path, settings: Any) -> None:
    """Whatever point it is, the same process does the next payment; in the end each effect is there once."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": kind}
    database, fuse = str(connection.settings_dict["NAME"]), tmp_path / "fuse"
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.stress.connections.settings",
        "CHECKOUT_WORKER_DATABASE": database,
        "CHECKOUT_WORKER_RUN": kind,
        "CHECKOUT_WORKER_BROKER": redis_url,
        FUSE: str(fuse),
    }
    app = Celery("shop", broker=redis_url, set_as_current=False)
    app.conf.task_default_queue = database
    part = Part(kind, [sys.executable, "-m", *COMMANDS[kind]], environment, tmp_path)
    orders, burnt, asking = list[str](), 0, Asking()
    part.start()
    try:
        with as_current(app):
            orders.append(pay(asking))
            for number in [*range(0, POINTS, STEP)] * ROUNDS:
                fuse.with_suffix(".new").write_text(str(number))
                fuse.with_suffix(".new").rename(fuse)
                orders.append(hit := deliver())
                asking.until(partial(is_over, hit, fuse))
                burnt += not fuse.exists()
                fuse.unlink(missing_ok=True)
                orders.append(pay(asking))
            asking.until(is_all_done)
            names = list(Group.objects.filter(name__startswith="goods of").values_list("name", flat=True))
    finally:
        print((tmp_path / f"{kind}.log").read_text()[-3000:])
        part.stop()
    goods = Counter(name.split()[2] for name in names)
    assert goods == Counter(dict.fromkeys(orders, 1))
    assert len({name.split()[3] for name in names}) == 1, "another process"
    log = (tmp_path / f"{kind}.log").read_text()
    assert shop.CANARY not in log
    print(f"{connection.vendor}, {kind}: {burnt} connections ended, {log.count('Traceback')} tracebacks")
