"""``manage.py checkout_replay``: give past events to a receiver that was connected later, or retry its failed runs."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from checkout_integration import dispatch, flows
from checkout_integration.flows.outbox import (
    ABSENT_AFTER,
    ReplaySelection,
    UnknownReceiver,
    count_undelivered,
    failed_runs,
    rows_named,
)
from checkout_integration.management.database_command import StaffCommand, require_project, step_of
from checkout_integration.signals import SIGNALS


class Command(StaffCommand):
    """Exit codes: 0 done, 2 usage, such as a receiver that is not connected."""

    help = (
        "Replays past events to a receiver that was connected later. Events that it has already received are never repeated, "
        "and a payment that has been reversed since is not replayed. With --failed: retries "
        "the runs that were given up, and at once those that wait for their next attempt. "
        "With --retire: says that a receiver was removed, and ends its runs. With --pause: lets its runs wait."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: which receiver, which events."""
        parser.add_argument(
            "--receiver", required=True, help="its dispatch_uid, or module.qualname of the function"
        )
        parser.add_argument(
            "--signal", choices=sorted(SIGNALS), help="one of its signals; all when not given"
        )
        parser.add_argument("--since", help="events recorded since this date or moment (ISO 8601)")
        parser.add_argument("--project", help="alias of a project; all projects when not given")
        parser.add_argument(
            "--failed",
            action="store_true",
            help="retry its runs that were given up or wait for their next attempt, instead of replaying",
        )
        parser.add_argument(
            "--retire",
            action="store_true",
            help="the receiver was removed for good: it gets no new runs, and its unfinished runs end",
        )
        parser.add_argument(
            "--pause", metavar="REASON", help="let its runs wait until --resume, and say why; nothing is lost"
        )
        parser.add_argument("--resume", action="store_true", help="run a paused receiver again")
        parser.add_argument(
            "--dry-run", action="store_true", help="print how many there are, and change nothing"
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make runs due, hand over to whatever runs receivers, and print how many they are."""
        started = time.monotonic()
        acts = {"retire": self._retire, "pause": self._pause, "resume": self._resume}
        if options["pause"] is not None and not options["pause"].strip():
            raise CommandError("--pause needs a reason: staff read it beside what waits.", returncode=2)
        act = next((name for name in acts if options[name]), "replay")
        count, detail = acts.get(act, self._replay)(options)
        self.print_step(step_of(act, started, detail, count=count), as_json=options["json"])

    def _replay(self, options: dict[str, Any]) -> tuple[int, str]:
        chosen, failed = _chosen(options), options["failed"]
        try:
            if options["dry_run"]:
                count = failed_runs(chosen).count() if failed else count_undelivered(chosen)
            else:
                give = flows.outbox.retry_failed_runs if failed else flows.outbox.replay_events
                count = give(chosen, staff=self.acting(options))
                dispatch.dispatch_due()
        except UnknownReceiver as error:
            raise CommandError(str(error), returncode=2) from error
        would = "would be " if options["dry_run"] else ""
        kind = "failed or waiting runs" if failed else "past events"
        return count, f"{count} {kind} {would}given to {chosen.receiver}"

    def _retire(self, options: dict[str, Any]) -> tuple[int, str]:
        name = _alone("retire", options)
        ended = flows.operations.retire_receiver(name, staff=self.acting(options))
        if ended is None:
            raise CommandError(_why_not_retired(name), returncode=2)
        return ended, f"{name} is retired; {ended} runs ended"

    def _pause(self, options: dict[str, Any]) -> tuple[int, str]:
        name = _alone("pause", options)
        staff = self.acting(options)
        waiting = flows.operations.pause_receiver(name, staff=staff, reason=options["pause"])
        if waiting is None:
            raise CommandError(f"{name!r} cannot be paused: no process has had it.", returncode=2)
        return waiting, f"{name} is paused; {waiting} runs wait"

    def _resume(self, options: dict[str, Any]) -> tuple[int, str]:
        name = _alone("resume", options)
        due = flows.operations.resume_receiver(name, staff=self.acting(options))
        if due is None:
            raise CommandError(f"{name!r} is not paused.", returncode=2)
        dispatch.dispatch_due()
        known = "Every process knows it within a minute, and runs them then"
        return due, f"{name} is resumed; {due} runs are due. {known}"


def _why_not_retired(name: str) -> str:
    rows = rows_named(name)
    if not rows:
        return f"No receiver is named {name!r}, now or earlier."
    seen = max(row.last_seen for row in rows)
    absent = seen + ABSENT_AFTER
    if absent <= datetime.now(UTC):
        return f"{name!r} cannot be retired: it is in the code of this process. Remove it first."
    return (
        f"{name!r} cannot be retired yet: a process that has it was at work at {seen:%H:%M:%S} UTC. Remove it from the code, "
        f"restart the processes, and try again after {absent:%H:%M:%S} UTC."
    )


def _alone(option: str, options: dict[str, Any]) -> str:
    """Return the receiver that the option is about. Raises CommandError if another one is given."""
    others = {"signal", "since", "project", "failed", "dry_run", "retire", "pause", "resume"} - {option}
    if any(options[name] for name in others):
        raise CommandError(f"--{option} goes with --receiver, --as and --json only.", returncode=2)
    name: str = options["receiver"]
    return name


def _chosen(options: dict[str, Any]) -> ReplaySelection:
    project = options["project"]
    require_project(project)
    since = _moment(options["since"]) if options["since"] is not None else None
    return ReplaySelection(
        receiver=options["receiver"], signal=options["signal"], since=since, project=project
    )


def _moment(text: str) -> datetime:
    """Return the moment; without a zone of its own, in that of the settings."""
    try:
        moment = parse_datetime(text)
        if moment is None and (day := parse_date(text)) is not None:
            moment = datetime(day.year, day.month, day.day)  # noqa: DTZ001  # made aware below
    except ValueError:
        moment = None
    if moment is None:
        raise CommandError(
            f"--since is not a date: {text!r}. Write 2026-01-31 or 2026-01-31T12:00.", returncode=2
        )
    return timezone.make_aware(moment) if timezone.is_naive(moment) else moment
