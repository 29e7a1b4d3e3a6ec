"""The health as JSON: who may read it, its status, and its content."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime, timedelta
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.utils.log import AdminEmailHandler

from checkout_integration.flows.sync import LANES
from checkout_integration.models import ReceiverRun
from checkout_integration.views.health import health
from tests.support.admin import rows
from tests.support.documents import block
from tests.support.flows.notified import came, installed

pytestmark = pytest.mark.django_db
ADDRESS = "/checkout/health/"
TOKEN = "canary-token-of-monitors"  # of this test
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(autouse=True)
def _token(settings: Any) -> None:
    """Let monitors in."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "HEALTH_TOKEN": TOKEN}


def configure(settings: Any, token: Any) -> None:
    """Set another token."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "HEALTH_TOKEN": token}


def fail() -> ReceiverRun:
    """Give a receiver up."""
    return rows.make_run(rows.make_order(), state="failed", due_at=datetime.now(UTC))


def test_a_monitor_reads_that_all_is_well(client: Client) -> None:
    """200, and nobody stores the response; before anything was seen, it is not known."""
    answer = client.get(ADDRESS, headers=BEARER)
    assert (answer.status_code, answer.json()["severity"]) == (200, "unknown")
    now = datetime.now(UTC)
    installed(now - timedelta(minutes=5))
    came(now)
    for lane in LANES:
        rows.make_sync_run(lane=lane, started_at=now)
    answer = client.get(ADDRESS, headers=BEARER)
    assert (answer.status_code, answer.json()["severity"]) == (200, "ok")
    assert answer.json()["projects"] == [{"alias": "default", "test": True}]
    assert "no-store" in answer.headers["Cache-Control"]


def test_a_warning_is_200_and_a_failure_is_503(client: Client) -> None:
    """A monitor that sees the status only is called for what is failing."""
    rows.make_incident(None)
    answer = client.get(ADDRESS, headers=BEARER)
    assert (answer.status_code, answer.json()["severity"]) == (200, "warning")
    fail()
    answer = client.get(ADDRESS, headers=BEARER)
    assert (answer.status_code, answer.json()["severity"]) == (503, "failing")
    (finding,) = [each for each in answer.json()["findings"] if each["severity"] == "failing"]
    assert (finding["name"], finding["project"], finding["figures"]["failed"]) == (
        "receivers_given_up",
        "",
        1,
    )


def test_a_monitor_that_asks_often_mails_nobody(
    client: Client, settings: Any, mailoutbox: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Django would mail ADMINS at each answer of 503; `ALERTS` says it once an hour."""
    settings.ADMINS = ["ops@example.com"]
    monkeypatch.setattr(logging.getLogger("django.request"), "handlers", [AdminEmailHandler()])
    fail()
    assert client.get(ADDRESS, headers=BEARER).status_code == 503
    assert mailoutbox == []


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN}x",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer ünïcode",
    ],
)
def test_a_wrong_token_is_refused(client: Client, header: str) -> None:
    """With 401, and without any figure."""
    answer = client.get(ADDRESS, headers={"Authorization": header})
    assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHORIZED")
    assert set(answer.json()) == {"code", "message", "details"}


def test_without_the_setting_no_token_is_right(client: Client, settings: Any) -> None:
    """The empty one least of all."""
    configure(settings, "")
    assert client.get(ADDRESS, headers={"Authorization": "Bearer "}).status_code == 401
    assert client.get(ADDRESS, headers=BEARER).status_code == 401


def test_a_token_may_be_a_callable(client: Client, settings: Any) -> None:
    """It is called at each use."""
    tokens = iter(["another-token-of-monitors", TOKEN])
    configure(settings, lambda: next(tokens))
    assert [client.get(ADDRESS, headers=BEARER).status_code for _ in range(2)] == [401, 200]


@pytest.mark.parametrize(("returned", "sent"), [("", ""), ("short", "short"), (None, "None"), (None, "")])
def test_a_callable_that_returns_no_token_lets_nobody_in(
    client: Client, settings: Any, returned: Any, sent: str
) -> None:
    """An environment without the variable does not open the door."""
    configure(settings, lambda: returned)
    assert client.get(ADDRESS, headers={"Authorization": f"Bearer {sent}"}).status_code == 401


def test_a_vault_that_is_away_refuses_and_is_logged(
    client: Client, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Without the message of its error."""

    def away() -> str:
        raise ConnectionError("canary-of-a-vault")

    configure(settings, away)
    with caplog.at_level(logging.ERROR, "checkout_integration.health"):
        assert client.get(ADDRESS, headers=BEARER).status_code == 401
    assert "HEALTH_TOKEN" in caplog.text and "canary" not in caplog.text


@pytest.mark.parametrize(
    ("codenames", "status"), [((), 403), (("view_order",), 403), (("view_health",), 200)]
)
def test_staff_need_the_permission(client: Client, codenames: tuple[str, ...], status: int) -> None:
    """And no token."""
    client.force_login(rows.make_staff(*codenames))
    assert client.get(ADDRESS).status_code == status


def test_a_customer_is_no_staff(client: Client) -> None:
    """Even with the permission."""
    user = rows.make_staff("view_health", name="buyer")
    User.objects.filter(pk=user.pk).update(is_staff=False)
    client.force_login(user)
    assert client.get(ADDRESS).status_code == 403


def test_one_project_is_read_by_its_alias(client: Client) -> None:
    """Another one is not there; without a token nobody learns which there are."""
    answer = client.get(f"{ADDRESS}default/", headers=BEARER)
    assert {each["project"] for each in answer.json()["findings"]} == {"default", ""}
    assert client.get(f"{ADDRESS}elsewhere/", headers=BEARER).status_code == 404
    assert client.get(f"{ADDRESS}elsewhere/").status_code == 401


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_it_is_only_read(client: Client, method: str) -> None:
    """Nothing else is allowed."""
    assert getattr(client, method)(ADDRESS, headers=BEARER).status_code == 405


def test_a_database_that_is_away_is_503(client: Client, database_away: None) -> None:
    """The monitor gets a sentence, and no error page."""
    answer = client.get(ADDRESS, headers=BEARER)
    assert (answer.status_code, [each["name"] for each in answer.json()["findings"]]) == (503, ["database"])


def test_there_is_no_personal_data_in_it(client: Client) -> None:
    """However much of it the rows have."""
    installed(datetime.now(UTC) - timedelta(days=1))
    order = rows.make_order(user=rows.make_customer(), verdict="review")
    rows.make_history(order)
    rows.make_waiting_notification()
    rows.make_sync_run(state="failed", failure=" ".join(rows.PERSONAL_TEXTS))
    fail()
    text = json.dumps(client.get(ADDRESS, headers=BEARER).json(), ensure_ascii=False)
    assert [each for each in (*rows.PERSONAL_TEXTS, order.order_id, "player-1") if each in text] == []


@pytest.mark.django_db(transaction=True)
def test_the_monitor_of_the_page_reads_it(live_server: Any) -> None:
    """Its code gives the names of what is failing."""
    page = ModuleType("shop.monitor")
    exec(block("docs/health.md", "# shop/monitor.py"), vars(page))
    assert page.failing(f"{live_server.url}{ADDRESS}", TOKEN) == []
    fail()
    assert page.failing(f"{live_server.url}{ADDRESS}", TOKEN) == ["receivers_given_up"]


def test_an_account_without_permissions_of_django_is_refused(rf: RequestFactory) -> None:
    """A shop's own model of accounts need not have them."""
    request = rf.get(ADDRESS)
    request.user = SimpleNamespace(is_authenticated=True)  # type: ignore[assignment]
    assert health(request).status_code == 403
