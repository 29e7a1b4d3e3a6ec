"""A lane's watermark: how far the list has been read. Only a complete pass that still has the lane moves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.db import models, transaction
from django.db.models import F, Q

from checkout_integration import telemetry
from checkout_integration.conf import Project
from checkout_integration.flows.database import locked, state_database, write_transaction
from checkout_integration.flows.outbox import life_cycle_message, write_messages
from checkout_integration.models import SyncCursor, SyncRun, SyncWindow
from checkout_integration.signals import sync_failed

OVERLAP = timedelta(hours=48, minutes=30)
"""How far before the watermark a recent pass begins: retries take 48 h, and the specification shows no zone (EP3-07)."""
LEASE = timedelta(minutes=5)
"""How long a pass has its lane after each page, in addition to the time that the next page may take."""


class LaneTaken(RuntimeError):
    """Another pass has the lane: this one must not begin, or must not write any more."""


def window_start(cursor: SyncCursor) -> datetime | None:
    """Return the time from which a pass reads; None before the first complete pass."""
    return cursor.watermark - OVERLAP if cursor.watermark else None


@dataclass(frozen=True)
class Lease:
    """A lane, taken by one pass; with a ``window``, one window of this pass, taken by one worker.

    No other pass begins until this one releases the lane, or has not renewed it in time. All workers that read windows of the
    pass share its lane: each page of any of them renews it.

    A ``fence`` is the number of the taking. RACE: a worker that stands still for longer than its lease (a suspended machine,
    a lost connection) does not know that another one has taken over. It finds out where it writes: every statement here names
    the fence, and a page is committed only after `renew` has changed a row of that number.
    """

    project: Project
    lane: str
    fence: int
    window: SyncWindow | None = None

    @classmethod
    def take(cls, project: Project, lane: str) -> Lease:
        """Take the lane; mark passes as abandoned whose process ended without releasing it.

        Raises:
            LaneTaken: another pass has it.

        """
        cursor, _ = SyncCursor.primary.get_or_create(project=project.alias, lane=lane)
        # RACE: two processes find the lane free. The UPDATE of the second waits for the first one's commit, then looks again
        # at the row, which is busy now, and changes nothing. So nobody else reads the number that we read here.
        with write_transaction():
            if not _take(SyncCursor.primary.filter(pk=cursor.pk), project):
                raise LaneTaken(f"Another pass reads {lane} of {project.alias} at the moment.")
            cursor.refresh_from_db(using=state_database())
            end_runs(project.alias, lane, SyncRun.State.ABANDONED)
        return cls(project, lane, cursor.fence)

    @classmethod
    def of(cls, project: Project, run: SyncRun) -> Lease:
        """Return the lease that a pass took when it began."""
        return cls(project, run.lane, run.fence)

    def take_window(self, window_pk: int) -> Lease | None:
        """Take a window of the pass; None if it has been read, or another worker reads it."""
        windows = SyncWindow.primary.filter(pk=window_pk)
        with write_transaction():  # RACE: as in `take`
            if not _take(windows.exclude(state=SyncWindow.State.COMPLETE), self.project):
                return None
            return replace(self, window=windows.get())

    @property
    def cursor(self) -> SyncCursor:
        """The lane's cursor, read from the database."""
        return SyncCursor.primary.get(project=self.project.alias, lane=self.lane)

    def renew(self) -> None:
        """Extend the lease. Called at the end of a page's transaction, which must not be committed without the lane.

        At its end, since other workers of the pass wait from here to the commit.

        Raises:
            LaneTaken: this pass or worker did not renew in time, and another one has begun.

        """
        # A lane that was released is not renewed: a late worker must not take it again for a pass that has ended.
        end = _end(self.project)
        taken = self._lane().filter(busy_until__isnull=False)
        if not taken.update(busy_until=end):
            raise LaneTaken("The pass has ended, or another one took over while this one stood still.")
        if self.window and not self._own_window().update(busy_until=end):
            raise LaneTaken("Another worker took over the window while this one stood still.")

    def release(self) -> None:
        """Release the lane, so that another pass can begin."""
        self._lane().update(busy_until=None)

    def advance(self, pass_started_at: datetime) -> None:
        """Move the watermark to the start of the complete pass: by compare-and-set, and never backwards."""
        self._lane().exclude(watermark__gt=pass_started_at).update(watermark=pass_started_at)

    def end_window(
        self, state: SyncWindow.State, failure: str = "", *, totals: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        """Release the window with its state and totals, unless another worker has it by now."""
        self._own_window().update(state=state, failure=failure[:255], totals=list(totals), busy_until=None)

    def _own_window(self) -> models.QuerySet[SyncWindow]:
        assert self.window is not None
        return SyncWindow.primary.filter(pk=self.window.pk, fence=self.window.fence)

    def _lane(self) -> models.QuerySet[SyncCursor]:
        return SyncCursor.primary.filter(project=self.project.alias, lane=self.lane, fence=self.fence)


def _take(rows: models.QuerySet[Any], project: Project) -> bool:
    """Take a row that is free, under the next number; return whether it was."""
    free = Q(busy_until=None) | Q(busy_until__lt=datetime.now(UTC))
    return bool(rows.filter(free).update(fence=F("fence") + 1, busy_until=_end(project)))


def end_runs(
    project: str, lane: str, state: SyncRun.State, failure: str = "", *, run: int | None = None
) -> None:
    """End the running passes of a lane, or one of them; send ``sync_failed`` for each that is not complete.

    In the caller's transaction. RACE: the worker that has read the last window ends the run while another pass takes its lane
    and marks it as abandoned. The row is locked, and looked at again after the wait: who comes second finds no running one.
    """
    runs = SyncRun.primary.filter(project=project, lane=lane)
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
        words = {"lane": lane, "state": str(state), "failure": failure}
        messages = [
            life_cycle_message(
                sync_failed,
                project,
                each.pk,
                source="sync",
                sync_run=each.pk,
                first=first and each is ended[0],
                **words,
            )
            for each in ended
        ]
        write_messages(messages)


def _end(project: Project) -> datetime:
    return datetime.now(UTC) + LEASE + timedelta(seconds=project.page_timeout)
