"""The gauges of OpenTelemetry, read from health whenever the host collects its metrics (docs/metrics.md)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from django.db import connections

from checkout_integration import telemetry
from checkout_integration.flows.database import state_database
from checkout_integration.flows.monitoring import Health, health
from checkout_integration.flows.sync import LANES
from checkout_integration.telemetry import Attributes, Reading

READ_EVERY: Final = 1.0
"""Seconds for which one reading of health serves all gauges."""


class Figure(NamedTuple):
    """A figure of a finding, and the attributes that tell it from others of its gauge."""

    finding: str
    name: str
    attributes: Attributes


FIGURES: Final = {
    "checkout.queue.length": [
        Figure("apply", "stored", {"step": "apply"}),
        Figure("run", "due", {"step": "run"}),
    ],
    "checkout.queue.age": [Figure(step, "oldest_seconds", {"step": step}) for step in ("apply", "run")],
    "checkout.receivers": [
        Figure("receivers_failing", "failing", {"state": "failing"}),
        Figure("receivers_given_up", "failed", {"state": "given_up"}),
        Figure("receivers_overlong", "running", {"state": "running"}),
        Figure("receivers_overlong", "overdue", {"state": "overdue"}),
    ],
    "checkout.notifications.silence": [Figure("notifications", "silent_seconds", {})],
    "checkout.notifications.waiting": [
        Figure("not_applied", state, {"state": state}) for state in ("failed", "quarantined")
    ],
    "checkout.sync.age": [Figure(f"sync_{lane}", "unread_seconds", {"lane": lane}) for lane in LANES],
    "checkout.incidents.open": [Figure("incidents", "open", {})],
}
"""Where each gauge but ``checkout.health`` comes from."""


class ThisProcess:
    """The last reading of health in this process."""

    health: Health | None = None
    read_at = -READ_EVERY


def register() -> None:
    """Let the host's metrics read the gauges. Called once in each process."""
    telemetry.observe("checkout.health", severities)
    for gauge in FIGURES:
        telemetry.observe(gauge, partial(figures, gauge))


def severities() -> Iterator[Reading]:
    """Yield how bad each finding is: 0 ok, 1 warning, 2 failing, -1 not known yet."""
    for finding in current().findings:
        yield finding.severity.level, {"finding": finding.name, "project": finding.project}


def figures(gauge: str) -> Iterator[Reading]:
    """Yield the figures of a gauge; none that is not known, and none if the database does not respond."""
    findings = current().findings
    for figure in FIGURES[gauge]:
        for finding in findings:
            value = finding.figures.get(figure.name)
            if finding.name == figure.finding and isinstance(value, int | float):
                yield value, {**figure.attributes, "project": finding.project}


def current() -> Health:
    """Return the health, read just now: one collection reads it once."""
    now = time.monotonic()
    if ThisProcess.health is None or now - ThisProcess.read_at >= READ_EVERY:
        ThisProcess.health, ThisProcess.read_at = _read(), now
    return ThisProcess.health


def _read() -> Health:
    """Read health, and close a connection that this opened: metrics are collected in threads where nobody else closes it."""
    connection = connections[state_database()]
    was_open = connection.connection is not None
    try:
        return health()
    finally:
        if not was_open:
            connection.close()
