"""The order of runs in a line: of each line and receiver the oldest unfinished run is the head, and later ones wait.

Nobody ever waits for the lock of a run that is being attempted, so three rules keep a run from waiting behind nothing:

1. A run is made ``waiting`` only by a transaction that has locked a head in front of it. A head that another one has locked
   may be about to end: a run that would have to wait for it is left ``due``.
2. A run ends only in a transaction that has locked it *before* the statement that ends it, and that statement also makes the
   first run that waits due (`finish`). So whoever locked the head earlier has committed, and is seen; whoever comes later
   cannot lock it.
3. A run that is due and not the head, which rules 1 and 2 allow for a moment, is not claimed, but made to wait by rule 1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from django.db import connections

from checkout_integration.flows.database.connection import locked, state_database
from checkout_integration.models import ReceiverRun

Place = tuple[int | None, str]
"""A line, and a receiver in it."""
State = ReceiverRun.State
HEADS = (State.DUE, State.RUNNING)
"""States of a run that others may wait for."""
UNFINISHED = (State.DUE, State.WAITING, State.RUNNING)


def lock_heads(lines: Collection[int]) -> set[Place]:
    """Lock what others may wait for in these lines, without waiting for a lock, and return the places of what was locked."""
    if not lines:
        return set()
    heads = ReceiverRun.objects.using(state_database()).filter(line__in=lines, state__in=HEADS)
    return {(head.line, head.receiver) for head in locked(heads.only("line", "receiver"), wait=False)}


def hold_back(runs: Iterable[ReceiverRun]) -> None:
    """Make due runs wait whose head is in front of them, where that can be locked. They are locked by the caller."""
    overtaking = list(runs)
    behind = {run.pk for run in overtaking}
    heads = ReceiverRun.objects.using(state_database()).filter(
        line__in={run.line for run in overtaking}, state__in=HEADS
    )
    free = locked(heads.exclude(pk__in=behind).only("line", "receiver", "message"), wait=False)
    first: dict[Place, int] = {}
    for head in free:
        place = (head.line, head.receiver)
        first[place] = min(head.message_id, first.get(place, head.message_id))
    keys = [
        run.pk for run in overtaking if run.message_id > first.get((run.line, run.receiver), run.message_id)
    ]
    due = ReceiverRun.objects.using(state_database()).filter(pk__in=keys, state=State.DUE)
    due.update(state=State.WAITING)


def finish(
    key: int,
    state: ReceiverRun.State,
    *,
    before: Sequence[ReceiverRun.State] = (State.RUNNING,),
    fence: str = "",
    error: str = "",
) -> bool:
    """End a run that is in one of the states ``before``, and make the first run that waits for it due.

    The caller's transaction has locked the run. One statement: it costs a receiver no more than the mark alone. With a
    ``fence`` only a run that another process has not taken over is ended. False when nothing was ended.
    """
    connection = connections[state_database()]
    states = ", ".join(f"'{each.value}'" for each in before)
    is_own = f"ended.state IN ({states})" + (" AND ended.fence = %(fence)s" if fence else "")
    statement = _FINISH_BY_JOIN if connection.vendor == "mysql" else _FINISH
    table = connection.ops.quote_name(ReceiverRun._meta.db_table)
    values = {
        "key": key,
        "fence": fence,
        "state": state.value,
        "error": error,
        "now": ReceiverRun._meta.get_field("due_at").get_db_prep_value(datetime.now(UTC), connection),
    }
    picked = _PICKED.format(table=table, is_own=is_own)
    with connection.cursor() as cursor:
        cursor.execute(statement.format(table=table, picked=picked), values)
        return bool(cursor.rowcount)


_PICKED: Final = """
    SELECT ended.id FROM {table} ended WHERE ended.id = %(key)s AND {is_own}
    UNION ALL
    SELECT id FROM (
        SELECT following.id FROM {table} ended JOIN {table} following
        ON following.line = ended.line AND following.receiver = ended.receiver AND following.state = 'waiting'
        WHERE ended.id = %(key)s AND ended.state IN ('due', 'running') AND {is_own}
        ORDER BY following.message_id LIMIT 1
    ) next_run
"""
_SET: Final = """
    state = CASE WHEN run.id = %(key)s THEN %(state)s ELSE 'due' END,
    due_at = CASE WHEN run.id = %(key)s THEN run.due_at ELSE %(now)s END,
    finished_at = CASE WHEN run.id = %(key)s THEN %(now)s ELSE run.finished_at END,
    error = CASE WHEN run.id = %(key)s THEN %(error)s ELSE run.error END,
    exclusive = NULL
"""
_FINISH: Final = "UPDATE {table} AS run SET " + _SET + " WHERE run.id IN ({picked})"  # noqa: S608  # no value stands in it
_FINISH_BY_JOIN: Final = "UPDATE {table} run JOIN ({picked}) picked ON picked.id = run.id SET " + "".join(  # noqa: S608
    f"run.{line.strip()}\n" for line in _SET.strip().splitlines()
)
"""MariaDB and MySQL update no table that a subquery of the same statement reads, unless it is joined."""
