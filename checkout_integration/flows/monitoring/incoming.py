"""Findings about notifications, for each project: silence against the usual rhythm, refused requests, what is not applied.

A project is silent for longer than usual if nothing came for half an hour or more, and in the same stretch of each of the
last four weeks `USUAL` or more notifications came. So nights and weekends are compared with nights and weekends, a busy shop
is warned within minutes, and one with few payments only when so many would have come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from django.db import connections
from django.utils.translation import gettext as _

from checkout_integration.conf import Project
from checkout_integration.flows.database import Command, instant_of, state_database
from checkout_integration.flows.monitoring.finding import Finding, Severity, seconds_of, shown_number, span
from checkout_integration.flows.monitoring.refusals import not_counted, refused_lately
from checkout_integration.flows.monitoring.steps import shown_count
from checkout_integration.models import Installation, Notification

SHORTEST: Final = timedelta(minutes=30)
USUAL: Final = 20
"""The smallest usual number of notifications in each of the stretches: fewer may be missing by chance."""
WEEK: Final = timedelta(days=7)
WEEKS: Final = 4
MOST_READ: Final = 2_000
"""How many rows of a stretch are read at most."""
MOST_WAITING: Final = 5_000
HOUR: Final = timedelta(hours=1)
ANY_WITHOUT: Final = 3
"""How many requests refused in an hour, with none accepted, are a warning: perhaps the secret is wrong."""
MANY: Final = 100

# Each part reads so many rows of an index at most, in its sequence.
_LAST: Final = Command(
    "SELECT own.received_at FROM {notifications} own WHERE own.project = {project}"
    " ORDER BY own.received_at DESC LIMIT 1",
    notifications=Notification,
)
_STRETCH: Final = """(SELECT COUNT(*) FROM (
        SELECT 1 AS one FROM {notifications} own WHERE own.project = {project}
        AND own.received_at > {begin[n]} AND own.received_at <= {end[n]} ORDER BY own.received_at LIMIT {most}
    ) came[n])"""
_STRETCHES: Final = Command(
    "SELECT " + ", ".join(_STRETCH.replace("[n]", str(week)) for week in range(1, WEEKS + 1)),
    notifications=Notification,
)
# A range of one state, and not "=": so only the index of those that are not applied has this sequence. With "=", PostgreSQL
# would read all notifications by their time where it expects that many have failed.
_WAITING: Final = """SELECT [what] FROM {notifications} own
        WHERE own.state IN ('failed', 'quarantined') AND own.project = {project}
        AND own.state >= '[state]' AND own.state <= '[state]' ORDER BY own.state, own.received_at LIMIT [most]"""
_COUNT: Final = "(SELECT COUNT(*) FROM ([rows]) [state])".replace(
    "[rows]", _WAITING.replace("[what]", "1 AS one").replace("[most]", "{most}")
)
_OLDEST: Final = f"({_WAITING})".replace("[what]", "own.received_at").replace("[most]", "1")
_PARTS: Final = ((_COUNT, "failed"), (_COUNT, "quarantined"), (_OLDEST, "failed"))
_NOT_APPLIED: Final = "SELECT " + ", ".join(part.replace("[state]", state) for part, state in _PARTS)


@cache
def _not_applied_in(vendor: str) -> Command:
    """Return the statement about notifications that are not applied.

    The limit is hidden from PostgreSQL: with old statistics it would read and sort all rows to count so many.
    """
    most = "(SELECT {most})" if vendor == "postgresql" else "{most}"
    return Command(_NOT_APPLIED.replace("{most}", most), notifications=Notification)


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
    for alias in aliases:
        last = _last_one(alias, installed.get(alias))
        silence = _silence(alias, last, installed.get(alias), now)
        yield silence
        yield _refused(alias, last, now, is_silent=silence.severity != Severity.OK)
        yield _not_applied(alias, now)


def _last_one(alias: str, installed_at: datetime | None) -> LastOne:
    at = next((instant_of(received_at) for (received_at,) in _LAST.fetch(project=alias)), None)
    return LastOne(at=at, since=at or installed_at)


def _silence(alias: str, last: LastOne, installed_at: datetime | None, now: datetime) -> Finding:
    name = "notifications"
    if last.since is None:
        text = _("No notification of this project has arrived yet.")
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
            "No notification for %(span)s; in the same hours of the last weeks at least %(n)s came each time. Check at "
            "the service that the webhook has your address, and here whether requests are refused."
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
    text = _("Requests refused in the last hour: %(n)s.") % {"n": shown_number(count)}
    none_accepted = last.at is None or now - last.at > HOUR
    if count < MANY and not (count >= ANY_WITHOUT and none_accepted):
        return Finding(name="refused", project=alias, text=text, figures=figures)
    if none_accepted:
        advice = _(
            "None was accepted. Compare SECRET_KEY with the project's webhooks page at the service, and check whether a "
            "proxy changes the body or drops the header Authorization."
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


def not_applied(alias: str) -> tuple[int, int, Any]:
    """Return how many notifications of a project failed and are quarantined, to a limit, and since when one has failed."""
    ((failed, quarantined, oldest),) = _not_applied_in(connections[state_database()].vendor).fetch(
        project=alias, most=MOST_WAITING
    )
    return failed, quarantined, oldest


def _not_applied(alias: str, now: datetime) -> Finding:
    failed, quarantined, oldest = not_applied(alias)
    failed_since = now if oldest is None else instant_of(oldest)
    age = now - failed_since
    figures = {"failed": failed, "quarantined": quarantined, "failed_seconds": seconds_of(age)}
    if not failed and not quarantined:
        text = _("Every notification could be applied.")
        return Finding(name="not_applied", project=alias, text=text, figures=figures)
    text = _(
        "Notifications that could not be applied: %(failed)s (retried automatically). In quarantine, until staff decide: "
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
