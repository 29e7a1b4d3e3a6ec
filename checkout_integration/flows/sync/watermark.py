"""A lane's watermark: how far the list has been read. Only a complete pass that still has the lane moves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from django.db import models, transaction
from django.db.models import F, Q

from checkout_integration import telemetry
from checkout_integration.conf import Project
from checkout_integration.flows.database import Command, locked, state_database, write_transaction
from checkout_integration.flows.outbox import life_cycle_message, write_messages
from checkout_integration.models import OutboxMessage, SyncCursor, SyncRun, SyncWindow
from checkout_integration.signals import sync_failed

OVERLAP = timedelta(hours=48, minutes=30)
"""How far before the watermark a recent pass begins: retries go on for 48 h, and the filter's time zone is not shown."""
LEASE = timedelta(minutes=5)
"""How long a pass has its lane after each page, in addition to the time that the next page may take."""


# A lane that was released is not renewed: a late worker must not take it again for a pass that has ended.
RENEW_LANE: Final = Command(
    """UPDATE {cursors} SET busy_until = {end}
    WHERE project = {project} AND [lane] = {lane} AND fence = {fence} AND busy_until IS NOT NULL
    """,
    cursors=SyncCursor,
)
RENEW_WINDOW: Final = Command(
    "UPDATE {windows} SET busy_until = {end} WHERE id = {window} AND fence = {fence}", windows=SyncWindow
)


class LaneTaken(RuntimeError):
    """Another pass has the lane: this one must not begin, or must not write any more."""


def window_start(cursor: SyncCursor) -> datetime | None:
    """Return the time from which a pass reads; None before the first complete pass."""
    return cursor.watermark - OVERLAP if cursor.watermark else None


@dataclass(frozen=True)
class LaneLease:
    """A lane, taken by one pass: no other pass begins until this one releases it, or has not renewed it in time.

    All workers that read windows of the pass share it: each page of any of them renews it.
    """

    project: Project
    lane: str
    fence: int

    @classmethod
    def take(cls, project: Project, lane: str) -> LaneLease:
        """Take the lane; mark passes as abandoned whose process ended without releasing it.

        Raises:
            LaneTaken: another pass has it.

        """
        cursors, now = SyncCursor.objects.using(state_database()), datetime.now(UTC)
        cursor, _ = cursors.get_or_create(project=project.alias, lane=lane)
        free = Q(busy_until=None) | Q(busy_until__lt=now)
        # RACE: the row is locked from the first statement on, so no other pass reads this fence.
        with write_transaction():
            if not cursors.filter(free, pk=cursor.pk).update(fence=F("fence") + 1, busy_until=_end(project)):
                raise LaneTaken(f"Another pass reads {lane} of {project.alias} at the moment.")
            cursor.refresh_from_db(using=state_database())
            end_runs(project.alias, lane, SyncRun.State.ABANDONED)
        return cls(project, lane, cursor.fence)

    @classmethod
    def of(cls, project: Project, run: SyncRun) -> LaneLease:
        """Return the lease that a pass took when it began."""
        return cls(project, run.lane, run.fence)

    @property
    def cursor(self) -> SyncCursor:
        """The lane's cursor, read from the database."""
        return SyncCursor.objects.using(state_database()).get(project=self.project.alias, lane=self.lane)

    def renew(self) -> None:
        """Extend the lease. Called at the end of a page's transaction, which must not be committed without the lane.

        At its end, since other workers of the pass wait from here to the commit.

        Raises:
            LaneTaken: this pass did not renew in time, and another one has begun.

        """
        alias, end = self.project.alias, _end(self.project)
        if not RENEW_LANE.execute(end=end, project=alias, lane=self.lane, fence=self.fence):
            raise LaneTaken("The pass has ended, or another one took over while this one stood still.")

    def release(self) -> None:
        """Release the lane, so that another pass can begin."""
        self._mine().update(busy_until=None)

    def advance(self, pass_started_at: datetime) -> None:
        """Move the watermark to the start of the complete pass: by compare-and-set, and never backwards."""
        self._mine().exclude(watermark__gt=pass_started_at).update(watermark=pass_started_at)

    def _mine(self) -> models.QuerySet[SyncCursor]:
        cursors = SyncCursor.objects.using(state_database())
        return cursors.filter(project=self.project.alias, lane=self.lane, fence=self.fence)


def end_runs(
    project: str, lane: str, state: SyncRun.State, failure: str = "", *, run: int | None = None
) -> None:
    """End the running passes of a lane, or one of them; send ``sync_failed`` for each that is not complete.

    In the caller's transaction. RACE: a run that another process has ended meanwhile is not running, and stays as it is.
    """
    runs = SyncRun.objects.using(state_database()).filter(project=project, lane=lane)
    running = runs.filter(state=SyncRun.State.RUNNING, **({} if run is None else {"pk": run}))
    ended = list(locked(running).order_by("pk"))
    runs.filter(pk__in=[each.pk for each in ended]).update(
        state=state, failure=failure, finished_at=datetime.now(UTC)
    )
    counted = partial(
        telemetry.count, telemetry.PASSES, len(ended), project=project, lane=lane, outcome=str(state)
    )
    transaction.on_commit(counted, using=state_database(), robust=True)
    if state != SyncRun.State.COMPLETE and ended:
        newest = runs.filter(pk__lt=ended[0].pk).order_by("-pk").values_list("state", flat=True).first()
        first = newest in (None, SyncRun.State.COMPLETE)
        write_messages(
            [_failed_message(each, state, failure, first=first and each is ended[0]) for each in ended]
        )


def _failed_message(run: SyncRun, state: str, failure: str, *, first: bool) -> OutboxMessage:
    return life_cycle_message(
        sync_failed,
        run.project,
        run.pk,
        source="sync",
        sync_run=run.pk,
        lane=run.lane,
        state=str(state),
        first=first,
        failure=failure,
    )


@dataclass(frozen=True)
class WindowLease:
    """A window of a pass, taken by one worker in addition to the pass's lane."""

    lane: LaneLease
    window: SyncWindow

    @classmethod
    def take(cls, lane: LaneLease, window_pk: int) -> WindowLease | None:
        """Take a window; None if it has been read, or another worker reads it."""
        windows, now = SyncWindow.objects.using(state_database()), datetime.now(UTC)
        free = Q(busy_until=None) | Q(busy_until__lt=now)
        # RACE: the row is locked from the first statement on, so no other worker reads this fence.
        with write_transaction():
            mine = windows.filter(free, pk=window_pk).exclude(state=SyncWindow.State.COMPLETE)
            if not mine.update(fence=F("fence") + 1, busy_until=_end(lane.project)):
                return None
            return cls(lane, windows.get(pk=window_pk))

    def renew(self) -> None:
        """Extend the leases of the window and of its lane. Called at the end of a page's transaction.

        Raises:
            LaneTaken: this worker did not renew in time, and another one reads the window or the lane.

        """
        end, window = _end(self.lane.project), self.window
        self.lane.renew()
        if not RENEW_WINDOW.execute(end=end, window=window.pk, fence=window.fence):
            raise LaneTaken("Another worker took over the window while this one stood still.")

    def end(
        self, state: SyncWindow.State, failure: str = "", *, totals: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        """Release the window with its state and totals, unless another worker has it by now."""
        self._mine().update(state=state, failure=failure[:255], totals=list(totals), busy_until=None)

    def _mine(self) -> models.QuerySet[SyncWindow]:
        windows = SyncWindow.objects.using(state_database())
        return windows.filter(pk=self.window.pk, fence=self.window.fence)


def _end(project: Project) -> datetime:
    return datetime.now(UTC) + LEASE + timedelta(seconds=project.timeout)
