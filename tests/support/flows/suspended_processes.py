"""Processes that stop at a named place, and go on when they are let: as if the machine had suspended them there."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import connection, connections

from checkout_integration.flows.operations import draining
from checkout_integration.models import Order
from checkout_integration.signals import (
    NamedSignal,
    checkout_paid,
    checkout_reversed,
    payment_refund,
    payment_success,
)
from tests.stress.chaos.shop.crash_points import RECEIVER_WROTE, CrashPoint, lay
from tests.support.flows.concurrency import begin_process, waiting_locks
from tests.support.flows.threads import PATIENCE, await_true

HEARD: Final = (payment_success, checkout_paid, payment_refund, checkout_reversed)
"""By one receiver, in this order, where an order is paid and refunded."""
_processes = get_context("forkserver")
_processes.set_forkserver_preload(["tests.support.flows.preloaded"])


class Suspended:
    """A process that knows the receiver, does some work, and stops at a place, the first time or a later one."""

    def __init__(
        self, work: Callable[[], object], place: CrashPoint | None = None, *, passes_by: int = 0
    ) -> None:
        connection.close()
        self._news, theirs = _processes.Pipe()
        self._go_on = _processes.Event()
        database = connection.settings_dict["NAME"]
        arguments = (work, place, passes_by, database, settings.CHECKOUT_INTEGRATION, theirs, self._go_on)
        self._process = _processes.Process(target=_run, args=arguments, daemon=True)
        self._process.start()
        theirs.close()

    def await_stop(self) -> bool:
        """Return when it has stopped, has ended, or waits for another one's lock; whether it has stopped."""
        await_true(lambda: self._news.poll() or waiting_locks() > 0)
        return self._news.poll() and bool(self._news.recv())

    def go_on(self) -> None:
        """Let it go on, and return when it has ended, or waits for another one's lock."""
        self._go_on.set()
        await_true(lambda: not self._process.is_alive() or waiting_locks() > 0)

    def kill(self) -> None:
        """Kill it where it has stopped."""
        self._process.kill()
        self._process.join(PATIENCE)

    def end(self) -> None:
        """Let it go on, and wait for its end."""
        self._go_on.set()
        self._process.join(PATIENCE)
        assert self._process.exitcode == 0


def heard(order_id: str) -> list[str]:
    """Return the signals that the receiver has had of an order, in their order."""
    names = (
        Group.objects.filter(name__startswith=f"{order_id} ").order_by("pk").values_list("name", flat=True)
    )
    return [name.split()[1] for name in names]


def _run(
    work: Callable[[], object],
    place: CrashPoint | None,
    passes_by: int,
    database: str,
    checkout_integration: dict[str, Any],
    parent: Connection,
    go_on: Event,
) -> None:
    begin_process(database, checkout_integration)
    draining.OWN_SECONDS = 1.0  # for so long it waits for one that is suspended
    times = count()

    def stop(_: int = 0) -> None:
        if next(times) == passes_by:
            parent.send(True)
            assert go_on.wait(PATIENCE)

    def note(order: Order, signal: NamedSignal, **arguments: Any) -> None:
        Group.objects.create(name=f"{order.order_id} {signal.name}")
        if place == RECEIVER_WROTE:
            stop()

    for signal in HEARD:
        signal.connect(note, weak=False, dispatch_uid="note")
    if place and place.module:
        lay(place, stop)
    try:
        work()
    finally:
        connections.close_all()
    parent.send(False)
