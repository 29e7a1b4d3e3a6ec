"""Several releases of a shop, whose processes work one after the other in this one: each with its own receivers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from checkout_integration import flows
from checkout_integration.flows.outbox import receivers
from checkout_integration.models import OutboxMessage, Receiver, ReceiverRun
from checkout_integration.signals import SIGNALS, DurableSignal

RECORD = receivers.record_now
Connecting = Callable[[], None]


class Process:
    """A process of one release: what it has connected, by signal and name, and what it has recorded and read."""

    def __init__(
        self, shop: Shop, connected: Mapping[str, str], *, runs: bool, options: Mapping[str, Any]
    ) -> None:
        self.shop, self.connected, self.options = shop, connected, options
        self.state = receivers.ThisProcess(runs_receivers=runs)

    @contextmanager
    def works(self) -> Iterator[None]:
        """Work as this process."""
        receivers.this_process = self.state
        for name, signal in self.connected.items():
            SIGNALS[signal].connect(
                self.shop.receiver(name, signal), weak=False, dispatch_uid=name, **self.options.get(name, {})
            )
        if self.state.recorded is not None:
            self.state.recorded = DurableSignal.changes
        try:
            yield
        finally:
            for name, signal in self.connected.items():
                SIGNALS[signal].disconnect(dispatch_uid=name)
            receivers.this_process = receivers.ThisProcess()

    def run(self) -> None:
        """Do what is due."""
        with self.works():
            flows.run_due()

    def record(self) -> None:
        """Record its receivers, as it does once a minute."""
        self.state.records_at = 0.0
        with self.works():
            receivers.record_own(runs=self.state.runs_receivers)


class Shop:
    """The processes, and what their receivers did: the name of the receiver with the order's id and the grant's key."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(receivers, "record_now", RECORD)
        self.done: list[tuple[str, str]] = []
        self.processes: list[Process] = []

    def process(
        self,
        connected: Mapping[str, str] | None = None,
        *,
        runs: bool = True,
        options: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Process:
        """A process with these receivers: the signal of each by its name; ``options`` of `connect` by the name."""
        process = Process(self, connected or {}, runs=runs, options=options or {})
        self.processes.append(process)
        return process

    def receiver(self, name: str, signal: str) -> Callable[..., None]:
        """A receiver that writes down that it ran."""

        def receive(order: Any, **arguments: Any) -> None:
            self.done.append((name, order.order_id))

        return receive

    def later(self, **span: float) -> None:
        """Let time pass: all rows are as old as they would be then, and each process has to record itself again."""
        passed = timedelta(**span)
        for model, names in (
            (Receiver, ("first_seen", "last_seen", "last_ready", "missing_since", "retired_at")),
            (ReceiverRun, ("due_at",)),
            (OutboxMessage, ("recorded_at",)),
        ):
            model.objects.update(**{name: F(name) - passed for name in names})
        for process in self.processes:
            process.state.records_at = 0.0


def unfinished() -> dict[str, str]:
    """The state of each run that is not done, by its receiver."""
    return dict(ReceiverRun.objects.exclude(state="done").values_list("receiver", "state"))
