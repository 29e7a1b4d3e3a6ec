"""A response 429 slows down all workers that read a project's list."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from urllib3 import PoolManager

from checkout_integration import flows
from checkout_integration.client.deadline import Deadline
from checkout_integration.client.retry import JitteredRetry
from checkout_integration.conf import app_settings
from checkout_integration.flows.sync.service import LONGEST_PAUSE, SharedPace
from checkout_integration.models import SyncCursor
from tests.support.client.stub import http, running
from tests.support.flows.list_service import HOUR_AGO, ListService, listed

pytestmark = pytest.mark.django_db


def pace() -> SharedPace:
    """Return the pace as another worker has it."""
    return SharedPace(app_settings().project())


def paused_for() -> float:
    """Return the seconds that are left of the pause."""
    until = SyncCursor.objects.get().paused_until
    assert until is not None
    return (until - datetime.now(UTC)).total_seconds()


@pytest.fixture
def cursor() -> SyncCursor:
    """Store the cursor of a lane."""
    return SyncCursor.objects.create(project="default", lane="all")


@pytest.mark.slow
@pytest.mark.spec("HTT-13", "LIM-03")
@pytest.mark.parametrize(
    ("after", "least", "most"), [("2", 2, 2), ("3600", 60, 60), ("soon", 1, 10), ("", 1, 10)]
)
def test_a_429_pauses_every_worker(cursor: SyncCursor, after: str, least: float, most: float) -> None:
    """For the time of its Retry-After, at most for a minute; without one, as long as that worker, a second at least."""
    before = datetime.now(UTC)
    refusal = http(429, Retry_After=after) if after else http(429)
    with running(refusal) as stub, Deadline(1) as deadline, PoolManager() as pool:
        retry = JitteredRetry.within(deadline, repeatable=True, slow_down=pace().slow_down)
        assert pool.request("GET", stub.url, retries=retry).status == 429
    left = paused_for()
    passed = (datetime.now(UTC) - before).total_seconds()
    assert least - passed <= left <= most


@pytest.mark.slow
def test_a_page_is_read_after_the_pause(settings: Any, cursor: SyncCursor) -> None:
    """Though the pause is longer than the call may take: the pass is complete."""
    responses = [http(429, Retry_After="2")] + [http(200, b'{"count": 0, "items": null}')] * 2
    with running(*responses) as stub:
        urls = dict.fromkeys(("BASE_URL", "CHECKOUT_URL", "LIST_URL"), stub.url)
        changes = {**urls, "ALLOW_HTTP_LOOPBACK": True, "TIMEOUT": 1}
        settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **changes}
        run = flows.sync.sync_transactions(date_from=HOUR_AGO)
    assert (run.state, len(stub.received)) == ("complete", 2)


def test_a_worker_waits_for_the_pause_of_another(service: ListService, cursor: SyncCursor) -> None:
    """It sends nothing before."""
    service.rows = [listed("first")]
    until = datetime.now(UTC) + timedelta(seconds=0.5)
    SyncCursor.objects.update(paused_until=until)
    sent = list[datetime]()
    service.before_page = lambda query: sent.append(datetime.now(UTC))
    assert flows.sync.sync_transactions(lane="all").state == "complete"
    assert sent and min(sent) >= until


def test_a_shorter_pause_does_not_end_a_longer_one(cursor: SyncCursor) -> None:
    """Two workers were refused at the same time."""
    pace().slow_down(30)
    pace().slow_down(1)
    assert paused_for() > 20
    pace().slow_down(10**6)
    assert 30 < paused_for() <= LONGEST_PAUSE


def test_a_pause_is_one_projects(cursor: SyncCursor) -> None:
    """Each has a limit of its own."""
    SyncCursor.objects.create(
        project="other", lane="all", paused_until=datetime.now(UTC) + timedelta(hours=1)
    )
    pace().wait()
    assert SyncCursor.objects.get(project="default").paused_until is None
