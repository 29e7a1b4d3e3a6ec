"""Findings about notifications, for each project: silence against the usual rhythm, refused requests, what is not applied.

A project is silent for longer than usual if nothing came for half an hour or more, and in the same stretch of each of the
last four weeks `USUAL` or more notifications came. So nights and weekends are compared with nights and weekends, a busy shop
is warned within minutes, and one with few payments only when so many would have come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.utils.translation import gettext as _

from checkout_integration.conf import Project
from checkout_integration.flows.database import Command, instant_of, state_database
from checkout_integration.flows.monitoring.finding import Finding, Severity, seconds_of, span
from checkout_integration.flows.monitoring.refusals import not_counted, refused_lately
from checkout_integration.flows.monitoring.steps import shown_count
from checkout_integration.models import Installation, Notification

SHORTEST: Final = timedelta(minutes=30)
USUAL: Final = 20
"""So many notifications in each of the stretches: fewer may be missing by chance."""
WEEK: Final = timedelta(days=7)
WEEKS: Final = 4
MOST_READ: Final = 2_000
"""So many rows of a stretch are read at most."""
NEWEST: Final = (50, 5_000)
"""So many of the newest rows are read for the last one of each project; more only where one is missing."""
MOST_WAITING: Final = 5_000
HOUR: Final = timedelta(hours=1)
ANY_WITHOUT: Final = 3
"""So many requests refused in an hour without an accepted one: perhaps the secret is wrong."""
MANY: Final = 100

_LAST: Final = Command(
    """SELECT newest.project, MAX(newest.received_at), MIN(newest.received_at), COUNT(*) FROM (
        SELECT own.project, own.received_at FROM {notifications} own ORDER BY own.received_at DESC LIMIT {most}
    ) newest GROUP BY newest.project""",
    notifications=Notification,
)
_STRETCH: Final = """(SELECT COUNT(*) FROM (
        SELECT own.project FROM {notifications} own
        WHERE own.received_at > {begin[n]} AND own.received_at <= {end[n]} ORDER BY own.received_at LIMIT {most}
    ) came WHERE came.project = {project})"""
_STRETCHES: Final = Command(
    "SELECT " + ", ".join(_STRETCH.replace("[n]", str(week)) for week in range(1, WEEKS + 1)),
    notifications=Notification,
)
_NOT_APPLIED: Final = Command(
    """SELECT waiting.project, waiting.state, COUNT(*), MIN(waiting.received_at) FROM (
        SELECT own.project, own.state, own.received_at FROM {notifications} own
        WHERE own.state IN ('failed', 'quarantined') LIMIT {most}
    ) waiting GROUP BY waiting.project, waiting.state""",
    notifications=Notification,
)


@dataclass(frozen=True, kw_only=True)
class LastOne:
    """The last notification of a project. Without one, ``since`` is from when on there is none; None if nothing is known."""

    at: datetime | None
    since: datetime | None


def incoming_findings(projects: Iterable[Project], now: datetime) -> Iterator[Finding]:
    """Yield the findings of each project."""
    aliases = [project.alias for project in projects]
    installed = dict(
        Installation.objects.using(state_database())
        .filter(project__in=aliases)
        .values_list("project", "installed_at")
    )
    last, waiting = _last_ones(aliases, installed), _waiting()
    for alias in aliases:
        silence = _silence(alias, last[alias], installed.get(alias), now)
        yield silence
        yield _refused(alias, last[alias], now, is_silent=silence.severity != Severity.OK)
        yield _not_applied(alias, waiting, now)


def _last_ones(aliases: Sequence[str], installed: Mapping[str, datetime]) -> dict[str, LastOne]:
    """Return the last notification of each project, among the newest of all projects."""
    found: dict[str, datetime] = {}
    oldest: datetime | None = None
    for most in NEWEST:
        rows = _LAST.fetch(most=most)
        found = {project: instant_of(newest) for project, newest, _oldest, _count in rows}
        is_cut = sum(count for *_others, count in rows) >= most
        oldest = min(instant_of(row[2]) for row in rows) if is_cut else None
        if not is_cut or found.keys() >= set(aliases):
            break
    return {
        alias: LastOne(at=found.get(alias), since=found.get(alias) or oldest or installed.get(alias))
        for alias in aliases
    }


def _silence(alias: str, last: LastOne, installed_at: datetime | None, now: datetime) -> Finding:
    name = "notifications"
    if last.since is None:
        text = _("Nothing of this project has come yet.")
        return Finding(name=name, project=alias, text=text, figures={"last_at": None})
    silent = now - last.since
    usual = _usual(alias, last.since, min(silent, WEEK), installed_at) if silent >= SHORTEST else None
    figures = {
        "last_at": last.at.isoformat() if last.at else None,
        "silent_seconds": seconds_of(silent),
        "usual_count": usual,
    }
    length = {"span": span(silent.total_seconds())}
    if usual is not None and usual >= USUAL:
        text = _(
            "No notification for %(span)s; in the same hours of the last weeks at least %(n)s came each time. Look at the "
            "service whether the webhook has your address, and here whether requests are refused."
        ) % {**length, "n": shown_count(usual, MOST_READ)}
        return Finding(name=name, project=alias, severity=Severity.WARNING, text=text, figures=figures)
    text = _("The last notification came %(span)s ago.") if last.at else _("No notification for %(span)s.")
    return Finding(name=name, project=alias, text=text % length, figures=figures)


def _usual(alias: str, since: datetime, length: timedelta, installed_at: datetime | None) -> int | None:
    """Return how many came at least in this stretch of the last weeks; None without a week to compare with."""
    begins = [since - week * WEEK for week in range(1, WEEKS + 1)]
    values: dict[str, Any] = {f"begin{week}": begin for week, begin in enumerate(begins, 1)}
    values |= {f"end{week}": begin + length for week, begin in enumerate(begins, 1)}
    (counts,) = _STRETCHES.fetch(project=alias, most=MOST_READ, **values)
    compared = [
        count
        for begin, count in zip(begins, counts, strict=True)
        if installed_at is not None and begin >= installed_at
    ]
    return min(compared, default=None)


def _refused(alias: str, last: LastOne, now: datetime, *, is_silent: bool) -> Finding:
    count = refused_lately(alias)
    figures = {"last_hour": count}
    if count is None:
        return Finding(name="refused", project=alias, text=not_counted(), figures=figures)
    text = _("Requests refused in the last hour: %(n)s.") % {"n": f"{count:,}"}
    none_accepted = last.at is None or now - last.at > HOUR
    if count < MANY and not (count >= ANY_WITHOUT and none_accepted):
        return Finding(name="refused", project=alias, text=text, figures=figures)
    if none_accepted:
        advice = _(
            "None was accepted. Compare SECRET_KEY with the project's webhooks page at the service, and look whether a proxy "
            "changes the body or drops the header Authorization."
        )
    else:
        advice = _("Others were accepted, so the secret is right: somebody else may be sending them.")
    return Finding(
        name="refused",
        project=alias,
        severity=Severity.FAILING if is_silent and none_accepted else Severity.WARNING,
        text=f"{text} {advice}",
        figures=figures,
    )


def _waiting() -> dict[tuple[str, str], tuple[int, datetime]]:
    rows = _NOT_APPLIED.fetch(most=MOST_WAITING)
    return {(project, state): (count, instant_of(oldest)) for project, state, count, oldest in rows}


def _not_applied(
    alias: str, waiting: Mapping[tuple[str, str], tuple[int, datetime]], now: datetime
) -> Finding:
    failed, failed_since = waiting.get((alias, Notification.State.FAILED.value), (0, now))
    quarantined, _since = waiting.get((alias, Notification.State.QUARANTINED.value), (0, now))
    age = now - failed_since
    figures = {"failed": failed, "quarantined": quarantined, "failed_seconds": seconds_of(age)}
    if not failed and not quarantined:
        text = _("Every notification could be applied.")
        return Finding(name="not_applied", project=alias, text=text, figures=figures)
    text = _(
        "Notifications that could not be applied: %(failed)s (retried by themselves). In quarantine, until staff decide: "
        "%(quarantined)s. The admin's notifications say why."
    ) % {
        "failed": shown_count(failed, MOST_WAITING),
        "quarantined": shown_count(quarantined, MOST_WAITING),
    }
    return Finding(
        name="not_applied",
        project=alias,
        severity=Severity.FAILING if failed and age > HOUR else Severity.WARNING,
        text=text,
        figures=figures,
    )
