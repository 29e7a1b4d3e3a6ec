"""Findings about stored notifications: what could not be applied, aliases that the settings lack, and times of attempts.

Times: by the specification ``created_at`` is the time of the event (WHK-05). Deployed services write the time of the
attempt, so by default RETRY_INTERVAL is subtracted for each earlier one (EVT-12). With a service that keeps the time, a
repeated notification would count as earlier than it is; with one that counts attempts from 1, each would. Nothing is
changed by itself: the state of an order must not depend on what else came.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database import keys_by_index
from checkout_integration.flows.monitoring.backlog import LONGEST_LEFT, MOST_COUNTED, shown_count
from checkout_integration.flows.monitoring.finding import Finding, Kind, Rows, seconds_of, span
from checkout_integration.models import Incident, Installation, Notification
from checkout_integration.policy.severity import Severity
from checkout_integration.protocol.vocabulary import Event

MOST_WAITING: Final = 5_000
LONG: Final = timedelta(seconds=LONGEST_LEFT)
NOT_APPLIED: Final = Kind(
    name="not_applied", title=gettext_lazy("Notifications not applied"), rows=Rows(model="notification")
)
REMOVED: Final = Kind(
    name="removed_projects", title=gettext_lazy("Removed projects"), rows=Rows(model="notification")
)

WAITING: Final = (Notification.State.FAILED, Notification.State.QUARANTINED)


class NotApplied(NamedTuple):
    """How many notifications failed and are quarantined, to a limit; since when the oldest has failed, and why."""

    failed: int
    quarantined: int
    since: datetime | None
    why: str


def not_applied(project: str) -> NotApplied:
    """Return what could not be applied of a project's notifications."""
    failed, quarantined = (_waiting(project, state) for state in WAITING)
    since, why = failed.values_list("received_at", "failure").first() or (None, "")
    return NotApplied(_count(failed), _count(quarantined), since, why or "–")


def quarantined_since(project: str) -> datetime | None:
    """Return since when the oldest notification of a project is in quarantine."""
    return _waiting(project, Notification.State.QUARANTINED).values_list("received_at", flat=True).first()


def _count(rows: QuerySet[Notification]) -> int:
    return len(keys_by_index(rows, "state", "received_at", most=MOST_WAITING))


def _waiting(project: str, state: Notification.State) -> QuerySet[Notification]:
    """Return the notifications of a state, the oldest first.

    A range of one state, and not "=": so only the index of those that are not applied has this sequence. With "=", PostgreSQL
    would read all notifications by their time where it expects that many have failed.
    """
    rows = Notification.primary.filter(state__in=WAITING, project=project)
    return rows.filter(state__gte=state, state__lte=state).order_by("state", "received_at")


def not_applied_finding(project: str, now: datetime) -> Finding:
    """Return what could not be applied of the notifications of a project."""
    failed, quarantined, oldest, why = not_applied(project)
    age = now - (oldest or now)
    severity, texts, actions = Severity.WARNING, list[str](), list[str]()
    if failed:
        severity = Severity.FAILING if failed > 1 or age > LONG else Severity.WARNING
        text = _("Notifications that could not be applied: %(n)s, the oldest for %(span)s (%(why)s).")
        count = shown_count(failed, MOST_WAITING)
        texts.append(text % {"n": count, "span": span(age.total_seconds()), "why": why})
        actions.append(_("They are retried by themselves; correct what fails."))
    if quarantined:
        text = _("Notifications that break a rule: %(n)s.")
        texts.append(text % {"n": shown_count(quarantined, MOST_WAITING)})
        actions.append(_("They wait until staff decide."))
    return NOT_APPLIED.found(
        " ".join(texts) or _("Every notification could be applied."),
        severity if texts else Severity.OK,
        " ".join(actions),
        project=project,
        filters={"state": "failed" if failed else "quarantined"},
        figures={"failed": failed, "quarantined": quarantined, "failed_seconds": seconds_of(age)},
    )


def known_projects() -> list[str]:
    """Return the aliases of the settings, and those of which anything was ever stored."""
    stored = Installation.primary.values_list("project", flat=True)
    return list(dict.fromkeys([*app_settings().projects, *stored.order_by("pk")]))


def open_incidents(*projects: str) -> int:
    """Return how many incidents of these projects are open, counted to a limit."""
    found = Incident.objects.filter(resolved_at=None, project__in=projects)
    return len(keys_by_index(found, "resolved_at", "project", most=MOST_COUNTED))


def waiting_of_removed() -> dict[str, int]:
    """Return the aliases that the settings lack, each with how many notifications and incidents of it wait for somebody."""
    removed = [project for project in known_projects() if project not in app_settings().projects]
    return {project: sum(not_applied(project)[:2]) + open_incidents(project) for project in removed}


def removed_finding(projects: Sequence[str], now: datetime) -> Iterator[Finding]:
    """Yield what waits of projects that the settings do not have any more: nobody else looks at it."""
    waiting = {project: count for project, count in waiting_of_removed().items() if count}
    if not waiting:
        yield REMOVED.found(_("Nothing waits of a project that is not in PROJECTS."), figures={"projects": 0})
        return
    failed = sum(not_applied(project).failed for project in waiting)
    names = ", ".join(f"{project} ({shown_count(count)})" for project, count in waiting.items())
    action = _(
        "Notifications of a project that is not in PROJECTS are not applied. Put the alias back until none waits; where "
        "it was renamed, the old name stays beside the new one."
    )
    yield REMOVED.found(
        _("Not in PROJECTS, but notifications or incidents of it wait: %(projects)s.") % {"projects": names},
        Severity.FAILING if failed else Severity.WARNING,
        action,
        filters={"state": "failed"} if failed else {},
        figures={"projects": len(waiting)},
    )


MOST_LOOKED_AT: Final = 1_000
"""How many of the newest notifications of a project are looked at."""

TIMES: Final = Kind(name="attempt_times", title=gettext_lazy("Times of delivery attempts"))
CONTRADICTED: Final = replace(TIMES, rows=Rows(model="notification"))
ENOUGH: Final = 10
"""So many notifications without a first attempt are no longer those of an hour in which the shop was away."""


def contradicting(project: Project) -> tuple[str, bool]:
    """Return the id of a notification that contradicts RETRY_INTERVAL, and whether two of its attempts have one time.

    Otherwise none came at attempt 0; "" for no contradiction.
    """
    if project.retry_delta == timedelta(0):
        return "", False
    rows = Notification.primary.filter(project=project.alias).order_by("-received_at")
    columns = ("key", "notification_id", "event", "delivery_try", "created_at")
    newest = list(rows.values_list(*columns)[:MOST_LOOKED_AT])
    tries: dict[tuple[str, datetime | None], set[int]] = defaultdict(set)
    for key, name, _event, delivery_try, created_at in newest:
        of_one_time = tries[key, created_at]
        of_one_time.add(delivery_try)
        if created_at and len(of_one_time) > 1:
            return str(name), True
    counted = [row for row in newest if row[2] != Event.USER_VALIDATE]
    count, least = len({row[0] for row in counted}), min((row[3] for row in counted), default=0)
    return (str(counted[0][1]), False) if count >= ENOUGH and least >= 1 else ("", False)


def attempt_finding(project: str, now: datetime) -> Finding:
    """Return whether the times of attempts are read as the service writes them."""
    notification, is_unchanged = contradicting(app_settings().project(project))
    if not notification:
        text = _("No delivery attempts of one notification contradict RETRY_INTERVAL.")
        return TIMES.found(text, project=project)
    text = _(
        "Delivery attempts of one notification have the same created_at, so this service does not rewrite it. A "
        "notification that came at a later attempt counts as older than it is, and its order may show a wrong status."
    )
    if not is_unchanged:
        text = _(
            "No notification came with the delivery attempt 0, so this service counts from 1. Each counts as older than "
            "it is, by RETRY_INTERVAL at least."
        )
    action = _("Set RETRY_INTERVAL of the project to 0.")
    return CONTRADICTED.found(text, Severity.WARNING, action, project=project, filters={"q": notification})
