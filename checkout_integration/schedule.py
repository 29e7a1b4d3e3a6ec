"""What Celery's beat does at intervals. Imported by a Celery app, before Django's models can be: names of tasks only."""

from __future__ import annotations

from typing import Any, Final

from celery.schedules import crontab

from checkout_integration.conf import project_aliases

DRAIN_SECONDS: Final = 30.0
RECENT_SECONDS: Final = 300.0


def beat_schedule() -> dict[str, dict[str, Any]]:
    """Return entries for the Celery app's ``beat_schedule``: the drain of receivers, and each project's lanes of the sync.

    Usage: ``app.conf.beat_schedule = beat_schedule()``, in the module of the Celery app.
    """
    schedule: dict[str, dict[str, Any]] = {
        "checkout_integration.run_due": {
            "task": "checkout_integration.run_due",
            "schedule": DRAIN_SECONDS,
        },
    }
    for alias in project_aliases():
        for lane, when in (
            ("recent", RECENT_SECONDS),
            ("reversals", crontab(minute="17", hour="3")),
            ("all", crontab(minute="17", hour="4", day_of_week="sun")),
        ):
            schedule[f"checkout_integration.sync_transactions.{alias}.{lane}"] = {
                "task": "checkout_integration.sync_transactions",
                "schedule": when,
                "args": (alias, lane),
            }
    return schedule
