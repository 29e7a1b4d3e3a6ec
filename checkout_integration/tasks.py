"""Celery tasks: they carry names and ids only, and call a flow. Imported only where Celery is installed."""

from __future__ import annotations

from typing import Any

from celery import current_app, shared_task
from celery.schedules import crontab

from checkout_integration import dispatch, flows
from checkout_integration.conf import app_settings

PUBLISH_SECONDS = 0.5
"""How long the publishing of a task may hold up a web process when the broker is away."""


@shared_task(name="checkout_integration.run_deliveries", ignore_result=True)
def run_deliveries() -> None:
    """Runs the receivers that are due."""
    flows.run_deliveries()


@shared_task(name="checkout_integration.sync_transactions", ignore_result=True)
def sync_transactions(project: str = "default", lane: str = "recent") -> None:
    """Reads one lane of a project's transaction list, then runs the receivers of what it found."""
    flows.sync_transactions(project, lane)
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
    """Asks a worker to run receivers, without waiting for a broker that is away: the drain finds the rows anyway."""
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
