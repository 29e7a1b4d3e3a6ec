"""Transactions: the database of the state, how they read and lock, and how a whole one is retried.

A transaction that lost a race or its connection is repeated from its beginning (`with_retries`). What the database refuses of
a batch is found by halves, so that a single row costs itself and not its neighbours (`in_halves`).
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
    connections,
    models,
    router,
    transaction,
)
from django.db.backends.base.base import BaseDatabaseWrapper

from checkout_integration.models import Installation, Order

KEY_LENGTH = 32

Row = TypeVar("Row", bound=models.Model)


def state_database() -> str:
    """Return the alias of the database that is written to. Decisions read from it too, since a replica may lag."""
    return router.db_for_write(Order)


@contextmanager
def own_transaction(*, savepoint: bool = True, durable: bool = False) -> Iterator[None]:
    """Begin a transaction, or a savepoint of the caller's. A connection that fails to end ours is closed.

    RACE: a connection may be lost between COMMIT and the statement with which Django turns autocommit on again on MariaDB.
    Then autocommit stays off: the next block takes it for the host's own choice and hangs in half a block for ever, since
    neither Django nor Celery closes a connection that is in a block. So it is closed here, before anything else is written.
    """
    connection = connections[state_database()]
    close_if_stranded(connection)
    ours = not connection.in_atomic_block and connection.get_autocommit()
    try:
        with transaction.atomic(using=connection.alias, savepoint=savepoint, durable=durable):
            yield
    except BaseException:
        close_if_stranded(connection)
        if ours and not connection.autocommit:
            connection.close()
        raise


def close_if_stranded(connection: BaseDatabaseWrapper) -> None:
    """Close a connection that is in a block which nobody has open: it was lost, and could not begin or end the block.

    Nothing else closes it. Blocks of a test, a host without autocommit, and a transaction of the host's own stay as they are.
    """
    if connection.in_atomic_block and not connection.atomic_blocks:
        connection.in_atomic_block = False  # or ``close`` would wait for the end of the block
        if connection.closed_in_transaction:  # Django has closed it, and waits for that end
            connection.connection = None
        connection.close()


def close_stranded(**kwargs: object) -> None:
    """Close the stranded connections of this thread, whoever left them: at the beginning of a request, a task, a command."""
    for connection in connections.all(initialized_only=True):
        close_if_stranded(connection)


@contextmanager
def write_transaction(*, durable: bool = False) -> Iterator[None]:
    """Begin a transaction that writes, or a savepoint of the caller's, at READ COMMITTED.

    On SQLite a transaction that has read and then wants to write is refused at once when another has written meanwhile,
    unless all transactions begin as writing ones (``transaction_mode`` IMMEDIATE).
    """
    with own_transaction(durable=durable):
        read_committed()
        if not connections[state_database()].features.has_select_for_update:
            Installation.primary.filter(project="").update(project="")  # there is no such row
        yield


def keeps_old_snapshots(connection: BaseDatabaseWrapper) -> bool:
    """Return whether a transaction that has waited for a lock still reads rows as they were before.

    MySQL and MariaDB do this at REPEATABLE READ, their own default; Django's default is READ COMMITTED.
    """
    level = connection.settings_dict["OPTIONS"].get("isolation_level", "read committed")
    return connection.vendor == "mysql" and (level or "").lower() != "read committed"


def use_read_committed_next() -> None:
    """Let the next transaction read the commits of others, at any isolation level of the host. Not inside a transaction."""
    connection = connections[state_database()]
    if keeps_old_snapshots(connection):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")


def read_committed() -> None:
    """Let the open transaction read the commits of others. Call it before anything else in a transaction of our own.

    It is for PostgreSQL, where `use_read_committed_next` would come too early. At a higher level PostgreSQL aborts a
    transaction that changes rows changed by others, but not one that looks for a row inserted by others.
    """
    connection = connections[state_database()]
    if connection.vendor != "postgresql" or len(connection.atomic_blocks) > 1:
        return
    if connection.isolation_level.name != "READ_COMMITTED":  # type: ignore[attr-defined]  # PostgreSQL's own
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")


def key_of(*parts: object) -> str:
    """Return a fixed-length key over several texts, so that identifiers of any length compare exactly.

    The first half of a SHA-256 in hex: 128 bits are enough for names of the service and the shop.
    """
    text = "\x1f".join(str(part) for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:KEY_LENGTH]


def locked(queryset: models.QuerySet[Row], *tables: str, wait: bool = True) -> models.QuerySet[Row]:
    """Return the rows of these tables, else of the queryset's own, locked until the transaction ends, in this order.

    Without ``wait``, rows locked by others are skipped.

    Their keys never change, so PostgreSQL lets others refer to them meanwhile: foreign keys are checked at the commit, in
    any sequence. Databases without ``FOR UPDATE OF`` lock every table that is joined; SQLite is locked as a whole.
    """
    features = connections[queryset.db].features
    of = (tables or ("self",)) if features.has_select_for_update_of else ()
    no_key = features.has_select_for_no_key_update
    return queryset.select_for_update(skip_locked=not wait, of=of, no_key=no_key)


Result = TypeVar("Result")
MOST_TRIES = 3
MOST_DEADLOCKS = 10
"""Tries of a transaction that the database aborted for a deadlock. InnoDB may choose the same one again."""
LONGEST_PAUSE = 0.05
DEADLOCKS = frozenset({"40001", "40P01", 1213})
"""Deadlock codes of PostgreSQL, and of MySQL and MariaDB."""
TRANSIENT_DATABASE_ERRORS = (OperationalError, InterfaceError, InternalError)
"""Never our own rules failing. PostgreSQL says InternalError on a node that a failover has made read-only."""


class Unavailable(DatabaseError):
    """The database refused the transaction in all retries; for callers it is an error of Django's own family."""


def with_retries(work: Callable[[], Result]) -> Result:
    """Return the result of ``work``, which opens its own transaction and can be run again as a whole.

    An ``IntegrityError`` here means that another transaction inserted the same row first; an ``OperationalError`` a deadlock
    or a lost connection (InnoDB rolls the whole transaction back). Raises `Unavailable` after three tries, or ten deadlocks.
    """
    connection = connections[state_database()]
    close_if_stranded(connection)
    deadlocks = failures = 0
    while True:
        try:
            if not connection.in_atomic_block:
                use_read_committed_next()
            return work()
        except (IntegrityError, *TRANSIENT_DATABASE_ERRORS) as error:
            if connection.in_atomic_block:
                raise  # the caller's transaction is broken now; only the caller can retry it
            if isinstance(error, InternalError):
                connection.close()  # it looks usable; a new connection may reach the new primary
            connection.close_if_unusable_or_obsolete()
            if is_deadlock(error):
                deadlocks += 1
            else:
                failures += 1
            if deadlocks == MOST_DEADLOCKS or failures == MOST_TRIES:
                raise Unavailable(type(error).__name__) from error
            time.sleep(random.uniform(0, LONGEST_PAUSE))  # noqa: S311  # jitter, no secret


Given = ParamSpec("Given")


def in_transaction(work: Callable[Given, Result]) -> Callable[Given, Result]:
    """Do all of the work in a transaction that writes (`write_transaction`), and as a whole again (`with_retries`)."""

    @wraps(work)
    def whole(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        def once() -> Result:
            with write_transaction():
                return work(*args, **kwargs)

        return with_retries(once)

    return whole


def is_deadlock(error: BaseException) -> bool:
    """Return whether the database aborted the transaction for another one; drivers have its code in different places."""
    if not isinstance(error, DatabaseError):
        return False
    cause = error.__cause__
    codes = {getattr(cause, "sqlstate", None), getattr(cause, "pgcode", None), *error.args[:1]}
    return not codes.isdisjoint(DEADLOCKS)


T = TypeVar("T")
R = TypeVar("R")


def refusal_of(error: Exception) -> Exception:
    """Return the error that is about what was written: a failure of our rules, or a row that breaks a constraint.

    Any other is raised again: a database that is away says nothing about the rows. An IntegrityError in every retry is no
    race, in which the second try would have seen the other transaction's row: a row breaks a constraint each time.
    """
    if isinstance(error, Unavailable) and isinstance(error.__cause__, IntegrityError):
        return error.__cause__
    if isinstance(error, (Unavailable, *TRANSIENT_DATABASE_ERRORS)):
        raise error
    return error


def in_halves(
    items: Sequence[T],
    work: Callable[[Sequence[T]], list[R]],
    failed: Callable[[T, Exception], list[R]],
    *,
    unless: type[Exception] | tuple[type[Exception], ...] = (),
) -> list[R]:
    """Return the results of ``work`` for all items, and of ``failed`` for single ones that are refused.

    ``work`` does some items together or not at all: in a transaction or savepoint of its own. Errors of ``unless`` concern
    all of them, and are raised.
    """
    try:
        return work(items)
    except unless:
        raise
    except Exception as error:  # noqa: BLE001  # in the end it belongs to a single item
        reason = refusal_of(error)
        if len(items) == 1:
            return failed(items[0], reason)
    half = len(items) // 2
    first, second = items[:half], items[half:]
    return in_halves(first, work, failed, unless=unless) + in_halves(second, work, failed, unless=unless)
