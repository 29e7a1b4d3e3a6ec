"""The health of the app: what was found about each project and about the work of all, at one moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import Error
from django.utils.translation import gettext as _

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database import Unavailable
from checkout_integration.flows.monitoring.backlog import queue_state
from checkout_integration.flows.monitoring.finding import Finding, Severity, shown_number
from checkout_integration.flows.monitoring.incoming import ANY_WITHOUT, incoming_findings
from checkout_integration.flows.monitoring.reading import incident_finding, lane_findings
from checkout_integration.flows.monitoring.refusals import NO_PROJECT, not_counted, refused_lately
from checkout_integration.flows.monitoring.steps import step_findings


@dataclass(frozen=True, kw_only=True)
class ProjectMode:
    """A project, and whether its checkouts take test payments and nothing else."""

    alias: str
    test: bool


@dataclass(frozen=True, kw_only=True)
class Health:
    """What was found at one moment.

    Attributes:
        checked_at: the moment.
        projects: the projects that were looked at.
        findings: what was found, of each project and of what all of them share.

    """

    checked_at: datetime
    projects: Sequence[ProjectMode]
    findings: Sequence[Finding]

    @property
    def severity(self) -> Severity:
        """The worst severity of a finding."""
        return max((finding.severity for finding in self.findings), key=lambda each: each.rank)

    def of(self, project: str) -> Sequence[Finding]:
        """Return the findings of a project, the worst first; of what all projects share for ""."""
        found = [finding for finding in self.findings if finding.project == project]
        return sorted(found, key=lambda each: -each.severity.rank)


def health(project: str | None = None) -> Health:
    """Return the health of a project, or of all: what is the case, how bad it is, and what to do.

    It reads indexes only and counts to limits, so it may be called every few seconds. If the database does not respond, that
    is the one finding. Raises `UnknownAlias` for an alias that the settings do not have.
    """
    app, now = app_settings(), datetime.now(UTC)
    projects = list(app.projects.values()) if project is None else [app.project(project)]
    modes = [ProjectMode(alias=each.alias, test=each.accept_test_payments) for each in projects]
    try:
        findings = list(_findings(projects, now))
    except (Error, Unavailable) as error:
        findings = [_database_away(error)]
    return Health(checked_at=now, projects=modes, findings=findings)


def _findings(projects: Sequence[Project], now: datetime) -> Iterator[Finding]:
    yield from incoming_findings(projects, now)
    for project in projects:
        yield from lane_findings(project)
        yield incident_finding(project)
    yield from step_findings(queue_state())
    yield _refused_elsewhere()


def _refused_elsewhere() -> Finding:
    """Return how many requests came to addresses of projects that the settings do not have."""
    count = refused_lately(NO_PROJECT)
    figures = {"last_hour": count}
    if count is None:
        return Finding(name="refused_unknown", text=not_counted(), figures=figures)
    if count < ANY_WITHOUT:
        text = _("Requests to the address of an unknown project in the last hour: %(n)s.") % {"n": count}
        if not count:
            text = _("No requests to the address of an unknown project.")
        return Finding(name="refused_unknown", text=text, figures=figures)
    text = _(
        "Requests to the address of an unknown project in the last hour: %(n)s. Compare the address on the webhooks page at "
        "the service with the aliases in PROJECTS."
    ) % {"n": shown_number(count)}
    return Finding(name="refused_unknown", severity=Severity.WARNING, text=text, figures=figures)


def _database_away(error: Exception) -> Finding:
    # Without the message of the error, which may name hosts and accounts.
    text = _("The database does not respond (%(error)s).") % {"error": type(error).__name__}
    return Finding(name="database", severity=Severity.FAILING, text=text)
