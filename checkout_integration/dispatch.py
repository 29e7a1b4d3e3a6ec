"""Dispatch of due work to this web process, Celery, or a worker, by the setting RUNNER.

Doors (views, admin, commands, tasks) call this after their transaction; flows never do. The periodic drain finds the rest:
rows show what is due.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from checkout_integration import flows
from checkout_integration.conf import app_settings
from checkout_integration.flows.inbox import ApplySummary, NotificationRow

logger = logging.getLogger("checkout_integration.dispatch")

OWN_RUNS, OWN_SECONDS = 50, 10.0
"""How many receivers of what it has just recorded a web process runs, and for how long."""
MOST_RUNS = 1000
NOTHING = ApplySummary()
Runner = Callable[[ApplySummary, NotificationRow | None], None]
_runners: dict[str, Runner] = {}


def register(name: str, runner: Runner) -> None:
    """Register the functions for a value of the setting RUNNER."""
    _runners[name] = runner


def apply_now(notification: NotificationRow) -> ApplySummary:
    """Apply a notification that was just stored, if web processes apply; return the argument for `dispatch_due`.

    Never raises: the notification is committed, and its response is an empty 200. A failed one is due again.
    """
    if app_settings().runner != "request":
        return NOTHING
    try:
        return flows.inbox.apply_stored(notification)
    except Exception as error:  # noqa: BLE001  # such as a database that has just gone away
        ids = {"project": notification.project, "notification_id": notification.notification_id}
        logger.error(
            "A notification could not be applied at once (%s); it is stored.", type(error).__name__, extra=ids
        )
        return NOTHING


def dispatch_due(applied: ApplySummary = NOTHING, notification: NotificationRow | None = None) -> None:
    """Dispatch due work: the receivers of what was just applied, and the rest. Never raises.

    ``notification`` is one that was just stored. Work that cannot be dispatched is committed; the periodic drain finds it.
    """
    try:
        _runners[app_settings().runner](applied, notification)
    except Exception as error:  # noqa: BLE001  # a broker's client may raise anything
        logger.error(
            "Receivers could not be handed over (%s); the periodic drain will run them.", type(error).__name__
        )


def _work_here(applied: ApplySummary, notification: NotificationRow | None) -> None:
    """Run the caller's own receivers first, then, while REQUEST_BUDGET lasts, work that other processes left.

    A caller without a summary has just recorded rows itself, and runs all due work.
    """
    flows.operations.run_own(applied, notification, OWN_RUNS, OWN_SECONDS)
    begun, budget = time.monotonic(), app_settings().request_budget
    if budget and (notification is None or flows.operations.is_anything_left()):
        flows.run_due(MOST_RUNS, budget - (time.monotonic() - begun))


def _leave_to_worker(applied: ApplySummary, notification: NotificationRow | None) -> None:
    """Do nothing: ``manage.py checkout_work`` finds due work."""


register("request", _work_here)
register("worker", _leave_to_worker)
