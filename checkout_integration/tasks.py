"""Celery tasks: they carry names and ids only, and call a flow. Imported only where Celery is installed."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Collection
from typing import Any

from celery import current_app, shared_task
from celery.signals import worker_init
from kombu.pools import producers

from checkout_integration import dispatch, flows
from checkout_integration.flows.outbox import Worker
from checkout_integration.models import Notification, SyncRun

logger = logging.getLogger("checkout_integration.tasks")

PUBLISH_SECONDS = 0.5
"""How long the publishing of a task may hold up a web process when the broker is away."""
REST_SECONDS = (30.0, 60.0)
"""How long, at least and at most, a process that could not publish does not try again. By chance: processes that all wait for
a broker at the same time leave nobody to answer.
"""

ASKED_SECONDS = 1.0
"""How long a task that was published is relied on to begin; it may have been lost."""


class _ThisProcess:
    """What this process knows of Celery: the worker that it belongs to, whom it asked, and since when the broker is away.

    ``asked_for``: the notification that was stored when a task was last published; None if none was.
    """

    name = ""
    celery_worker: Any = None
    resting_until = 0.0
    asked_for: Notification | None = None
    asked_until = 0.0


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


@shared_task(name="checkout_integration.run_due", ignore_result=True)
def run_due() -> None:
    """Apply what is stored and run the receivers that are due; what one task leaves is for the next."""
    if flows.run_due(worker=_worker()).ended_early:
        dispatch.hand_over()


@shared_task(name="checkout_integration.sync_transactions", ignore_result=True)
def sync_transactions(project: str = "default", lane: str = "recent") -> None:
    """Reads one lane of a project's transaction list, then runs the receivers of what it found."""
    run = flows.sync_transactions(project, lane)
    if run.state != SyncRun.State.COMPLETE:
        logger.error("The sync of %s %s ended as %s: %s", project, lane, run.state, run.failure)
    dispatch.hand_over()


def publish(order_ids: Collection[int] = (), notification: Notification | None = None) -> None:
    """Ask a worker to do what is due, without waiting for a broker that is away: the drain finds the rows anyway.

    After a failure this process asks nobody for half a minute or more. Nor does it ask again while the notification that it
    asked for a moment ago is not applied: whoever applies that one will find these rows too (`flows.due`), and a worker that
    is behind is not given a task for each of them.
    """
    now = time.monotonic()
    if now < _ThisProcess.resting_until:
        return
    asked_for = _ThisProcess.asked_for
    if asked_for and now < _ThisProcess.asked_until and flows.still_stored(asked_for):
        return
    try:
        _publish()
    except Exception:
        _ThisProcess.resting_until = time.monotonic() + random.uniform(*REST_SECONDS)  # noqa: S311  # no secret
        raise
    _ThisProcess.asked_for, _ThisProcess.asked_until = notification, now + ASKED_SECONDS


def _publish() -> None:
    """Over a connection that this process keeps; if the broker has closed it meanwhile, once more over a new one."""
    pool = _producers()
    with pool.acquire(block=True, timeout=PUBLISH_SECONDS) as producer:
        was_kept, begun = producer.connection.connected, time.monotonic()
        try:
            _ask(producer)
        except Exception:
            # Who let the time run out would do so again.
            if not was_kept or time.monotonic() - begun >= PUBLISH_SECONDS / 2:
                raise
            pool.connections.replace(producer.connection)  # closed, so that its next use connects anew
            producer.revive(producer.connection)
            _ask(producer)


def _producers() -> Any:
    """Those of the app's broker with time limits of our own: Celery's pool may wait for as long as it likes."""
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


dispatch.register("celery", publish)
