"""Who applies notifications and runs receivers: this web process, Celery, or a worker, as the setting RUNNER says.

Doors (views, admin, commands, tasks) call this after their transaction; flows never do. Whatever is left behind is picked up
by the periodic drain: rows say what is due.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from checkout_integration import flows
from checkout_integration.conf import app_settings
from checkout_integration.models import Notification

logger = logging.getLogger("checkout_integration.dispatch")

OWN_RUNS, OWN_SECONDS = 50, 10.0
"""How many receivers of what it has just recorded a web process runs, and for how long."""
MOST_RUNS = 1000
Runner = Callable[[Collection[int], Notification | None], None]
_runners: dict[str, Runner] = {}


def register(name: str, runner: Runner) -> None:
    """Register who works under a value of the setting RUNNER."""
    _runners[name] = runner


def apply_now(notification: Notification) -> Collection[int]:
    """Apply a notification that was just stored where web processes apply; return the primary keys of its orders.

    Never raises: the notification is committed, and its answer is an empty 200. What could not be applied is due again.
    """
    if app_settings().runner != "request":
        return ()
    try:
        return flows.apply_stored(notification)
    except Exception as error:  # noqa: BLE001  # such as a database that has just gone away
        logger.error("A notification could not be applied at once (%s); it is stored.", type(error).__name__)
        return ()


def hand_over(order_ids: Collection[int] = (), notification: Notification | None = None) -> None:
    """Hand over what is due: the receivers of these orders, and whatever else. Never raises.

    ``notification`` is one that was just stored. What cannot be handed over is committed, and the periodic drain finds it.
    """
    try:
        _runners[app_settings().runner](order_ids, notification)
    except Exception as error:  # noqa: BLE001  # a broker's client may raise anything
        logger.error(
            "Receivers could not be handed over (%s); the periodic drain will run them.", type(error).__name__
        )


def _work_here(order_ids: Collection[int], notification: Notification | None) -> None:
    """First the receivers of its own orders, then others' notifications and receivers while REQUEST_BUDGET lasts."""
    if order_ids:
        flows.run_due(OWN_RUNS, OWN_SECONDS, order_ids=order_ids)
    if budget := app_settings().request_budget:
        flows.run_due(MOST_RUNS, budget)


def _leave_to_worker(order_ids: Collection[int], notification: Notification | None) -> None:
    """``manage.py checkout_work`` finds what is due by itself."""


register("request", _work_here)
register("worker", _leave_to_worker)
