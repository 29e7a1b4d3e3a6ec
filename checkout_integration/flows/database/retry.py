"""Repeating a whole transaction that lost a race or its connection."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
    connections,
)

from checkout_integration.flows.database.connection import state_database, use_read_committed_next

Result = TypeVar("Result")
MOST_TRIES = 3
MOST_DEADLOCKS = 10
"""Tries of a transaction that the database ended to let another one pass. InnoDB may choose the same one again."""
LONGEST_PAUSE = 0.05
DEADLOCKS = frozenset({"40001", "40P01", 1213})
"""Codes of PostgreSQL, and of MySQL and MariaDB."""
TRANSIENT_DATABASE_ERRORS = (OperationalError, InterfaceError, InternalError)
"""Never our own rules failing. PostgreSQL says InternalError on a node that a failover has made read-only (A.7)."""


class Unavailable(DatabaseError):
    """The database did not take the transaction, however often it was tried; to callers an error of Django's own family."""


def with_retries(work: Callable[[], Result]) -> Result:
    """The result of ``work``, which opens its own transaction and can be run again as a whole.

    An ``IntegrityError`` here means that another transaction inserted the same row first; an ``OperationalError`` a deadlock
    or a lost connection (InnoDB rolls the whole transaction back). Raises `Unavailable` after three tries, or ten deadlocks.
    """
    connection = connections[state_database()]
    deadlocks = failures = 0
    while True:
        try:
            if not connection.in_atomic_block:
                use_read_committed_next()
            return work()
        except (IntegrityError, *TRANSIENT_DATABASE_ERRORS) as error:
            if connection.in_atomic_block:
                raise  # a transaction of the caller's is broken now; only the caller can repeat it
            if isinstance(error, InternalError):
                connection.close()  # it answers well enough to be taken for usable; another may reach the new primary
            connection.close_if_unusable_or_obsolete()
            if is_deadlock(error):
                deadlocks += 1
            else:
                failures += 1
            if deadlocks == MOST_DEADLOCKS or failures == MOST_TRIES:
                raise Unavailable(type(error).__name__) from error
            time.sleep(random.uniform(0, LONGEST_PAUSE))  # noqa: S311  # jitter, no secret


def is_deadlock(error: BaseException) -> bool:
    """Return whether the database ended the transaction to let another pass; drivers keep its code in different places."""
    if not isinstance(error, DatabaseError):
        return False
    told = error.__cause__
    codes = {getattr(told, "sqlstate", None), getattr(told, "pgcode", None), *error.args[:1]}
    return not codes.isdisjoint(DEADLOCKS)
