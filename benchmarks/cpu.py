"""Processor time of processes: of web workers, of our worker, and of the database's server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import psutil
from django.db import connection

Reading = Mapping[int, float]
"""Seconds that each process has worked, by its id."""


def read(processes: Iterable[int]) -> Reading:
    """Return the seconds that these processes and their ended children have worked; one that has ended is left out."""
    seconds = {}
    for process in processes:
        try:
            times = psutil.Process(process).cpu_times()
        except psutil.NoSuchProcess:
            continue
        seconds[process] = times.user + times.system + times.children_user + times.children_system
    return seconds


def spent(before: Reading, after: Reading) -> float:
    """Return the seconds between two readings; a process that is new in the second one has spent all of its own."""
    return sum(seconds - before.get(process, 0.0) for process, seconds in after.items())


def children(process: int) -> list[int]:
    """Return the processes that this one has started."""
    return [child.pid for child in psutil.Process(process).children()]


def database_processes() -> list[int] | None:
    """Return the processes of the database's server, None where it does not run on this machine.

    None of them on SQLite: it works in the process that asks. Of PostgreSQL's, those that serve other databases are left out.
    """
    if connection.vendor == "sqlite":
        return []
    if connection.vendor == "postgresql":
        return _postgres()
    names = {"mariadbd", "mysqld"}
    return [process.pid for process in psutil.process_iter(["name"]) if process.info["name"] in names] or None


def _postgres() -> list[int] | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (own,) = cursor.fetchone()
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE datname <> current_database()")
        others = {pid for (pid,) in cursor.fetchall()}
    try:
        backend = psutil.Process(own)
        server = backend.parent()
    except psutil.NoSuchProcess:
        return None
    if server is None or "postgres" not in backend.name():
        return None
    # The server itself has the time of its children that have ended: of connections that were closed.
    return [server.pid, *(child.pid for child in server.children() if child.pid not in others)]
