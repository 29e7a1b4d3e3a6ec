"""Looks at due notifications, and their claims: each process locks what it applies, and leaves what others have locked."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from checkout_integration.flows.database import Command, Query, database_now
from checkout_integration.models import Notification

# Due notifications are found and claimed by their state, never by "id greater than the last seen".
#
# Of one order only the first due notification can be claimed, its head. While a process has it, no process can claim a later
# one of that order; other orders are free. So the events of one order are applied in the order in which they became due, that
# is in which they were received; a failed one is due again later, behind those received meanwhile.
#
# RACE: heads are found by a plain look, and then locked by their keys. So no process ever locks a notification behind a head,
# and a look after the commit of a head finds the next one free. That is why every process that applies looks again after
# each commit: a notification that another process stored, and left because the head was locked, was stored before that look.

Look = Callable[[int, Collection[int]], list[int]]
"""A look: a function that returns the keys of due heads, oldest first, up to a number and except those to be skipped."""

# No index serves these conditions: otherwise a planner without fresh statistics would read all due rows, or all rows of the
# project, for one order's.
#
# One that was never tried is due, whatever clock has stamped it: that of its web host may be ahead.
_IS_DUE: Final = "(own.due_at <= {now} OR (own.tries = 0 AND own.due_at IS NOT NULL))"
_DUE: Final = f"CASE WHEN {_IS_DUE} THEN 1 END = 1"
_DUE_OF_PROJECT: Final = f"CASE WHEN own.project = {{project}} AND {_IS_DUE} THEN 1 END = 1"
# The notification names no order, or is the first due one of its order; a CASE for the same reasons.
_IS_HEAD: Final = (
    "own.object_id = '' OR (SELECT earlier.id FROM {notifications} earlier"
    " WHERE earlier.object_id = own.object_id AND CASE WHEN earlier.project <> own.project THEN 0"
    " WHEN [is due] AND"
    " (earlier.due_at < own.due_at OR (earlier.due_at = own.due_at AND earlier.id < own.id)) THEN 1 END = 1"
    " LIMIT 1) IS NULL"
).replace("[is due]", _IS_DUE.replace("own.", "earlier."))
_OLDEST: Final = Command(
    f"SELECT own.id, CASE WHEN {_IS_HEAD} THEN 1 ELSE 0 END FROM"  # noqa: S608
    " (SELECT id, project, object_id, due_at FROM {notifications} own WHERE own.due_at IS NOT NULL"
    f" AND {_IS_DUE} AND id NOT IN {{passed}}"
    " ORDER BY due_at, id LIMIT {most}) own ORDER BY own.due_at, own.id",
    notifications=Notification,
)
_HEADS: Final = Command(
    f"SELECT own.id FROM {{notifications}} own WHERE own.due_at IS NOT NULL AND {_IS_DUE}"  # noqa: S608
    f" AND own.id NOT IN {{passed}} AND ({_IS_HEAD}) ORDER BY own.due_at, own.id LIMIT {{most}}",
    notifications=Notification,
)
_FIND: Final = "SELECT own.due_at, own.id FROM {notifications} own WHERE "
_OF_ORDER: Final = Command(
    f"{_FIND} own.object_id = {{object_id}} AND {_DUE_OF_PROJECT}",
    notifications=Notification,
)
_OF_BODY: Final = Command(
    f"{_FIND} own.key = {{key}} AND own.body_hash = {{body_hash}} AND {_DUE}",
    notifications=Notification,
)
_CLAIM: Final = Query(
    Notification,
    # By the key: MariaDB locks each row that it reads or sorts.
    f"own.id IN {{keys}} AND {_DUE} ORDER BY own.id LIMIT {{most}}",
    lock=("own",),
    waits=False,
)


def heads(most: int, passed: Collection[int] = ()) -> list[int]:
    """Look at every order (`Look`): at the oldest of all, and at more only where all of these are behind others."""
    values = {"now": database_now(), "most": most, "passed": [0, *passed]}
    oldest = _OLDEST.fetch(**values)
    found = [key for key, is_head in oldest if is_head]
    return found if found or not oldest else [key for (key,) in _HEADS.fetch(**values)]


def head_of(notification: Notification) -> Look:
    """Return the look at the order of a notification; at that body alone, where it names no order."""
    values: dict[str, object]
    if notification.object_id:
        command, values = _OF_ORDER, {"project": notification.project, "object_id": notification.object_id}
    else:
        command, values = _OF_BODY, {"key": notification.key, "body_hash": notification.body_hash}

    def look(most: int, passed: Collection[int]) -> list[int]:
        (_, key) = min(command.fetch(now=database_now(), **values), default=(None, None))
        return [] if key is None or key in passed else [key]

    return look


def claim(keys: Collection[int], most: int) -> list[Notification]:
    """Return up to ``most`` of these heads, locked until the transaction ends, in the order in which they were received.

    RACE: rows locked by another process are left to it. If the database cannot skip locked rows, this waits for them; by
    then they are no longer due.
    """
    claimed = _CLAIM.rows(keys=keys, now=database_now(), most=most)
    return sorted(claimed, key=lambda row: (row.received_at, row.pk))
