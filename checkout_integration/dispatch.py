"""Dispatch of due work to this web process, Celery, or a worker, by the setting RUNNER.

Doors (views, admin, commands, tasks) call this after their transaction; flows never do. The periodic drain finds the rest:
rows show what is due.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from checkout_integration import flows
from checkout_integration.conf import app_settings
from checkout_integration.flows.database import close_stranded, note_clock
from checkout_integration.models import Notification

logger = logging.getLogger("checkout_integration.dispatch")

MOST_RUNS = 1000
Runner = Callable[[Notification | None], None]
_runners: dict[str, Runner] = {}


def register(name: str, runner: Runner) -> None:
    """Register the functions for a value of the setting RUNNER."""
    _runners[name] = runner


def dispatch_due(notification: Notification | None = None) -> None:
    """Dispatch due work: first that of a notification that was just stored, if there is one. Never raises.

    Work that cannot be dispatched is committed; the periodic drain finds it.
    """
    try:
        close_stranded()  # a view of the shop's may have left it
        flows.outbox.record_own()
        _runners[app_settings().runner](notification)
        note_clock()
    except Exception as error:  # noqa: BLE001  # a broker's client may raise anything
        place = getattr(error, "place", "")
        logger.error(
            "Receivers could not be handed over (%s%s); the periodic drain will run them.",
            type(error).__name__,
            place and f" at {place}",
        )


def _work_here(notification: Notification | None) -> None:
    """Apply and run what the caller has stored; then, while REQUEST_BUDGET lasts, whatever is due."""
    if notification is not None and not flows.operations.run_own(notification):
        return
    if budget := app_settings().request_budget:
        flows.run_due(MOST_RUNS, budget)


def _leave_to_worker(notification: Notification | None) -> None:
    """Do nothing: ``manage.py checkout_work`` finds due work."""


register("request", _work_here)
register("worker", _leave_to_worker)
