"""The schedule of Celery's beat. A Celery app imports it before Django's models are ready: names of tasks only."""

from __future__ import annotations

from typing import Any, Final

from checkout_integration.conf import project_aliases

__all__ = [
    "DRAIN_SECONDS",
    "PRUNE_SECONDS",
    "SYNC_SECONDS",
    "beat_schedule",
]

DRAIN_SECONDS: Final = 30.0
SYNC_SECONDS: Final = 300.0
PRUNE_SECONDS: Final = 86_400.0


def beat_schedule() -> dict[str, dict[str, Any]]:
    """Return entries for the Celery app's ``beat_schedule``: the drain of receivers, the sync of each project, and pruning.

    Every five minutes a task of the sync publishes one more for each lane that is due. Once a day a task removes what is
    older than RETENTION says.

    Usage: ``app.conf.beat_schedule = {**app.conf.beat_schedule, **beat_schedule()}``, in the module of the Celery app: the
    shop's own entries stay. With django-celery-beat, beat writes these entries into its tables when it starts, beside those
    of the admin.
    """
    drain = {"task": "checkout_integration.run_due", "schedule": DRAIN_SECONDS}
    syncs = {
        f"checkout_integration.sync_due.{alias}": {
            "task": "checkout_integration.sync_due",
            "schedule": SYNC_SECONDS,
            "args": (alias,),
        }
        for alias in project_aliases()
    }
    prune = {"task": "checkout_integration.prune", "schedule": PRUNE_SECONDS}
    return {"checkout_integration.run_due": drain, **syncs, "checkout_integration.prune": prune}


def unread_broker() -> str:
    """Return why tasks would go to a broker that the shop has not named, and to which; "" if it has named one."""
    from celery import current_app  # the shop's, once it is loaded

    broker = current_app.connection_for_write().as_uri()  # without the password
    if current_app.main == "default":
        return f"no Celery app of the shop is loaded here: tasks would go to {broker}"
    if not current_app.conf.broker_url and not current_app.conf.task_always_eager:
        return f"the Celery app {current_app.main!r} has no broker_url: tasks would go to {broker}"
    return ""
