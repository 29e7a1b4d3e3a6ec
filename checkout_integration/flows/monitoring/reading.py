"""Findings about the service, its transaction list, what differs from it, and incidents, for each project."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.conf import app_settings
from checkout_integration.flows.database import keys_by_index
from checkout_integration.flows.monitoring.backlog import LONGEST_LEFT, MOST_COUNTED, shown_count
from checkout_integration.flows.monitoring.finding import Finding, Kind, Rows, seconds_of, span
from checkout_integration.flows.monitoring.not_applied import open_incidents
from checkout_integration.flows.sync import LaneStatus, lane_statuses
from checkout_integration.models import SyncDifference, SyncRun
from checkout_integration.policy.severity import Severity

LONGEST_UNSYNCED: Final = timedelta(hours=1)
"""How long the list may be unread before it is certain that nobody reads it."""
BLIND_AFTER: Final = timedelta(days=1)
"""After so long without the lane ``recent``, a payment whose notification was lost is missing for too long."""
AT_ONCE: Final = timedelta(seconds=LONGEST_LEFT)
"""How long the service may refuse or not respond before it is failing: one pass of the list may meet a restart of it."""
ANSWERED: Final = re.compile(r"[A-Z]+ /\S* answered \d{3} \([\w. -]{0,32}\)")
"""How the failure of a pass begins whose request the service refused; others are about single rows."""
WHO_SYNCS: Final = {
    "request": gettext_lazy(
        "RUNNER is “request”: run manage.py checkout_sync --lane due from cron, every five minutes."
    ),
    "celery": gettext_lazy(
        "RUNNER is “celery”: start beat with checkout_integration.schedule.beat_schedule()."
    ),
    "worker": gettext_lazy("RUNNER is “worker”: start manage.py checkout_work, without --no-sync."),
}


SERVICE: Final = Kind(name="service", title=gettext_lazy("Service"), rows=Rows(model="syncrun"))
INCIDENTS: Final = Kind(
    name="incidents",
    title=gettext_lazy("Incidents"),
    rows=Rows(model="incident", filters={"resolved_at_known": "no"}),
)
DIFFERENCES: Final = Kind(
    name="differences",
    title=gettext_lazy("Differences from the list"),
    rows=Rows(model="syncdifference", filters={"state": "waiting"}),
)
LANES: Final = {
    name: Kind(name=f"sync_{name}", title=title, rows=Rows(model="syncrun", filters={"lane": name}))
    for name, title in {
        "recent": gettext_lazy("List: recent orders"),
        "open": gettext_lazy("List: open orders"),
        "reversals": gettext_lazy("List: reversals"),
        "all": gettext_lazy("List: all orders"),
    }.items()
}


def reading_findings(projects: Sequence[str], now: datetime) -> Iterator[Finding]:
    """Yield whether the service of each project responds, a finding for each lane, what differs, and open incidents."""
    for project in projects:
        statuses = lane_statuses(project)
        yield _service(project, statuses, now)
        yield from (_lane(project, status) for status in statuses)
        yield _differences(project)
        yield _incidents(project)


def _service(project: str, statuses: Sequence[LaneStatus], now: datetime) -> Finding:
    """Return whether the service responds, as the lane says that comes every few minutes."""
    recent = next((status for status in statuses if status.lane == "recent"), None)
    if recent is None or (recent.failed_since is None and recent.complete_at is None):
        return SERVICE.found(
            _("The transaction list has not been read yet."), Severity.UNKNOWN, project=project
        )
    if recent.failed_since is None:
        return SERVICE.found(_("The service responds."), project=project, figures={"failing_seconds": 0.0})
    age = now - recent.failed_since
    values = {"span": span(age.total_seconds())}
    answered = ANSWERED.match(recent.failure)
    severity = Severity.FAILING if age > AT_ONCE else Severity.WARNING
    if recent.state == SyncRun.State.UNREACHABLE:
        text = _("The service has not responded for %(span)s.")
        action = _(
            "Nobody can pay while it is away. Look at its status page, and whether this host reaches it."
        )
    elif answered is not None:
        values["answer"] = answered[0]
        text = _("The service has refused this shop's requests for %(span)s: %(answer)s.")
        action = _("Compare PROJECT_ID, SECRET_KEY and the addresses with the project's page at the service.")
    else:
        severity = Severity.WARNING
        text = _("The transaction list could not be read completely for %(span)s.")
        action = _("What could be read is recorded; the sync runs say what was not.")
    return SERVICE.found(
        text % values, severity, action, project=project, figures={"failing_seconds": seconds_of(age)}
    )


def _lane(project: str, status: LaneStatus) -> Finding:
    lane = {"lane": status.lane, "span": span(status.unread_for.total_seconds())}
    severity, action = Severity.OK, ""
    text = _("Part “%(lane)s” of the transaction list was read to its end %(span)s ago.")
    if status.overdue:
        is_blind = status.lane == "recent" and status.unread_for > BLIND_AFTER
        severity = Severity.FAILING if is_blind else Severity.WARNING
        text = _(
            "Part “%(lane)s” of the transaction list has not been read to its end for %(span)s: payments and refunds whose "
            "notification was lost are not found."
        )
        action = str(WHO_SYNCS[app_settings().runner])
        if status.state and status.state != "complete":
            state = SyncRun.State(status.state).label
            action = _("The state of its newest pass: %(state)s. The sync runs say why.") % {"state": state}
    elif not status.complete_at:
        severity = Severity.UNKNOWN
        text = _("Part “%(lane)s” of the transaction list has not been read yet; it is not overdue.")
    return LANES[status.lane].found(
        text % lane,
        severity,
        action,
        project=project,
        figures={
            "complete_at": status.complete_at.isoformat() if status.complete_at else None,
            "unread_seconds": seconds_of(status.unread_for),
            "overdue": int(status.overdue),
            "newest_state": status.state or None,
        },
    )


def _differences(project: str) -> Finding:
    """Return how many differences wait: no later pass has removed them, and nothing else may ask for a person."""
    waiting = SyncDifference.primary.filter(project=project, waiting_key__isnull=False)
    count = len(keys_by_index(waiting, "waiting_key", most=MOST_COUNTED))
    if not count:
        text = _("No difference from the transaction list waits.")
        return DIFFERENCES.found(text, project=project, figures={"waiting": 0})
    text = _("Differences from the transaction list that wait for somebody: %(n)s.")
    action = _(
        "The page “Reconciliation” shows both sides; docs/reconciliation.md says what to do about each kind."
    )
    return DIFFERENCES.found(
        text % {"n": shown_count(count)},
        Severity.WARNING,
        action,
        project=project,
        figures={"waiting": count},
    )


def _incidents(project: str) -> Finding:
    count = open_incidents(project)
    if not count:
        return INCIDENTS.found(_("No incident is open."), project=project, figures={"open": 0})
    text = _("Open incidents: %(n)s.") % {"n": shown_count(count)}
    action = _("The page of each incident says what it means.")
    return INCIDENTS.found(text, Severity.WARNING, action, project=project, figures={"open": count})
