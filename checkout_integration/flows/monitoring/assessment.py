"""The health of the app: what was found about each project and about the work of all, at one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

from django.db import Error
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.conf import app_settings
from checkout_integration.flows.database import Unavailable, is_read_only
from checkout_integration.flows.monitoring.agreements import renewal_findings
from checkout_integration.flows.monitoring.backlog import clock_findings, step_findings
from checkout_integration.flows.monitoring.fetching import fetching_findings
from checkout_integration.flows.monitoring.finding import Finding, Kind
from checkout_integration.flows.monitoring.not_applied import (
    attempt_finding,
    not_applied_finding,
    removed_finding,
)
from checkout_integration.flows.monitoring.reading import reading_findings
from checkout_integration.flows.monitoring.receivers import goods_findings, receiver_findings
from checkout_integration.flows.monitoring.validation import validation_finding
from checkout_integration.flows.monitoring.webhook import refused_elsewhere, webhook_findings
from checkout_integration.policy.severity import Severity


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
    aliases = [each.alias for each in projects]
    try:
        findings = [finding for look in LOOKS for finding in look(aliases, now)]
    except (Error, Unavailable) as error:
        findings = [_database_away(error)]
    return Health(checked_at=now, projects=modes, findings=findings)


DATABASE: Final = Kind(name="database", title=gettext_lazy("Database"))


def _database_away(error: Exception) -> Finding:
    # Without the message of the error, which may name hosts and accounts.
    text = _("The database does not respond (%(error)s).") % {"error": type(error).__name__}
    action = _("Start it, or correct DATABASES; nothing is stored or granted until then.")
    return DATABASE.found(text, Severity.FAILING, action)


def _database_findings(projects: Sequence[str], now: datetime) -> Iterator[Finding]:
    """Yield whether the database can be written: one that only responds acknowledges no notification."""
    if not is_read_only():
        yield DATABASE.found(_("The database responds, and can be written."))
        return
    text = _(
        "The database responds, but it cannot be written: notifications are answered 503, and nothing is granted."
    )
    action = _(
        "Make it writable, or point DATABASES at the primary one. The service sends the notifications again."
    )
    yield DATABASE.found(text, Severity.FAILING, action)


Look: TypeAlias = Callable[[Sequence[str], datetime], Iterable[Finding]]


def _at_each(look: Callable[[str, datetime], Finding]) -> Look:
    """Return the look that looks at one project after the other."""
    return lambda projects, now: (look(project, now) for project in projects)


LOOKS: Final[Sequence[Look]] = (
    _database_findings,
    webhook_findings,
    _at_each(not_applied_finding),
    _at_each(validation_finding),
    reading_findings,
    receiver_findings,
    goods_findings,
    renewal_findings,
    fetching_findings,
    _at_each(attempt_finding),
    step_findings,
    clock_findings,
    removed_finding,
    refused_elsewhere,
)
"""What health looks at: each gets the aliases of the projects and the time, reads by index only, and yields findings.

A new kind of finding is a function here, with the file of its own that has it. It also yields a finding when all is well.
"""
