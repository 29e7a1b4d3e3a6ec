"""The order of runs in a line: the oldest unfinished run of each line and receiver is the head, and later runs wait for it.

No process ever waits for the lock of a run that is being attempted. So three rules keep a run from waiting for no head:

1. A run is made ``waiting`` only by a transaction that has locked a head in front of it. A head that another
   transaction has locked may be about to end: a run that would have to wait for it is left ``due``.
2. A run ends only in a transaction that has locked it *before* the statement that ends it, and that statement also makes the
   first waiting run due (`finish`). So a transaction that locked the head earlier has committed, and its waiting run is seen;
   a later transaction cannot lock the head.
3. Rules 1 and 2 allow for a moment that a run is due and not the head. It is not claimed, but made to wait by rule 1.

A run that no process knows (``unknown``), or whose receiver is ``paused``, is no head: a receiver of another signal may have
the same name. When it becomes due again, the later runs that are due by then are behind it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from django.db import connections

from checkout_integration.flows.database import Command, Query, database_now, locked, state_database
from checkout_integration.models import Order, ReceiverRun

Place = tuple[str | None, str]
"""A line, and a receiver with runs in it."""
State = ReceiverRun.State
HEADS = (State.DUE, State.RUNNING)
"""States of a run that others may wait for."""
HEADS_OF: Final = Query(
    ReceiverRun,
    "own.line IN {lines} AND own.state IN ('due', 'running')",
    only=["line", "receiver", "message", "state", "due_at"],
    lock=["own"],
    waits=False,
)
UNFINISHED = (State.DUE, State.UNKNOWN, State.PAUSED, State.WAITING, State.RUNNING)


def lines_of(order: Order) -> frozenset[str]:
    """Return the lines that messages about an order may be in: its checkout's, and its own from before it had a checkout."""
    names = {f"order {order.pk}", order.checkout_id and f"checkout {order.checkout_id}"}
    return frozenset(name for name in names if name)


def lock_heads(lines: Collection[str]) -> list[ReceiverRun]:
    """Lock the heads in these lines, without waiting for a lock, and return the locked ones."""
    return HEADS_OF.rows(lines=lines) if lines else []


def hold_back(keys: Collection[int]) -> None:
    """Make due runs wait that are behind a head, if both can be locked."""
    runs = ReceiverRun.primary.all()
    overtaking = list(locked(runs.filter(pk__in=keys, state=State.DUE), wait=False))
    heads = runs.filter(line__in={run.line for run in overtaking}, state__in=HEADS)
    first: dict[Place, int] = {}
    for head in locked(heads.only("line", "receiver", "message"), wait=False):
        place = (head.line, head.receiver)
        first[place] = min(head.message_id, first.get(place, head.message_id))
    behind = [
        run.pk for run in overtaking if run.message_id > first.get((run.line, run.receiver), run.message_id)
    ]
    runs.filter(pk__in=behind).update(state=State.WAITING)


def finish(
    run: ReceiverRun,
    state: ReceiverRun.State,
    *,
    before: Sequence[ReceiverRun.State] = (State.RUNNING,),
    error: str = "",
) -> bool:
    """End a run that is in one of the states ``before``, and make the first run that waits for it due.

    The caller's transaction has locked the run. Return False if another process has taken it over, or it has ended.
    """
    values = {"key": run.pk, "fence": run.fence, "line": run.line, "receiver": run.receiver}
    values |= {"before": [each.value for each in before]}
    values |= {"state": state.value, "error": error, "now": database_now()}
    if connections[state_database()].vendor != "mysql":
        return bool(_FINISH.execute(**values))
    # By single rows: MariaDB's update of a join may wait for rows of other lines, whose runs are being attempted.
    if not _END.execute(**values):
        return False
    for (following,) in _FOLLOWING.fetch(line=run.line, receiver=run.receiver):
        _NEXT.execute(key=following, now=values["now"])
    return True


_NEXT_IN_LINE: Final = """SELECT following.id FROM {runs} following
    WHERE following.line = {line} AND following.receiver = {receiver} AND following.state = 'waiting'"""
# One statement, so that it takes no longer than setting the state alone.
_FINISH: Final = Command(
    """UPDATE {runs} AS run SET
        state = CASE WHEN run.id = {key} THEN {state} ELSE 'due' END,
        due_at = CASE WHEN run.id = {key} THEN run.due_at ELSE {now} END,
        finished_at = CASE WHEN run.id = {key} THEN {now} ELSE run.finished_at END,
        error = CASE WHEN run.id = {key} THEN {error} ELSE run.error END,
        exclusive = NULL
    WHERE (run.id = {key} AND run.fence = {fence} AND run.state IN {before}) OR run.id = (
        [following] AND EXISTS (
            SELECT 1 FROM {runs} ended WHERE ended.id = {key} AND ended.fence = {fence} AND ended.state IN {before}
        ) ORDER BY following.message_id LIMIT 1
    )""".replace("[following]", _NEXT_IN_LINE),
    runs=ReceiverRun,
)
_END: Final = Command(
    """UPDATE {runs} SET state = {state}, finished_at = {now}, error = {error}, exclusive = NULL
    WHERE id = {key} AND fence = {fence} AND state IN {before}""",
    runs=ReceiverRun,
)
_FOLLOWING: Final = Command(f"{_NEXT_IN_LINE} ORDER BY following.message_id LIMIT 1", runs=ReceiverRun)
_NEXT: Final = Command(
    "UPDATE {runs} SET state = 'due', due_at = {now} WHERE id = {key} AND state = 'waiting'",
    runs=ReceiverRun,
)
