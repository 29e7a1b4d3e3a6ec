"""The time since which this app watches a project."""

from __future__ import annotations

from datetime import UTC, datetime

from checkout_integration.conf import Project
from checkout_integration.flows.database.transactions import with_retries
from checkout_integration.models import Installation

known_projects: set[str] = set()
"""Projects whose row this process has seen. It only saves statements: the row decides."""


def installed_at(project: Project) -> datetime:
    """Return the instant of the project's first write or sync, which the first call stores."""
    rows = Installation.primary.all()
    row, _ = rows.get_or_create(project=project.alias, defaults={"installed_at": datetime.now(UTC)})
    return row.installed_at


def ensure_installed(project: Project) -> None:
    """Store the instant if it is not stored yet; one statement per process. Call it outside of transactions."""
    if project.alias not in known_projects:
        with_retries(lambda: installed_at(project))
        known_projects.add(project.alias)
