"""Handing over what is due to whoever runs receivers: this process, Celery, or a worker.

Doors (views, admin, commands, tasks) call `hand_over` after their transaction; flows never do. Whatever is left behind is
picked up by the periodic drain: rows say what is due.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from checkout_integration import flows
from checkout_integration.conf import app_settings

logger = logging.getLogger("checkout_integration.dispatch")

Runner = Callable[[], None]
_runners: dict[str, Runner] = {}


def register(name: str, runner: Runner) -> None:
    """Registers who runs receivers under a value of the setting RECEIVERS_RUN."""
    _runners[name] = runner


def hand_over() -> None:
    """Hands over what is due. Never raises: the news is committed, and the drain runs what this could not."""
    try:
        _runners[app_settings().receivers_run]()
    except Exception as error:  # noqa: BLE001  # a broker's client may raise anything
        logger.error(
            "Receivers could not be handed over (%s); the periodic drain will run them.", type(error).__name__
        )


def _run_here() -> None:
    flows.run_due(limit=50, seconds=10)


def _leave_to_worker() -> None:
    """``manage.py checkout_work`` finds what is due by itself."""


register("request", _run_here)
register("worker", _leave_to_worker)
