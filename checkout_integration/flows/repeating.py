"""Repeating a whole transaction that lost a race or its connection."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import IntegrityError, InterfaceError, InternalError, OperationalError, connections

from checkout_integration.flows.database import begin_afresh, state_database

Result = TypeVar("Result")
MOST_TRIES = 3
LONGEST_PAUSE = 0.05
DATABASE_AWAY = (OperationalError, InterfaceError, InternalError)
"""Never our own rules failing. PostgreSQL says InternalError on a node that a failover has made read-only (A.7)."""


class Unavailable(Exception):
    """The database did not take the transaction, three times."""


def repeated(work: Callable[[], Result]) -> Result:
    """The result of ``work``, which opens its own transaction and can be run again as a whole.

    An ``IntegrityError`` here means that another transaction inserted the same row first; an ``OperationalError`` a deadlock
    or a lost connection (InnoDB rolls the whole transaction back). Raises `Unavailable` after three tries.
    """
    connection = connections[state_database()]
    for tries in range(1, MOST_TRIES + 1):
        try:
            if not connection.in_atomic_block:
                begin_afresh()
            return work()
        except (IntegrityError, *DATABASE_AWAY) as error:
            if connection.in_atomic_block:
                raise  # a transaction of the caller's is broken now; only the caller can repeat it
            if isinstance(error, InternalError):
                connection.close()  # it answers well enough to be taken for usable; another may reach the new primary
            connection.close_if_unusable_or_obsolete()
            if tries == MOST_TRIES:
                raise Unavailable(type(error).__name__) from error
            time.sleep(random.uniform(0, LONGEST_PAUSE))  # noqa: S311  # jitter, no secret
    raise AssertionError("unreachable")
