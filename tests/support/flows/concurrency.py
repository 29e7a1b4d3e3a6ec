"""Many at the same time: threads, processes, and what waits for a lock in the database."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from threading import Barrier, Event, Thread
from typing import Any, TypeVar

import django
from django.conf import settings
from django.db import OperationalError, connection, transaction

Work = TypeVar("Work")
Done = TypeVar("Done")
WAITING = re.compile(r"^LOCK WAIT .*\n\S+ thread id (\d+),", re.MULTILINE)


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
        initializer=begin_process,
        initargs=(connection.settings_dict["NAME"], settings.CHECKOUT_INTEGRATION),
    ) as pool:
        return list(pool.map(work, shares))


def begin_process(database: str, checkout_integration: dict[str, Any]) -> None:
    """Let a process that was just started work on this database, with these settings."""
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


def waiting_locks() -> int:
    """Return how many transactions of this database wait for another one."""
    return {"postgresql": _waiting_in_postgres, "mysql": _waiting_in_mariadb}[connection.vendor]()


def await_waiting_locks(count: int = 1) -> None:
    """Return when so many transactions of this database wait for another one."""
    for _ in range(600):
        if waiting_locks() >= count:
            return
        Event().wait(0.05)
    raise AssertionError(f"there are no {count} that wait")


def _waiting_in_postgres() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        return int(cursor.fetchone()[0])


def _waiting_in_mariadb() -> int:
    """Not from INNODB_TRX: its cache repeats old rows while any session queries it often.

    In ASCII: the status quotes the statements of all sessions, and their bytes need not be UTF-8.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM information_schema.processlist WHERE db = database()")
        ours = {str(number) for (number,) in cursor.fetchall()}
        cursor.execute("SET @results = @@character_set_results, character_set_results = ascii")
        cursor.execute("SHOW ENGINE INNODB STATUS")
        status = cursor.fetchone()[2].partition("LIST OF TRANSACTIONS FOR EACH SESSION")[2]
        cursor.execute("SET character_set_results = @results")
        return len(ours.intersection(WAITING.findall(status)))


def deadlocks() -> int:
    """Return how many deadlocks PostgreSQL has counted in this database; 0 elsewhere, where they are part of the game."""
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def innodb_deadlocks() -> int:
    """Return how many deadlocks InnoDB has counted in all databases of the server; 0 elsewhere."""
    if connection.vendor != "mysql":
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'")
        return int(cursor.fetchone()[1])


class Meeting:
    """Transactions in threads of their own, which start while another one has the locks that they need."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self._threads: list[Thread] = []

    def comes(self, work: Callable[[], object]) -> None:
        """Begin the work, and return when it waits for a lock."""
        self._threads.append(in_background(lambda: self._noting(work)))
        await_waiting_locks(len(self._threads))

    def _noting(self, work: Callable[[], object]) -> None:
        """Note what the database refused; the retry would hide it."""

        def note(execute: Callable[..., Any], *arguments: Any) -> Any:
            try:
                return execute(*arguments)
            except OperationalError as error:
                self.refused.append(str(error))
                raise

        with connection.execute_wrapper(note):
            work()

    def end(self) -> None:
        """Wait for all."""
        for thread in self._threads:
            thread.join()


@contextmanager
def meeting() -> Iterator[Meeting]:
    """A transaction during which others start; the database must refuse none."""
    before, others = deadlocks(), Meeting()
    try:
        with transaction.atomic():
            yield others
    finally:
        others.end()
    assert others.refused == []
    assert deadlocks() == before
