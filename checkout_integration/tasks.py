"""Celery tasks: they carry names and ids only, and call a flow. Imported only where Celery is installed."""

from __future__ import annotations

import logging
import random
import time
from typing import Any, Final

from celery import current_app, group, shared_task
from celery.signals import task_prerun, worker_init
from kombu.pools import producers

from checkout_integration import dispatch, flows
from checkout_integration.flows.database import close_stranded
from checkout_integration.flows.outbox import Worker
from checkout_integration.models import Notification, SyncRun, SyncWindow

logger = logging.getLogger("checkout_integration.tasks")

PUBLISH_SECONDS = 0.5
"""How long publishing a task may delay a web process when the broker is unreachable."""
REST_SECONDS = (30.0, 60.0)
"""Random pause (min, max) of a process that could not publish. If all processes waited for the broker at the same time, none
would respond to requests.
"""

PUBLISH_SUPPRESSED_SECONDS = 1.0
"""How long a published task is expected to begin; after that it counts as lost."""


class ThisProcess:
    """The state of Celery in this process: its worker, its last publish, and the back-off of the broker.

    ``published_for``: the notification that was stored when a task was last published; None if none was.
    """

    name = ""
    celery_worker: Any = None
    resting_until = 0.0
    published_for: Notification | None = None
    suppressed_until = 0.0


task_prerun.connect(close_stranded, dispatch_uid="checkout_integration.close_stranded")


@worker_init.connect
def _remember_worker(sender: Any, **kwargs: object) -> None:
    """Remember the worker before it starts its pool; processes of the pool are forks and inherit it."""
    ThisProcess.celery_worker, ThisProcess.name = sender, Worker(slots=1).name


def current_worker() -> Worker | None:
    """Return the Celery worker of this process, with as many slots as it runs tasks at the same time."""
    known = ThisProcess.celery_worker
    if known is None:
        return None
    return Worker(slots=int(known.max_concurrency or known.concurrency), name=ThisProcess.name)


@shared_task(name="checkout_integration.run_due", ignore_result=True)
def run_due() -> None:
    """Apply stored notifications and run due receivers; the rest is for the next task."""
    if flows.run_due(worker=current_worker()).ended_early:
        dispatch.dispatch_due()


@shared_task(name="checkout_integration.prune", ignore_result=True)
def prune() -> None:
    """Prune what is older than RETENTION says."""
    flows.retention.prune_all()


@shared_task(name="checkout_integration.sync_due", ignore_result=True)
def sync_due(project: str = "default") -> None:
    """Publish a task for each lane of a project that is due."""
    for lane in flows.sync.lanes_due(project):
        sync_transactions.delay(project, lane)


@shared_task(name="checkout_integration.sync_transactions", ignore_result=True)
def sync_transactions(project: str = "default", lane: str = "recent") -> None:
    """Read one lane of a project's transaction list, then run the receivers of what it found.

    A long pass is divided: each window is a task of its own, for all workers.
    """
    try:
        run = flows.sync.begin_pass(project, lane)
    except flows.sync.LaneTaken as error:
        logger.info("%s", error, extra={"project": project, "lane": lane})
        return
    windows = flows.sync.windows_left(run)
    if len(windows) > 1:
        group(sync_window.si(run.pk, window) for window in windows).apply_async()
    else:
        for window in windows:
            sync_window(run.pk, window)


@shared_task(name="checkout_integration.sync_window", ignore_result=True)
def sync_window(run_pk: int, window_pk: int) -> None:
    """Read one window of a pass; whoever reads the last one ends the pass."""
    run = SyncRun.primary.filter(pk=run_pk, finished_at=None).first()
    if run is None:
        return
    # A service that does not respond now will hardly respond to this window.
    if not run.windows.filter(state=SyncWindow.State.UNREACHABLE).exists():
        flows.sync.read_window(run, window_pk)
        if flows.sync.windows_left(run):
            return
    run = flows.sync.end_pass(run)
    if run.finished_at is None:
        return
    if run.state != SyncRun.State.COMPLETE:
        text = "The sync of %s %s ended as %s: %s"
        logger.error(text, run.project, run.lane, run.state, run.failure, extra=run.log_ids)
    dispatch.dispatch_due()


def publish(notification: Notification | None = None) -> None:
    """Publish a task for due work, without waiting for an unreachable broker: the drain finds the rows anyway.

    After a failure this process publishes nothing for half a minute or more. It also publishes nothing while the
    notification of its last publish is not applied: the worker that applies that one will find these rows too
    (`flows.operations`), and a worker that is behind does not get a task for each of them.
    """
    now = time.monotonic()
    if now < ThisProcess.resting_until:
        return
    published_for = ThisProcess.published_for
    if published_for and now < ThisProcess.suppressed_until and flows.inbox.still_stored(published_for):
        return
    try:
        _publish()
    except Exception as error:
        ThisProcess.resting_until = time.monotonic() + random.uniform(*REST_SECONDS)  # noqa: S311  # no secret
        error.place = current_app.connection_for_write().as_uri()  # type: ignore[attr-defined]  # without the password
        raise
    ThisProcess.published_for, ThisProcess.suppressed_until = notification, now + PUBLISH_SUPPRESSED_SECONDS


def _publish() -> None:
    """Publish over this process's own connection; if the broker closed it meanwhile, once more over a new one."""
    pool = broker_producers()
    with pool.acquire(block=True, timeout=PUBLISH_SECONDS) as producer:
        was_connected, begun = producer.connection.connected, time.monotonic()
        try:
            _ask(producer)
        except Exception:
            # A second attempt would time out as well.
            if not was_connected or time.monotonic() - begun >= PUBLISH_SECONDS / 2:
                raise
            pool.connections.replace(producer.connection)  # closed, so that its next use connects anew
            producer.revive(producer.connection)
            _ask(producer)


def broker_producers() -> Any:
    """Return producers for the app's broker with our own time limits: Celery's pool may wait without limit."""
    options = {
        **current_app.conf.broker_transport_options,
        "connect_retries_timeout": PUBLISH_SECONDS,
        "socket_connect_timeout": PUBLISH_SECONDS,
        "socket_timeout": PUBLISH_SECONDS,
    }
    broker = current_app.connection_for_write(connect_timeout=PUBLISH_SECONDS, transport_options=options)
    # One try of connecting for each address; kombu's own default waits two seconds.
    broker.transport_options = {**options, "max_retries": max(len(broker.alt) - 1, 0)}
    return producers[broker]


def _ask(producer: Any) -> None:
    run_due.apply_async(producer=producer, retry=False)


TASKS: Final = frozenset(
    f"checkout_integration.{name}"
    for name in ("run_due", "prune", "sync_due", "sync_transactions", "sync_window")
)
"""By their names alone: to read an attribute of a shared task here would make Celery's own app before the shop's exists."""


def broker_answers(seconds: int) -> bool:
    """Return whether the broker accepts a connection within so many seconds."""
    with current_app.connection_for_write(connect_timeout=seconds) as broker:
        try:
            broker.ensure_connection(max_retries=1, interval_start=0, interval_max=0, timeout=seconds)
        except Exception:  # noqa: BLE001  # each broker has its own errors, which may name the password
            return False
    return True


def tasks_of_workers(seconds: float) -> dict[str, frozenset[str]]:
    """Return the tasks that each worker knows which responds within so many seconds."""
    found = current_app.control.inspect(timeout=seconds).registered() or {}
    return {name: frozenset(task.partition(" ")[0] for task in tasks) for name, tasks in found.items()}


dispatch.register("celery", publish)
