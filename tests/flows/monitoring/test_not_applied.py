"""Findings about notifications that could not be applied, and about aliases that the settings lack."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.checks import CheckMessage

from checkout_integration.checks import check_removed_projects
from checkout_integration.flows import operations
from checkout_integration.flows.operations import Finding
from checkout_integration.models import Incident, Notification
from tests.support.flows.notified import came, installed

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
LONG_AGO = timedelta(days=100)


@pytest.fixture
def now() -> datetime:
    """The time, of an app that was installed long ago."""
    moment = datetime.now(UTC)
    installed(moment - LONG_AGO)
    return moment


def found(name: str, project: str = "default") -> Finding:
    """The finding of this name."""
    (finding,) = [each for each in operations.health(project).of(project) if each.name == name]
    return finding


@pytest.mark.parametrize(
    ("state", "minutes", "severity"),
    [
        ("failed", 4, "warning"),
        ("failed", 6, "failing"),
        ("quarantined", 90, "warning"),
        ("applied", 90, "ok"),
    ],
)
def test_notifications_that_are_not_applied(now: datetime, state: str, minutes: int, severity: str) -> None:
    """One is retried for five minutes before somebody is called; one in quarantine waits for staff."""
    came(now - timedelta(minutes=minutes), state=state)
    came(now)
    finding = found("not_applied")
    assert finding.severity == severity
    assert {"failed", "quarantined"} & {name for name, count in finding.figures.items() if count} == {
        state
    } - {"applied"}


def test_two_that_failed_are_failing_at_once(now: datetime) -> None:
    """They are hardly of one customer; the finding says since when, why, and where they are."""
    came(now - timedelta(minutes=2), 2, state="failed", failure="KeyError in resolve (shop/hooks.py:12)")
    finding = found("not_applied")
    assert finding.severity == "failing"
    assert "2, the oldest for 2 min (KeyError in resolve (shop/hooks.py:12))" in finding.text
    assert finding.link.endswith("/notification/?state=failed")


def test_what_waits_of_a_removed_alias_is_seen(now: datetime) -> None:
    """By health, by the queues of staff, and by the check of the deployment; until none waits."""
    installed(now - LONG_AGO, "eu")
    (removed,) = [each for each in operations.health().findings if each.name == "removed_projects"]
    assert (removed.severity, checks()) == ("ok", [])
    came(now, project="eu", state="failed")
    Incident.objects.create(key="k", kind="not_applied", project="eu")
    (removed,) = [each for each in operations.health().findings if each.name == "removed_projects"]
    assert removed.severity == operations.health("default").severity == "failing"
    assert "eu (2)" in removed.text and "Put the alias back" in removed.action
    queues = {queue.name: queue.count for queue in operations.staff_queues() if queue.count}
    assert queues == {"failed": 1, "incidents": 1}
    (warning,) = checks()
    assert warning.id == "checkout_integration.W016" and "'eu'" in warning.msg
    Notification.objects.update(state="applied")
    (removed,) = [each for each in operations.health().findings if each.name == "removed_projects"]
    assert removed.severity == "warning"
    Incident.objects.update(resolved_at=now)
    assert checks() == []


def checks() -> list[CheckMessage]:
    """Return what the check with ``--database`` says."""
    return check_removed_projects(None, databases=["default"])


@pytest.mark.slow
def test_failed_notifications_of_a_busy_project_do_not_hide_another(now: datetime, settings: Any) -> None:
    """Each project has a limit of its own."""
    eu = {"PROJECT_ID": "eu", "SECRET_KEY": "sandbox_secret_of_eu"}
    projects = {**settings.CHECKOUT_INTEGRATION["PROJECTS"], "eu": eu}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    came(now - 3 * HOUR, 5_001, state="failed")
    came(now, 2, project="eu", state="failed")
    assert found("not_applied", "eu").figures["failed"] == 2
    assert found("not_applied").figures["failed"] == 5_000
