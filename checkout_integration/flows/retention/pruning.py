"""Remove what is older than RETENTION says, and needed for nothing any more. See docs/retention.md.

Old rows go kind by kind and in batches, each in a transaction of its own. Whatever is delivered again later changes nothing:
what recognises it is in the rows that stay: the facts of orders and their grants, a notification's key and the hash of its
body, a decision's hash and outcome, and the hash of each row of the list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from checkout_integration.conf import app_settings
from checkout_integration.flows.database import in_transaction, locked, record_staff_act, with_retries
from checkout_integration.flows.outbox import remember
from checkout_integration.models import (
    FailedAttempt,
    Notification,
    OutboxMessage,
    ReceiverRun,
    StaffAct,
    SyncDifference,
    SyncRun,
    SyncWindow,
    Transition,
    ValidationDecision,
)
from checkout_integration.models.actor import Actor
from checkout_integration.protocol.vocabulary import Event

BATCH: Final = 500


def prune_all() -> dict[str, int]:
    """Prune every kind of RETENTION; return how many rows of each. Nothing where RETENTION is empty."""
    return {name: prune(name) for name in app_settings().retention}


def prune(kind: str, *, staff: Actor | None = None) -> int:
    """Prune the rows of one kind that are older than its days in RETENTION; return how many.

    Each batch is committed by itself: if this is interrupted, the next call continues. Any number of processes may prune at
    once. It is an act of staff where somebody prunes, and not where the settings do (`prune_all`). Raises ``KeyError`` for a
    kind without days.
    """
    (due, remove), until = KINDS[kind], _oldest(kind)

    count = last = 0
    while keys := _next(due(until), last):
        count += in_transaction(remove)(keys, until)
        last = keys[-1]
    if staff and count:
        record_staff_act(StaffAct.Act.PRUNE, staff, project=None, counts={kind: count})
    return count


def count_prunable(kind: str) -> int:
    """Return how many rows `prune` would remove or empty now. Raises ``KeyError`` for a kind without days."""
    due, _remove = KINDS[kind]
    return due(_oldest(kind)).count()


def _oldest(kind: str) -> datetime:
    return datetime.now(UTC) - timedelta(days=app_settings().retention[kind])


def _next(due: QuerySet[Any], last: int) -> list[int]:
    rows = due.filter(pk__gt=last).order_by("pk")
    return with_retries(lambda: list(rows.values_list("pk", flat=True)[:BATCH]))


def _delete(rows: QuerySet[Any]) -> None:
    """Delete rows by one statement, which reads none; nothing refers to them any more."""
    rows._raw_delete(rows.db)  # noqa: SLF001


# Bodies of notifications. The row stays: by its key and hash a body that comes again is counted, and not applied again.

SETTLED: Final = (Notification.State.APPLIED, Notification.State.TEST)


def _bodies(until: datetime) -> QuerySet[Notification]:
    rows = Notification.primary.all()
    return rows.filter(body__isnull=False, state__in=SETTLED, received_at__lt=until)


def _empty_bodies(keys: Sequence[int], until: datetime) -> int:
    # The condition again: a row that staff apply again meanwhile may not be settled any more.
    return _bodies(until).filter(pk__in=keys).update(body=None)


# Decisions. Hash and outcome stay: a request that comes again gets the same response, and its signal is not sent again.


def _decisions(until: datetime) -> QuerySet[ValidationDecision]:
    rows = ValidationDecision.primary.filter(decided_at__lt=until)
    return rows.exclude(external_id="", reason="", failure="", user=None)


def _empty_decisions(keys: Sequence[int], until: datetime) -> int:
    decisions = ValidationDecision.primary.filter(pk__in=keys)
    requests = list(decisions.values_list("notification_id", flat=True))
    count = decisions.update(external_id="", reason="", failure="", user=None)
    # The id of the object of user.validate is the customer's. Without it no erasure would find the body, so that goes too.
    notifications = Notification.primary.filter(event=Event.USER_VALIDATE)
    notifications.filter(pk__in=requests).update(object_id="", body=None)
    return count


# Signals and the runs of their receivers: messages with all their runs, since a message without runs would be replayed. What
# was granted is written on the grant. ``payment_review`` stays: its key lets it be sent once for each order and reason, while
# the keys of all others follow from rows that stay.

ENDED: Final = (ReceiverRun.State.DONE, ReceiverRun.State.SUPERSEDED)
REVIEW: Final = "payment_review"


def _messages(until: datetime) -> QuerySet[OutboxMessage]:
    left = ReceiverRun.primary.filter(_is_needed(until), message=OuterRef("pk"))
    messages = OutboxMessage.primary.filter(recorded_at__lt=until)
    return messages.exclude(signal=REVIEW).exclude(Exists(left))


def _is_needed(until: datetime) -> Q:
    """Return the condition of runs that are not finished, have failed, or ended only lately."""
    return ~Q(state__in=ENDED) | Q(finished_at__gte=until)


def _delete_messages(keys: Sequence[int], until: datetime) -> int:
    """Delete messages and their runs.

    RACE: staff may be making a run due again, or a replay may be making one. The runs are locked and judged anew; a run that
    is inserted meanwhile refers to its message, so the database refuses one of the two, which is then retried.
    """
    runs = list(locked(ReceiverRun.primary.filter(message__in=keys)).order_by("pk"))
    due = set(_messages(until).filter(pk__in=keys).values_list("pk", flat=True))
    ended = [run for run in runs if run.message_id in due]
    remember(ended)
    _delete(FailedAttempt.primary.filter(run__in=[run.pk for run in ended]))
    _delete(ReceiverRun.primary.filter(pk__in=[run.pk for run in ended]))
    _delete(OutboxMessage.primary.filter(pk__in=due))
    return len(due)


# Passes of the sync, with their windows and healed differences. Those stay that a transition names as its cause, that found
# what still waits, and by which the lanes know when they were last read; of the first two, what is healed goes.

HEALED, WAITING = SyncDifference.State.HEALED, SyncDifference.State.WAITING


def _passes(until: datetime) -> QuerySet[SyncRun]:
    runs = SyncRun.primary.filter(finished_at__lt=until)
    return runs.exclude(pk__in=_last_passes()).filter(_is_removable() | Exists(_differences(HEALED)))


def _is_removable() -> Q:
    caused = Transition.primary.filter(sync_run=OuterRef("pk"))
    return ~Exists(caused) & ~Exists(_differences(WAITING))


def _differences(state: str) -> QuerySet[SyncDifference]:
    """Return the differences of a pass, as a subquery."""
    return SyncDifference.primary.filter(run=OuterRef("pk"), state=state)


def _last_passes() -> set[int]:
    """Return the last complete passes of each lane, of the whole lane and without its beginning."""
    complete = SyncRun.primary.filter(state=SyncRun.State.COMPLETE, window_to=None)
    lanes = complete.order_by().values("project", "lane").annotate(last=Max("pk"))
    return {row["last"] for rows in (lanes, lanes.filter(window_from=None)) for row in rows}


def _delete_passes(keys: Sequence[int], until: datetime) -> int:
    """Delete passes. A window that a later pass has taken over is that pass's own."""
    due = list(_passes(until).filter(pk__in=keys).values_list("pk", flat=True))
    _delete(SyncDifference.primary.filter(run__in=due, state=HEALED))
    removable = SyncRun.primary.filter(_is_removable(), pk__in=due)
    gone = list(removable.values_list("pk", flat=True))
    _delete(SyncWindow.primary.filter(run__in=gone))
    _delete(SyncRun.primary.filter(pk__in=gone))
    return len(due)


Due: TypeAlias = Callable[[datetime], QuerySet[Any]]
Remove: TypeAlias = Callable[[Sequence[int], datetime], int]
KINDS: Final[Mapping[str, tuple[Due, Remove]]] = {
    "notification_bodies": (_bodies, _empty_bodies),
    "validation_decisions": (_decisions, _empty_decisions),
    "outbox_messages": (_messages, _delete_messages),
    "sync_runs": (_passes, _delete_passes),
}
"""The rows of each kind that are due, and their removal, which returns how many there were."""
