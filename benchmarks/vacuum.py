"""Tables of PostgreSQL vacuumed while something is measured, as by autovacuum, which some servers have switched off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from django.db import connection

MINUTE = 60.0


@contextmanager
def vacuumed() -> Iterator[None]:
    """Vacuum and analyze the tables now and each minute during the block; nothing on other databases."""
    ended = Event()
    thread = Thread(target=_vacuum_until, args=[ended])
    vacuum()
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _vacuum_until(ended: Event) -> None:
    try:
        while not ended.wait(MINUTE):
            vacuum()
    finally:
        connection.close()  # this thread's own


def vacuum() -> None:
    """Vacuum and analyze the tables with rows: of an empty one PostgreSQL would remember that, and scan it while it grows."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        for name in map(connection.ops.quote_name, connection.introspection.table_names(cursor)):
            cursor.execute(f"SELECT EXISTS (SELECT FROM {name})")
            if cursor.fetchone() == (True,):
                cursor.execute(f"VACUUM (ANALYZE) {name}")
