"""Work that is due: the backlog of notifications and receiver runs, and the findings about it and about hosts' clocks.

A worker can be connected and do nothing, so the queue itself is read: from indexes only, whatever its length. The oldest is
the first of an index, and counts stop at `MOST_COUNTED`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import connections, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.conf import app_settings
from checkout_integration.flows.database import (
    Command,
    database_now,
    instant_of,
    keys_by_index,
    locked,
    state_database,
)
from checkout_integration.flows.monitoring.finding import Finding, Kind, Rows, shown_number, span
from checkout_integration.flows.outbox import MOST_RUNNING, left_behind_before
from checkout_integration.models import HostClock, Notification, ReceiverRun
from checkout_integration.policy.severity import Severity

MOST_COUNTED = 1_000
"""The limit of a count: a count at the limit means that many or more."""
State = ReceiverRun.State


@dataclass(frozen=True, kw_only=True)
class QueueState:
    """Counts of work that waits to be applied or run, and the age of the oldest. Counts stop at 1,000."""

    stored: int
    """Notifications that could be applied now."""
    due: int
    """Receiver runs that could run now."""
    waiting: int
    """Receiver runs that failed and wait for their next attempt, or wait for a run before them."""
    failing: int
    """Of those that wait, the ones that failed and are retried later."""
    running: int
    """Receiver runs that run now."""
    overdue: int
    """Receiver runs that have run for longer than RECEIVER_DEADLINE."""
    failed: int
    """Receiver runs that were given up after their last attempt; staff can run them again."""
    oldest_seconds: float
    """For how long the oldest work that could be applied or run has been due, in seconds; 0 if there is none."""
    oldest_stored_seconds: float
    """The same for notifications only."""
    oldest_due_seconds: float
    """The same for receiver runs."""


def queue_state() -> QueueState:
    """Return the queue's state now. Waiting work is only counted and has no age: it is not overdue."""
    # One statement while no run was left behind: beside busy workers, each statement may wait for a processor.
    now, late = datetime.now(UTC), left_behind_before()
    deadline = now - timedelta(seconds=app_settings().receiver_deadline)
    values = {
        "now": now,
        "late": late,
        "deadline": deadline,
        "most": MOST_COUNTED,
        "most_running": MOST_RUNNING,
    }
    (found,) = _QUEUE.fetch(**values, dead=[0])
    dead = _left_behind(late) if found[_LATE] else []
    if dead:
        (found,) = _QUEUE.fetch(**values, dead=[run.pk for run in dead])
    running, overdue, _, stored, due, later, postponed, waiting, failed, *oldest = found
    ages = [(now - instant_of(moment)).total_seconds() if moment is not None else 0.0 for moment in oldest]
    ages[-1] = max([ages[-1], *((now - run.due_at).total_seconds() for run in dead)])
    oldest_stored, oldest_due = (round(max(0.0, age), 3) for age in ages)
    return QueueState(
        stored=stored,
        due=due + len(dead),
        waiting=waiting + later,
        failing=max(0, later - postponed),
        running=running,
        overdue=overdue,
        failed=failed,
        oldest_seconds=max(oldest_stored, oldest_due),
        oldest_stored_seconds=oldest_stored,
        oldest_due_seconds=oldest_due,
    )


def _left_behind(late: datetime) -> list[ReceiverRun]:
    """Return the running runs that no live process attempts or is about to attempt: those that can be locked.

    Not on SQLite: the one transaction that writes there may be a receiver's.
    """
    alias = state_database()
    if not connections[alias].features.has_select_for_update:
        return []
    # By their keys: locking what is found by an index would hold up new entries of it in MariaDB.
    left = ReceiverRun.primary.filter(state=State.RUNNING, due_at__lte=late)
    keys = keys_by_index(left, "due_at", "pk", most=MOST_COUNTED)
    with transaction.atomic(using=alias):
        return list(locked(left.filter(pk__in=keys).only("due_at"), wait=False))


def _counted(rows: str) -> str:
    return f"(SELECT COUNT(*) FROM (SELECT 1 AS one FROM {rows} LIMIT {{most}}) counted)"  # noqa: S608


def _oldest(rows: str) -> str:
    return f"(SELECT own.due_at FROM {rows} LIMIT 1)"  # noqa: S608


def _runs(condition: str) -> str:
    """Return runs in the order of their index. Without it PostgreSQL would read the whole table for a count."""
    return f"{{runs}} own WHERE own.state = {condition} ORDER BY own.due_at, own.id"


_STORED: Final = "{notifications} own WHERE own.due_at <= {now} ORDER BY own.due_at"
_DUE: Final = "'due' AND own.due_at <= {now}"
_LATER: Final = "'due' AND own.due_at > {now}"
_RUNNING: Final = """SELECT * FROM (
        SELECT own.id, own.line, own.due_at FROM {runs} own WHERE own.state = 'running'
        ORDER BY own.due_at, own.id LIMIT {most_running}
    ) listed WHERE listed.id NOT IN {dead}"""
_BUSY: Final = f"SELECT busy.line FROM ({_RUNNING}) busy WHERE busy.line IS NOT NULL"  # noqa: S608
_FREE: Final = f"{_DUE} AND (own.line IS NULL OR own.line NOT IN ({_BUSY}))"
_LATE: Final = 2
"""The place of the number of runs that may have been left behind."""
_ATTEMPTED: Final = f"""
    SELECT COUNT(*) AS running,
        COUNT(CASE WHEN attempt.due_at <= {{deadline}} THEN 1 END) AS overdue,
        COUNT(CASE WHEN attempt.due_at <= {{late}} THEN 1 END) AS late
    FROM ({_RUNNING}) attempt"""  # noqa: S608
_COLUMNS: Final = [
    _counted(_STORED),
    *(
        _counted(_runs(each))
        for each in (_DUE, _LATER, f"{_LATER} AND own.postponed_for <> ''", "'waiting'", "'failed'")
    ),
    _oldest(_STORED),
    _oldest(_runs(_FREE)),
]
_QUEUE: Final = Command(
    f"SELECT running, overdue, late, {', '.join(_COLUMNS)} FROM ({_ATTEMPTED}) attempted",  # noqa: S608
    in_order=True,
    notifications=Notification,
    runs=ReceiverRun,
)


LONGEST_LEFT: Final = 300
"""Seconds that work may be due before it is certain that no worker runs."""
LONG_LEFT: Final = 60
"""Seconds that work may be due before somebody should look: every runner comes sooner than that."""
WHO_WORKS: Final = {
    "request": gettext_lazy(
        "RUNNER is “request”: web processes do it with the next notification. Set RUNNER to “celery” or “worker”, or run "
        "manage.py checkout_work --once from cron."
    ),
    "celery": gettext_lazy(
        "RUNNER is “celery”: start a Celery worker, and beat with checkout_integration.schedule.beat_schedule(). If both "
        "run, the broker may not respond: “manage.py checkout_doctor” says so."
    ),
    "worker": gettext_lazy("RUNNER is “worker”: start manage.py checkout_work."),
}
STEPS: Final = {
    name: Kind(name=name, title=title, rows=Rows(model=model, filters={"state": state}))
    for name, title, model, state in (
        ("apply", gettext_lazy("Apply notifications"), "notification", "stored"),
        ("run", gettext_lazy("Run the shop's code"), "receiverrun", "due"),
    )
}
OVERLONG: Final = Kind(
    name="receivers_overlong",
    title=gettext_lazy("Code of the shop that runs long"),
    rows=Rows(model="receiverrun", filters={"state": "running"}),
)


def step_findings(projects: Sequence[str], now: datetime) -> Iterator[Finding]:
    """Yield what the queue's state means, for all projects together."""
    queue = queue_state()
    texts = (
        _("Notifications to apply: %(n)s."),
        _("Runs of the shop's code to do: %(n)s."),
    )
    yield _step("apply", texts[0], queue.stored, queue.oldest_stored_seconds, "stored")
    yield _step("run", texts[1], queue.due, queue.oldest_due_seconds, "due")
    yield _overlong(queue)


def _step(name: str, text: str, count: int, seconds: float, figure: str) -> Finding:
    text %= {"n": shown_count(count)}
    severity, action = Severity.OK, ""
    if seconds > LONG_LEFT:
        severity = Severity.FAILING if seconds > LONGEST_LEFT else Severity.WARNING
        left = _("The oldest has been due for %(span)s, and no process does it.") % {"span": span(seconds)}
        text, action = f"{text} {left}", str(WHO_WORKS[app_settings().runner])
        if name == "run":
            action += " " + _(
                "If one runs, it does not know this code: code that was removed is to be retired."
            )
    return STEPS[name].found(text, severity, action, figures={figure: count, "oldest_seconds": seconds})


def _overlong(queue: QueueState) -> Finding:
    figures = {"running": queue.running, "overdue": queue.overdue}
    if not queue.overdue:
        text = _("Runs of the shop's code now: %(n)s.") % {"n": shown_count(queue.running)}
        return OVERLONG.found(text, figures=figures)
    runs = ReceiverRun.primary.filter(state=ReceiverRun.State.RUNNING)
    names = set(runs.order_by("due_at", "id").values_list("receiver", flat=True)[: queue.overdue])
    text = _("Code that has run for longer than RECEIVER_DEADLINE (%(span)s): %(n)s (%(names)s).") % {
        "n": shown_count(queue.overdue),
        "span": span(app_settings().receiver_deadline),
        "names": ", ".join(sorted(names)),
    }
    action = _("They may hang; to stop them, end their process.")
    return OVERLONG.found(text, Severity.FAILING, action, figures=figures)


def shown_count(count: int, most: int = MOST_COUNTED) -> str:
    """Return a number that was counted to a limit: "1,000+" means 1,000 or more."""
    return f"{shown_number(most)}+" if count >= most else shown_number(count)


NOTED_WITHIN: Final = timedelta(hours=1)
"""After this time a note counts no longer: a process at work writes it once a minute, and a host may be gone."""
MOST_NAMED: Final = 5
CLOCKS: Final = Kind(name="clocks", title=gettext_lazy("Clocks of the hosts"))


def clock_findings(projects: Sequence[str], now: datetime) -> Iterator[Finding]:
    """Yield which hosts differ, and by how much."""
    noted = HostClock.primary.filter(measured_at__gt=database_now() - NOTED_WITHIN)
    hosts = list(noted.order_by("host")[: MOST_NAMED + 1])
    if not hosts:
        yield CLOCKS.found(_("No host was found whose clock differs."), figures={"hosts": 0})
        return
    named = "; ".join(_difference(host) for host in hosts[:MOST_NAMED])
    text = _("Clocks that differ from the database's by more than two seconds: %(hosts)s.")
    action = _("Synchronise the clocks of these hosts, and of the database's host, for instance with chrony.")
    figures = {"hosts": len(hosts), "most_seconds": max(abs(host.seconds_ahead) for host in hosts)}
    yield CLOCKS.found(text % {"hosts": named}, Severity.WARNING, action, figures=figures)


def _difference(host: HostClock) -> str:
    text = _("%(host)s is %(span)s ahead") if host.seconds_ahead > 0 else _("%(host)s is %(span)s behind")
    return text % {"host": host.host, "span": span(abs(host.seconds_ahead))}
