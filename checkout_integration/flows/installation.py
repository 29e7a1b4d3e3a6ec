"""When this app began to watch a project."""

from __future__ import annotations

from datetime import UTC, datetime

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import state_database
from checkout_integration.flows.database.retry import with_retries
from checkout_integration.models import Installation

_known: set[str] = set()
"""Projects whose row this process has seen: an optimisation only, the row is the truth."""


def installed_at(project: Project) -> datetime:
    """The instant of the project's first write or sync, stored when it is asked for the first time."""
    rows = Installation.objects.using(state_database())
    row, _ = rows.get_or_create(project=project.alias, defaults={"installed_at": datetime.now(UTC)})
    return row.installed_at


def ensure_installed(project: Project) -> None:
    """Stores the instant if it is not stored yet; one statement per process. Call it outside of transactions."""
    if project.alias not in _known:
        with_retries(lambda: installed_at(project))
        _known.add(project.alias)
