"""Refused requests: counted in the database, after the response, once a minute."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from checkout_integration.flows import operations
from checkout_integration.flows.monitoring import webhook as refusals
from checkout_integration.flows.operations import Finding
from checkout_integration.models import RefusedRequests
from checkout_integration.testing.delivery import Deliver
from checkout_integration.views.webhook import webhook
from tests.support.flows.notified import came, came_each_week, installed

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
LONG_AGO = timedelta(days=100)
ADDRESS = "/checkout/webhook/"


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
    for _ in range(times):
        answer = client.post(
            f"{ADDRESS}{project}/" if project else ADDRESS,
            b"{}",
            content_type="application/json",
            headers={"Authorization": "Signature x"},
        )
        assert 400 <= answer.status_code < 500


@pytest.fixture
def minute(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let a minute pass since this process wrote its counts."""
    return lambda: monkeypatch.setattr(refusals.ThisProcess, "written_at", -refusals.WRITE_EVERY)


def test_no_statement_comes_before_the_response_of_a_refusal(
    rf: RequestFactory, minute: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes are there first; then the first refusal is written, by one statement."""
    minute()
    monkeypatch.setattr(HttpResponse, "close", lambda response: None)  # the request of a test has no end
    request = rf.post(ADDRESS, b"{}", "application/json", headers={"Authorization": "Signature x"})
    with CaptureQueriesContext(connection) as before:
        response = webhook(request)
        assert response.status_code == 401 and b"INVALID_SIGNATURE" in response.content
    with CaptureQueriesContext(connection) as after:
        response.close()
    assert (len(before), len(after)) == (0, 1)
    stored = RefusedRequests.objects.values_list("project", "code", "count")
    assert list(stored) == [("default", "INVALID_SIGNATURE", 1)]


def test_a_process_writes_once_a_minute(client: Client, now: datetime, minute: Callable[[], None]) -> None:
    """However many requests a stranger sends; what was counted meanwhile comes with the next statement."""
    minute()
    with CaptureQueriesContext(connection) as seen:
        refuse(client, 50)
    assert len(seen) == 1
    assert found("refused").figures == {"last_hour": 1}
    minute()
    refuse(client)
    assert found("refused").figures == {"last_hour": 51}
    assert RefusedRequests.objects.count() == 1


def test_a_database_that_is_away_loses_no_count(
    client: Client, minute: Callable[[], None], settings: Any, database_away: None
) -> None:
    """The response is the same, and the counts are written once it is back."""
    minute()
    refuse(client, 2)
    settings.DATABASE_ROUTERS = []
    minute()
    refuse(client)
    assert found("refused").figures == {"last_hour": 3}


def test_the_figure_is_the_same_in_every_process(
    client: Client, now: datetime, minute: Callable[[], None]
) -> None:
    """What only this process knows is shown nowhere, not here either."""
    refuse(client, 100)
    assert found("refused").figures == {"last_hour": 0}


def test_what_was_refused_long_ago_does_not_count(
    client: Client, now: datetime, minute: Callable[[], None]
) -> None:
    """An hour after the last one it is over, and two days later there is a row of another hour."""
    minute()
    refuse(client)
    RefusedRequests.objects.update(last_at=now - 1.1 * HOUR)
    assert found("refused").figures == {"last_hour": 0}
    RefusedRequests.objects.update(hour=now - 48 * HOUR, key="another")
    minute()
    refuse(client)
    assert (found("refused").figures, RefusedRequests.objects.count()) == ({"last_hour": 1}, 2)


def test_accepted_requests_are_not_counted(now: datetime, checkout_deliver: Deliver) -> None:
    """Neither are customers who may not pay."""
    assert checkout_deliver().status_code == 200
    assert checkout_deliver(event="user.validate").status_code == 403
    assert found("refused").figures == {"last_hour": 0}


def test_refusals_without_an_accepted_request_are_a_warning(
    now: datetime, client: Client, minute: Callable[[], None]
) -> None:
    """Perhaps the secret is wrong; one that is accepted shows that it is right."""
    refuse(client, 2)
    minute()
    refuse(client)
    assert (found("refused").severity, "SECRET_KEY" in found("refused").action) == ("warning", True)
    came(now)
    assert found("refused").severity == "ok"


def test_a_hundred_refusals_are_a_warning_all_the_same(
    now: datetime, client: Client, minute: Callable[[], None]
) -> None:
    """Somebody else may be sending them."""
    came(now)
    refuse(client, 99)
    minute()
    refuse(client)
    assert found("refused").severity == "warning"


def test_a_secret_that_was_rotated_out_is_failing(
    now: datetime, client: Client, minute: Callable[[], None]
) -> None:
    """The project is silent in busy hours, and everything that comes is refused; it clears when one is accepted."""
    last = now - 2 * HOUR
    came(last)
    came_each_week(last, 30, 30, 30, 30)
    refuse(client, 2)
    minute()
    refuse(client)
    assert found("refused").severity == operations.health().severity == "failing"
    came(now)
    assert found("refused").severity == found("notifications").severity == "ok"


def test_addresses_of_unknown_projects_share_a_counter(
    now: datetime, client: Client, minute: Callable[[], None]
) -> None:
    """A stranger chooses no rows."""
    for project in ("a", "b", "c"):
        refuse(client, project=project)
    minute()
    refuse(client, project="d")
    (finding,) = [each for each in operations.health().of("") if each.name == "refused_unknown"]
    assert (finding.severity, finding.figures) == ("warning", {"last_hour": 4})
    assert RefusedRequests.objects.count() == 1
