"""Findings about the transaction list and about incidents, for each project."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database import count_by_index
from checkout_integration.flows.monitoring.backlog import MOST_COUNTED
from checkout_integration.flows.monitoring.finding import Finding, Severity, seconds_of, span
from checkout_integration.flows.monitoring.steps import shown_count
from checkout_integration.flows.sync import LaneStatus, lane_statuses
from checkout_integration.models import Incident, SyncRun

LONGEST_UNSYNCED: Final = timedelta(hours=1)
"""How long the list may be unread before it is certain that nobody reads it."""
BLIND_AFTER: Final = timedelta(days=1)
"""After so long without the lane ``recent``, a payment whose notification was lost is missing for too long."""
WHO_SYNCS: Final = {
    "request": gettext_lazy(
        "RUNNER is “request”: run manage.py checkout_sync --lane due from cron, every five minutes."
    ),
    "celery": gettext_lazy(
        "RUNNER is “celery”: start beat with checkout_integration.schedule.beat_schedule()."
    ),
    "worker": gettext_lazy("RUNNER is “worker”: start manage.py checkout_work, without --no-sync."),
}


def lane_findings(project: Project) -> Iterator[Finding]:
    """Yield a finding for each lane, named ``sync_`` and the lane."""
    yield from (_lane(project, status) for status in lane_statuses(project.alias))


def _lane(project: Project, status: LaneStatus) -> Finding:
    figures = {
        "complete_at": status.complete_at.isoformat() if status.complete_at else None,
        "unread_seconds": seconds_of(status.unread_for),
        "overdue": int(status.overdue),
        "newest_state": status.state or None,
    }
    lane = {"lane": status.lane, "span": span(status.unread_for.total_seconds())}
    if not status.overdue:
        if status.complete_at:
            text = _("Lane %(lane)s of the transaction list was read to its end %(span)s ago.") % lane
        else:
            text = _("Lane %(lane)s of the transaction list has not been read yet; it is not overdue.") % lane
        return Finding(name=f"sync_{status.lane}", project=project.alias, text=text, figures=figures)
    is_blind = status.lane == "recent" and status.unread_for > BLIND_AFTER
    text = (
        _(
            "Lane %(lane)s of the transaction list has not been read to its end for %(span)s: payments and refunds whose "
            "notification was lost are not found."
        )
        % lane
    )
    if status.state and status.state != "complete":
        state = SyncRun.State(status.state).label
        what = _("The state of its newest pass: %(state)s. The admin's sync runs say why.") % {"state": state}
    else:
        what = str(WHO_SYNCS[app_settings().runner])
    return Finding(
        name=f"sync_{status.lane}",
        project=project.alias,
        severity=Severity.FAILING if is_blind else Severity.WARNING,
        text=f"{text} {what}",
        figures=figures,
    )


def incident_finding(project: Project) -> Finding:
    """Return how many incidents are open."""
    count = open_incidents(project.alias)
    figures = {"open": count}
    if not count:
        return Finding(
            name="incidents", project=project.alias, text=_("No incident is open."), figures=figures
        )
    return Finding(
        name="incidents",
        project=project.alias,
        severity=Severity.WARNING,
        text=_("Open incidents: %(n)s. The page of each incident in the admin says what it means.")
        % {"n": shown_count(count)},
        figures=figures,
    )


def open_incidents(*projects: str) -> int:
    """Return how many incidents of these projects are open, counted to a limit."""
    found = Incident.objects.filter(resolved_at=None, project__in=projects)
    return count_by_index(found, "resolved_at", "project", most=MOST_COUNTED)
