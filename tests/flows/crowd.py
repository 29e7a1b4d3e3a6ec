"""Many at the same time: threads, processes, and what waits for a lock in the database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from threading import Barrier, Event, Thread
from typing import Any, TypeVar

import django
from django.conf import settings
from django.db import connection

Work = TypeVar("Work")
Done = TypeVar("Done")
WAITING = {
    "postgresql": "SELECT count(*) FROM pg_stat_activity "
    "WHERE wait_event_type = 'Lock' AND datname = current_database()",
    "mysql": "SELECT count(*) FROM information_schema.innodb_trx JOIN information_schema.processlist "
    "ON id = trx_mysql_thread_id WHERE trx_state = 'LOCK WAIT' AND db = database()",
}


def at_once(works: Sequence[Callable[[], int]]) -> list[int]:
    """Run the works in as many threads, which begin together; each thread gives its connection back."""
    together = Barrier(len(works))

    def run(work: Callable[[], int]) -> int:
        try:
            together.wait(60)
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def in_processes(work: Callable[[Work], Done], shares: Sequence[Work]) -> list[Done]:
    """Run one share of the work in each of as many processes, with this one's database and settings."""
    connection.close()
    with ProcessPoolExecutor(
        len(shares),
        mp_context=get_context("spawn"),
        initializer=_begin_process,
        initargs=(connection.settings_dict["NAME"], settings.CHECKOUT_INTEGRATION),
    ) as pool:
        return list(pool.map(work, shares))


def _begin_process(database: str, checkout_integration: dict[str, Any]) -> None:
    django.setup()
    settings.CHECKOUT_INTEGRATION = checkout_integration
    connection.settings_dict["NAME"] = database


def in_background(work: Callable[[], object]) -> Thread:
    """Run the work in a thread with a connection of its own."""

    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = Thread(target=run)
    thread.start()
    return thread


def await_a_waiting_lock() -> None:
    """Return when some transaction of this database waits for another one."""
    for _ in range(200):
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(WAITING[connection.vendor])
            if cursor.fetchone()[0]:
                return
        Event().wait(0.15)  # InnoDB tells the same again to whoever asks within a tenth of a second
    raise AssertionError("nobody waits")


def deadlocks() -> int:
    """Return how many deadlocks PostgreSQL has counted in this database; 0 elsewhere, where they are part of the game."""
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])
