"""The database server itself: its clock, its limits on transactions, its triggers, and whether it can be written.

*Clock.* Hosts whose clocks differ agree on the database's time. Claims, waits and due times are written and compared in it. A
process asks for it once a minute, and counts on by its own monotonic clock in between: an adjustment of the host's clock
changes nothing. SQLite runs on the host, so there the host's clock is the database's.

*Limits* on idle and long transactions are raised while a receiver runs, and named where one strikes. Only limits that are
set and shorter cost statements: one a transaction on PostgreSQL, where they end with it; two on MariaDB and MySQL, whose
limits belong to the session and are set back.

*Triggers* let the database refuse changes of the history. *Writable*: a primary that became a replica responds to every
question and stores nothing.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from checkout_integration.flows.database.statements import upsert
from checkout_integration.flows.database.transactions import state_database, with_retries
from checkout_integration.models import HostClock, Installation, Transition

MEASURE_EVERY: Final = 60.0
MOST_AHEAD: Final = timedelta(seconds=2)
"""By how much a host's clock may differ from the database's before health names the host."""
NOW: Final = {"postgresql": "SELECT clock_timestamp()", "mysql": "SELECT UTC_TIMESTAMP(6)"}


class Measured(NamedTuple):
    """The database's time at a moment of this process's monotonic clock, and how far the host's clock was ahead of it."""

    at: datetime
    monotonic: float
    ahead: timedelta


class DatabaseClock:
    """What this process knows of the time.

    ``follows_host``: the host's clock counts for the database's, in tests that travel in time. ``noted``: the measurement
    that was written last.
    """

    measured: Measured | None = None
    follows_host = False
    noted: Measured | None = None


def database_now() -> datetime:
    """Return the database's time. At most once a minute this takes a statement."""
    if DatabaseClock.follows_host:
        return datetime.now(UTC)
    connection = connections[state_database()]
    if connection.vendor not in NOW:
        return datetime.now(UTC)
    measured, now = DatabaseClock.measured, time.monotonic()
    if measured is None or now - measured.monotonic > MEASURE_EVERY:
        DatabaseClock.measured = measured = _measure(connection)
        now = measured.monotonic
    return measured.at + timedelta(seconds=now - measured.monotonic)


def _measure(connection: BaseDatabaseWrapper) -> Measured:
    with connection.cursor() as cursor:
        cursor.execute(NOW[connection.vendor])
        (at,) = cursor.fetchone()
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return Measured(at, time.monotonic(), datetime.now(UTC) - at)


def note_clock() -> None:
    """Write down by how much the clock of this host differs from the database's, or that it does so no longer.

    One statement a minute and process at most, and none inside a transaction of the caller's.
    """
    if connections[state_database()].in_atomic_block:
        return
    with_retries(database_now)
    measured = DatabaseClock.measured
    if measured is None or measured is DatabaseClock.noted:
        return
    host = socket.gethostname()[:255]
    if abs(measured.ahead) > MOST_AHEAD:
        row = HostClock(host=host, seconds_ahead=measured.ahead.total_seconds(), measured_at=measured.at)
        with_retries(lambda: upsert([row], "host", update=("seconds_ahead", "measured_at")))
    else:
        with_retries(HostClock.primary.filter(host=host).delete)
    DatabaseClock.noted = measured


# By the names that the server has: an older one lacks some.
SET: Final = {
    "postgresql": """SELECT name, setting::bigint / 1000.0 FROM pg_settings
        WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout') AND setting <> '0'""",
    "mysql": """SHOW SESSION VARIABLES WHERE Variable_name IN ('idle_transaction_timeout', 'idle_write_transaction_timeout',
        'idle_readonly_transaction_timeout', 'wait_timeout') AND Value <> '0'""",
}
STRUCK: Final = {"25P03": "idle_in_transaction_session_timeout", "25P04": "transaction_timeout"}
"""What PostgreSQL says where a limit strikes. MariaDB and MySQL say only that the connection is lost."""
LOST: Final = {2006, 2013, 4031}


class Limits(NamedTuple):
    """The server's own limits of a session, in seconds, by name; ``session`` is the driver's connection."""

    session: object
    seconds: Mapping[str, float]


def limits_of(connection: BaseDatabaseWrapper) -> Mapping[str, float]:
    """Return the limits that are set: one statement for each new connection, none on SQLite."""
    if connection.vendor not in SET:
        return {}
    known: Limits | None = getattr(connection, "checkout_limits", None)
    if known is None or known.session is not connection.connection:
        with connection.cursor() as cursor:
            cursor.execute(SET[connection.vendor])
            seconds = {name: float(value) for name, value in cursor.fetchall()}
        known = Limits(connection.connection, seconds)
        connection.checkout_limits = known  # type: ignore[attr-defined]  # with the connection that it is about
    return known.seconds


@contextmanager
def limits_raised(seconds: float) -> Iterator[None]:
    """Raise shorter limits to so many seconds, in the open transaction; if they cannot be set back, close the connection."""
    connection = connections[state_database()]
    shorter = {name: own for name, own in limits_of(connection).items() if own < seconds}
    if not shorter:
        yield
    elif connection.vendor == "postgresql":
        # A clock of transaction_timeout that runs already is started anew only by a change from 0, which stops it.
        calls = ", ".join(
            f"set_config('{name}', '{value}', true)" for name in shorter for value in (0, int(seconds * 1000))
        )
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {calls}")  # names of the server and a number
        yield
    else:
        session: Any = connection.connection
        _set_limits(session, dict.fromkeys(shorter, seconds))
        try:
            yield
        finally:
            if connection.connection is session:
                try:
                    _set_limits(session, shorter)
                except Exception:  # noqa: BLE001  # the driver's own error, for instance since the connection is lost
                    connection.close()


def _set_limits(session: Any, seconds: Mapping[str, float]) -> None:
    """Set the session's limits, past Django: it refuses statements where the transaction is to be rolled back."""
    with session.cursor() as cursor:
        cursor.execute(
            "SET " + ", ".join(f"SESSION {name} = {max(int(own), 1)}" for name, own in seconds.items())
        )


def limit_struck(error: BaseException, ran_for: float, raised_to: float) -> str:
    """Return the name of the limit that has ended a transaction which ran for so many seconds; "" if none has."""
    cause: BaseException | None = error
    while cause is not None:
        if name := STRUCK.get(getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None) or ""):
            return name
        if cause.args[:1] and cause.args[0] in LOST:
            known: Limits | None = getattr(connections[state_database()], "checkout_limits", None)
            limits = known.seconds if known else {}
            return " or ".join(sorted(name for name, own in limits.items() if ran_for >= max(own, raised_to)))
        cause = cause.__cause__
    return ""


# A table that does not exist is an error on PostgreSQL, and has no triggers elsewhere.
_TRIGGERS: Final = {
    "postgresql": "SELECT tgname FROM pg_trigger WHERE tgrelid = CAST(%s AS regclass) AND tgenabled <> 'D'",
    "mysql": "SELECT trigger_name FROM information_schema.triggers "
    "WHERE event_object_schema = DATABASE() AND event_object_table = %s",
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s",
}


def missing_triggers() -> list[str]:
    """Return the names of the triggers that the table lacks, sorted; [] for a database that has none of ours, or no table.

    On MariaDB and MySQL an account sees no triggers without the privilege TRIGGER. Raises DatabaseError.
    """
    connection = connections[state_database()]
    if connection.vendor not in _TRIGGERS:
        return []
    # What the migration 0002_append_only creates in this kind of database.
    ours = {"ci_transition_update"} | (
        {"ci_transition_delete"} if connection.vendor == "postgresql" else set()
    )
    with connection.cursor() as cursor:
        # Before the first migration there is nothing to guard, and after `migrate checkout_integration zero`.
        if Transition._meta.db_table not in connection.introspection.table_names(cursor):
            return []
        cursor.execute(_TRIGGERS[connection.vendor], [Transition._meta.db_table])
        return sorted(ours - {name for (name,) in cursor.fetchall()})


_QUESTION: Final = {
    "postgresql": "SELECT current_setting('transaction_read_only')",
    "mysql": "SELECT @@global.read_only",
}
_READ_ONLY: Final = ("on", "1")


def is_read_only() -> bool:
    """Return whether the database of the state refuses every write."""
    connection = connections[state_database()]
    if connection.vendor not in _QUESTION:
        return not connection.in_atomic_block and _is_read_only_file(connection)
    with connection.cursor() as cursor:
        cursor.execute(_QUESTION[connection.vendor])
        return str(cursor.fetchone()[0]).lower() in _READ_ONLY


def _is_read_only_file(connection: BaseDatabaseWrapper) -> bool:
    """Return whether SQLite refuses a change of no row for another reason than that somebody else is writing."""
    with connection.cursor() as cursor:
        ((patience,),) = cursor.execute("PRAGMA busy_timeout").fetchall()
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            cursor.execute(f"UPDATE {Installation._meta.db_table} SET project = project WHERE 0")  # noqa: S608
        except OperationalError as error:
            return "readonly" in str(error)
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {int(patience)}")
        return False
