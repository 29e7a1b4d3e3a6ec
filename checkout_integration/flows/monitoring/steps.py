"""Findings about work that is due: apply, fan out, run; and about receivers that fail, were given up, or do not end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.conf import app_settings
from checkout_integration.flows.database import state_database
from checkout_integration.flows.monitoring.backlog import MOST_COUNTED, QueueState
from checkout_integration.flows.monitoring.finding import Finding, Severity, shown_number, span
from checkout_integration.models import ReceiverRun

LONGEST_LEFT: Final = 300
"""Seconds that work may be due before it is certain that no worker runs."""
LONG_LEFT: Final = 60
"""Seconds that work may be due before somebody should look: every runner comes sooner than that."""
FRESH: Final = 7 * 24 * 3600
"""Seconds for which a run that was given up is failing. After that it is a warning, so that a monitor does not stay red."""
WHO_WORKS: Final = {
    "request": gettext_lazy(
        "RUNNER is “request”: web processes do it with the next notification. Set RUNNER to “celery” or “worker”, or run "
        "manage.py checkout_work --once from cron."
    ),
    "celery": gettext_lazy(
        "RUNNER is “celery”: start a Celery worker, and beat with checkout_integration.schedule.beat_schedule()."
    ),
    "worker": gettext_lazy("RUNNER is “worker”: start manage.py checkout_work."),
}


def step_findings(queue: QueueState) -> Iterator[Finding]:
    """Yield what the queue's state means, for all projects together."""
    yield _due(
        "apply", _("Notifications to apply: %(n)s."), queue.stored, queue.oldest_stored_seconds, "stored"
    )
    yield _due(
        "fan_out", _("Signals to hand to receivers: %(n)s."), queue.new, queue.oldest_new_seconds, "new"
    )
    yield _due("run", _("Receivers to run: %(n)s."), queue.due, queue.oldest_due_seconds, "due")
    yield _failing(queue)
    yield _given_up(queue)
    yield _overlong(queue)


def _due(name: str, text: str, count: int, seconds: float, figure: str) -> Finding:
    figures = {figure: count, "oldest_seconds": seconds}
    text %= {"n": shown_count(count)}
    if seconds <= LONG_LEFT:
        return Finding(name=name, text=text, figures=figures)
    left = _("The oldest has been due for %(span)s, and no process does it.") % {"span": span(seconds)}
    severity = Severity.FAILING if seconds > LONGEST_LEFT else Severity.WARNING
    return Finding(
        name=name,
        severity=severity,
        text=f"{text} {left} {WHO_WORKS[app_settings().runner]}",
        figures=figures,
    )


def _failing(queue: QueueState) -> Finding:
    figures = {"failing": queue.failing}
    if not queue.failing:
        return Finding(name="receivers_failing", text=_("No receiver fails."), figures=figures)
    return Finding(
        name="receivers_failing",
        severity=Severity.WARNING,
        text=_(
            "Receiver runs that failed and are retried later: %(n)s. The admin's receiver runs show where the code failed."
        )
        % {"n": shown_count(queue.failing)},
        figures=figures,
    )


def _given_up(queue: QueueState) -> Finding:
    if not queue.failed:
        return Finding(name="receivers_given_up", text=_("No receiver was given up."), figures={"failed": 0})
    runs = ReceiverRun.objects.using(state_database()).filter(state=ReceiverRun.State.FAILED)
    last = runs.order_by("-due_at", "-id").values_list("due_at", flat=True).first()
    age = (datetime.now(UTC) - last).total_seconds() if last else 0.0
    return Finding(
        name="receivers_given_up",
        severity=Severity.FAILING if age <= FRESH else Severity.WARNING,
        text=_(
            "Receiver runs given up after ten attempts: %(n)s. Correct the receiver, then run them again: in the admin, or "
            "with manage.py checkout_replay --failed."
        )
        % {"n": shown_count(queue.failed)},
        figures={"failed": queue.failed, "newest_seconds": round(age, 3)},
    )


def _overlong(queue: QueueState) -> Finding:
    figures = {"running": queue.running, "overdue": queue.overdue}
    if not queue.overdue:
        text = _("Receivers that run now: %(n)s.") % {"n": shown_count(queue.running)}
        return Finding(name="receivers_overlong", text=text, figures=figures)
    return Finding(
        name="receivers_overlong",
        severity=Severity.FAILING,
        text=_(
            "Receivers that have run for longer than RECEIVER_DEADLINE (%(span)s): %(n)s. They may hang; to stop them, "
            "end their process."
        )
        % {"n": shown_count(queue.overdue), "span": span(app_settings().receiver_deadline)},
        figures=figures,
    )


def shown_count(count: int, most: int = MOST_COUNTED) -> str:
    """Return a number that was counted to a limit: "1,000+" means 1,000 or more."""
    return f"{shown_number(most)}+" if count >= most else shown_number(count)
