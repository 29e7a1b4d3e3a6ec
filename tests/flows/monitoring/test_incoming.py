"""Silence against the usual rhythm, refused requests, and notifications that are not applied."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.core.cache.backends.locmem import LocMemCache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from checkout_integration.flows import operations
from checkout_integration.flows.operations import Finding
from checkout_integration.models import Notification
from checkout_integration.testing.delivery import Deliver
from tests.support.flows.notified import came, came_each_week, installed

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


def refuse(client: Client, times: int = 1, project: str = "") -> None:
    """Send requests with a wrong signature."""
    address = f"/checkout/webhook/{project}/" if project else "/checkout/webhook/"
    for _ in range(times):
        answer = client.post(
            address, b"{}", content_type="application/json", headers={"Authorization": "Signature x"}
        )
        assert 400 <= answer.status_code < 500


def test_silence_in_hours_that_were_busy_each_week_is_a_warning(now: datetime) -> None:
    """It says how long, and how many came in the same stretch of the weeks before."""
    last = now - HOUR
    came(last)
    came_each_week(last, 30, 25, 40, 30)
    finding = found("notifications")
    assert (finding.severity, finding.figures["usual_count"]) == ("warning", 25)
    assert "No notification for 60 min" in finding.text and "25 came" in finding.text


@pytest.mark.parametrize("counts", [(30, 30, 30, 19), (30, 0, 30, 30), (0, 0, 0, 0)])
def test_silence_in_hours_that_were_quiet_in_one_week_is_none(now: datetime, counts: tuple[int, ...]) -> None:
    """Few payments, a night or a holiday: nobody is woken."""
    last = now - HOUR
    came(last)
    came_each_week(last, *counts)
    assert found("notifications").severity == "ok"


def test_the_next_notification_ends_the_silence(now: datetime) -> None:
    """Without anybody doing anything."""
    came_each_week(now - HOUR, 30, 30, 30, 30)
    came(now - HOUR)
    assert found("notifications").severity == "warning"
    came(now)
    assert found("notifications").severity == "ok"


def test_half_an_hour_is_no_silence(now: datetime) -> None:
    """However busy the shop usually is."""
    last = now - timedelta(minutes=29)
    came(last)
    came_each_week(last, 100, 100, 100, 100)
    assert found("notifications").severity == "ok"


@pytest.mark.parametrize(("days", "severity"), [(6, "ok"), (8, "warning")])
def test_weeks_before_the_installation_are_not_compared(days: int, severity: str) -> None:
    """In the first week there is nothing to compare with; after that the weeks that are there."""
    moment = datetime.now(UTC)
    last = moment - HOUR
    installed(last - timedelta(days=days))
    came(last)
    came_each_week(last, 30)
    assert found("notifications").severity == severity


def test_nothing_but_an_installation_is_well(now: datetime) -> None:
    """A new shop has no payments."""
    assert (found("notifications").severity, found("notifications").figures["last_at"]) == ("ok", None)


def test_each_project_has_a_rhythm_of_its_own(now: datetime, settings: Any) -> None:
    """A busy project does not speak for a silent one, nor the other way round."""
    eu = {"PROJECT_ID": "eu", "SECRET_KEY": "sandbox_secret_of_eu"}
    projects = {**settings.CHECKOUT_INTEGRATION["PROJECTS"], "eu": eu}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    installed(now - LONG_AGO, "eu")
    last = now - HOUR
    came(last, project="eu")
    came_each_week(last, 30, 30, 30, 30, project="eu")
    came(now - timedelta(minutes=2), 60)  # more than the newest rows that are read first
    assert found("notifications").severity == "ok"
    silent = found("notifications", "eu")
    assert (silent.severity, silent.figures["last_at"]) == ("warning", last.isoformat())
    Notification.objects.filter(project="default").delete()
    came(last)
    assert found("notifications").severity == "ok"


def test_refused_requests_are_counted_without_a_statement(now: datetime, client: Client) -> None:
    """A stranger does not make the database work."""
    came(now)
    with CaptureQueriesContext(connection) as seen:
        refuse(client, 2)
    assert len(seen) == 0
    finding = found("refused")
    assert (finding.severity, finding.figures) == ("ok", {"last_hour": 2})


def test_accepted_requests_are_not_counted(now: datetime, checkout_deliver: Deliver) -> None:
    """Neither are customers who may not pay."""
    assert checkout_deliver().status_code == 200
    assert checkout_deliver(event="user.validate").status_code == 403
    assert found("refused").figures == {"last_hour": 0}


def test_refusals_without_an_accepted_request_are_a_warning(now: datetime, client: Client) -> None:
    """Perhaps the secret is wrong; one that is accepted shows that it is right."""
    refuse(client, 3)
    assert (found("refused").severity, "SECRET_KEY" in found("refused").text) == ("warning", True)
    came(now)
    assert found("refused").severity == "ok"


def test_a_hundred_refusals_are_a_warning_all_the_same(now: datetime, client: Client) -> None:
    """Somebody else may be sending them."""
    came(now)
    refuse(client, 100)
    assert found("refused").severity == "warning"


def test_a_secret_that_was_rotated_out_is_failing(now: datetime, client: Client) -> None:
    """The project is silent in busy hours, and everything that comes is refused; it clears when one is accepted."""
    last = now - 2 * HOUR
    came(last)
    came_each_week(last, 30, 30, 30, 30)
    refuse(client, 3)
    assert found("refused").severity == operations.health().severity == "failing"
    came(now)
    assert found("refused").severity == found("notifications").severity == "ok"


def test_addresses_of_unknown_projects_share_a_counter(now: datetime, client: Client) -> None:
    """A stranger chooses no keys of the cache."""
    for project in ("a", "b", "c"):
        refuse(client, project=project)
    (finding,) = [each for each in operations.health().of("") if each.name == "refused_unknown"]
    assert (finding.severity, finding.figures) == ("warning", {"last_hour": 3})
    assert len(cache._cache) == 1  # type: ignore[attr-defined]


class Broken(LocMemCache):
    """A cache whose server is away."""

    def add(self, *arguments: Any, **options: Any) -> bool:
        """Fail."""
        raise ConnectionError

    get_many = add  # type: ignore[assignment]


def test_a_cache_that_is_away_changes_no_response(now: datetime, client: Client, settings: Any) -> None:
    """The refusal is the same, and the health says that nobody counts."""
    settings.CACHES = {"default": {"BACKEND": f"{__name__}.Broken"}}
    refuse(client, 2)
    assert (found("refused").severity, found("refused").figures) == ("ok", {"last_hour": None})


def test_a_cache_that_keeps_nothing_counts_nothing(now: datetime, settings: Any) -> None:
    """The page does not claim that nobody was refused."""
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}
    findings = [each for each in operations.health().findings if each.name.startswith("refused")]
    assert [each.figures for each in findings] == [{"last_hour": None}] * 2
    assert all(each.text.startswith("Refused requests are not counted") for each in findings)


def test_a_cache_in_the_database_is_not_used(now: datetime, client: Client, settings: Any) -> None:
    """It would make a statement of each forgery."""
    backend = "django.core.cache.backends.db.DatabaseCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": "no_such_table"}}
    with CaptureQueriesContext(connection) as seen:
        refuse(client)
    assert len(seen) == 0
    assert found("refused").figures == {"last_hour": None}


@pytest.mark.parametrize(
    ("state", "minutes", "severity"),
    [
        ("failed", 5, "warning"),
        ("failed", 90, "failing"),
        ("quarantined", 90, "warning"),
        ("applied", 90, "ok"),
    ],
)
def test_notifications_that_are_not_applied(now: datetime, state: str, minutes: int, severity: str) -> None:
    """A failed one is retried for an hour before somebody is called; one in quarantine waits for staff."""
    came(now - timedelta(minutes=minutes), state=state)
    came(now)
    finding = found("not_applied")
    assert finding.severity == severity
    assert {"failed", "quarantined"} & {name for name, count in finding.figures.items() if count} == {
        state
    } - {"applied"}


@pytest.mark.slow
def test_the_silence_of_a_small_project_beside_a_busy_one(now: datetime, settings: Any) -> None:
    """However many notifications of the other came since, and in the same stretches of the weeks before."""
    eu = {"PROJECT_ID": "eu", "SECRET_KEY": "sandbox_secret_of_eu"}
    projects = {**settings.CHECKOUT_INTEGRATION["PROJECTS"], "eu": eu}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    installed(now - LONG_AGO, "eu")
    last = now - HOUR
    came(last, project="eu")
    came(last + timedelta(minutes=1), 5_001)
    for weeks in range(1, 5):
        came(last - timedelta(weeks=weeks) + timedelta(seconds=1), 2_001)
    came_each_week(last + timedelta(minutes=30), 25, 25, 25, 25, project="eu")
    finding = found("notifications", "eu")
    assert (finding.severity, finding.figures["usual_count"]) == ("warning", 25)
    assert finding.figures["last_at"] == last.isoformat()


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
