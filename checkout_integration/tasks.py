"""Celery tasks: they carry names and ids only, and call a flow. Imported only where Celery is installed."""

from __future__ import annotations

import logging
import time
from typing import Any

from celery import current_app, shared_task
from celery.schedules import crontab
from celery.signals import worker_init

from checkout_integration import dispatch, flows
from checkout_integration.conf import app_settings
from checkout_integration.flows.claims import Worker
from checkout_integration.models import SyncRun

logger = logging.getLogger("checkout_integration.tasks")

PUBLISH_SECONDS = 0.5
"""How long the publishing of a task may hold up a web process when the broker is away."""
REST_SECONDS = 30.0
"""How long a process that could not publish does not try again, so that a broker that is away costs it few threads."""


class _ThisProcess:
    """What this process knows of Celery: the worker that it belongs to, and since when the broker has been away."""

    name = ""
    celery_worker: Any = None
    resting_until = 0.0


@worker_init.connect
def _remember_worker(sender: Any, **kwargs: object) -> None:
    """Before a Celery worker starts its pool; processes of the pool are forks, which know the same."""
    _ThisProcess.celery_worker, _ThisProcess.name = sender, Worker(slots=1).name


def _worker() -> Worker | None:
    """The Celery worker of this process, with as many slots as it runs tasks at the same time."""
    known = _ThisProcess.celery_worker
    if known is None:
        return None
    return Worker(slots=int(known.max_concurrency or known.concurrency), name=_ThisProcess.name)


@shared_task(name="checkout_integration.run_deliveries", ignore_result=True)
def run_deliveries() -> None:
    """Runs the receivers that are due; what one task leaves of a long queue is for the next."""
    if flows.run_deliveries(worker=_worker()).ended_early:
        dispatch.hand_over()


@shared_task(name="checkout_integration.sync_transactions", ignore_result=True)
def sync_transactions(project: str = "default", lane: str = "recent") -> None:
    """Reads one lane of a project's transaction list, then runs the receivers of what it found."""
    run = flows.sync_transactions(project, lane)
    if run.state != SyncRun.State.COMPLETE:
        logger.error("The sync of %s %s ended as %s: %s", project, lane, run.state, run.failure)
    dispatch.hand_over()


def beat_schedule() -> dict[str, dict[str, Any]]:
    """Entries for the Celery app's ``beat_schedule``: the drain of receivers, and the lanes of the sync for each project.

    Usage: ``app.conf.beat_schedule |= beat_schedule()``.
    """
    schedule: dict[str, dict[str, Any]] = {
        "checkout_integration.run_deliveries": {"task": run_deliveries.name, "schedule": 30.0},
    }
    for alias in app_settings().projects:
        for lane, when in (
            ("recent", 300.0),
            ("reversals", crontab(minute="17", hour="3")),
            ("all", crontab(minute="17", hour="4", day_of_week="sun")),
        ):
            entry = {"task": sync_transactions.name, "schedule": when, "args": (alias, lane)}
            schedule[f"checkout_integration.sync_transactions.{alias}.{lane}"] = entry
    return schedule


def publish() -> None:
    """Asks a worker to run receivers, without waiting for a broker that is away: the drain finds the rows anyway.

    After a failure this process asks nobody for half a minute.
    """
    if time.monotonic() < _ThisProcess.resting_until:
        return
    try:
        _publish()
    except Exception:
        _ThisProcess.resting_until = time.monotonic() + REST_SECONDS
        raise


def _publish() -> None:
    options = {
        **current_app.conf.broker_transport_options,
        "max_retries": 0,  # of connecting; kombu's own default waits two seconds
        "connect_retries_timeout": PUBLISH_SECONDS,
        "socket_connect_timeout": PUBLISH_SECONDS,
        "socket_timeout": PUBLISH_SECONDS,
    }
    with current_app.connection_for_write(
        connect_timeout=PUBLISH_SECONDS, transport_options=options
    ) as connection:
        run_deliveries.apply_async(connection=connection, retry=False)  # type: ignore[call-arg]  # the stubs lack it


dispatch.register("celery", publish)
