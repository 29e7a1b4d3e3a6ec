"""The finding about the service: whether it responds, as the passes of the list say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from checkout_integration.flows import operations
from checkout_integration.flows.operations import Finding
from tests.support.admin import rows
from tests.support.flows.notified import installed

pytestmark = pytest.mark.django_db
REFUSED = (
    "GET /merchant/s2s/api/v1/order answered 401 (fm000048); check the project identifier and its secret key"
)


def found() -> Finding:
    """The finding about the service."""
    (finding,) = [each for each in operations.health().findings if each.name == "service"]
    return finding


@pytest.fixture
def now() -> datetime:
    """The time, of an app whose list was read ten minutes ago."""
    moment = datetime.now(UTC)
    installed(moment - timedelta(days=9))
    rows.make_sync_run(started_at=moment - timedelta(minutes=10))
    return moment


@pytest.mark.parametrize(("minutes", "severity"), [(0, "warning"), (4, "warning"), (6, "failing")])
@pytest.mark.parametrize(("state", "failure"), [("unreachable", "no connection"), ("failed", REFUSED)])
def test_a_service_that_does_not_respond_or_refuses(
    now: datetime, minutes: int, severity: str, state: str, failure: str
) -> None:
    """It is seen with the first pass, and failing after five minutes: nobody can pay. The next complete pass ends it."""
    rows.make_sync_run(state=state, failure=failure, started_at=now - timedelta(minutes=minutes))
    rows.make_sync_run(state="running", started_at=now)
    assert found().severity == severity
    assert ("401 (fm000048)" in found().text, "SECRET_KEY" in found().action) == ((state == "failed",) * 2)
    rows.make_sync_run(started_at=now + timedelta(seconds=1))
    assert found().severity == "ok"


def test_it_counts_from_the_first_pass_that_failed(now: datetime) -> None:
    """Not from the last one."""
    for minutes in (6, 1):
        rows.make_sync_run(state="unreachable", started_at=now - timedelta(minutes=minutes))
    assert "for 6 min" in found().text


def test_a_row_that_cannot_be_read_is_a_warning(now: datetime) -> None:
    """However long: the others of the list are recorded."""
    rows.make_sync_run(state="failed", failure="MalformedResponse", started_at=now - timedelta(minutes=9))
    assert (found().severity, found().link.endswith("/syncrun/")) == ("warning", True)


def test_nothing_is_known_before_the_first_pass() -> None:
    """Not even that it does not respond."""
    installed(datetime.now(UTC))
    assert found().severity == "unknown"
