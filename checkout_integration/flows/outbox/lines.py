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
    run: ReceiverRun,
    state: ReceiverRun.State,
    *,
    before: Sequence[ReceiverRun.State] = (State.RUNNING,),
    fence: str = "",
    error: str = "",
) -> bool:
    """End a run that is in one of the states ``before``, and make the first run that waits for it due.

    The caller's transaction has locked the run. With a ``fence`` only a run that another process has not taken over is ended.
    False when nothing was ended.
    """
    connection, now = connections[state_database()], datetime.now(UTC)
    if connection.vendor == "mysql":
        return _finish_in_steps(run, state, before=before, fence=fence, error=error)
    states = ", ".join(f"'{each.value}'" for each in before)
    table = connection.ops.quote_name(ReceiverRun._meta.db_table)
    own = f"ended.state IN ({states})" + (" AND ended.fence = %(fence)s" if fence else "")
    moment = ReceiverRun._meta.get_field("due_at").get_db_prep_value(now, connection)
    values = {"key": run.pk, "fence": fence, "state": state.value, "error": error, "now": moment}
    with connection.cursor() as cursor:
        cursor.execute(_FINISH.format(table=table, own=own), values)
        return bool(cursor.rowcount)


_FINISH: Final = """UPDATE {table} AS run SET
    state = CASE WHEN run.id = %(key)s THEN %(state)s ELSE 'due' END,
    due_at = CASE WHEN run.id = %(key)s THEN run.due_at ELSE %(now)s END,
    finished_at = CASE WHEN run.id = %(key)s THEN %(now)s ELSE run.finished_at END,
    error = CASE WHEN run.id = %(key)s THEN %(error)s ELSE run.error END,
    exclusive = NULL
    WHERE run.id IN (
        SELECT ended.id FROM {table} ended WHERE ended.id = %(key)s AND {own}
        UNION ALL
        SELECT id FROM (
            SELECT following.id FROM {table} ended JOIN {table} following
            ON following.line = ended.line AND following.receiver = ended.receiver AND following.state = 'waiting'
            WHERE ended.id = %(key)s AND {own}
            ORDER BY following.message_id LIMIT 1
        ) next_run
    )
"""
"""One statement, so that it costs a receiver no more than the mark alone would."""


def _finish_in_steps(
    run: ReceiverRun,
    state: ReceiverRun.State,
    *,
    before: Sequence[ReceiverRun.State],
    fence: str,
    error: str,
) -> bool:
    """Do the same by single rows: MariaDB's update of a join may wait for rows of other lines, which are being attempted."""
    runs, now = ReceiverRun.objects.using(state_database()), datetime.now(UTC)
    own = runs.filter(pk=run.pk, state__in=before)
    if fence:
        own = own.filter(fence=fence)
    if not own.update(state=state, finished_at=now, error=error, exclusive=None):
        return False
    if run.line is not None:
        waiting = runs.filter(line=run.line, receiver=run.receiver, state=State.WAITING)
        first = waiting.order_by("message").values_list("pk", flat=True).first()
        if first is not None:
            runs.filter(pk=first, state=State.WAITING).update(state=State.DUE, due_at=now)
    return True
