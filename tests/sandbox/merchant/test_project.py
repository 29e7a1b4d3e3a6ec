"""Settings of a project: by the control API and by a file; and their effects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import requests
from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox import VirtualClock
from checkout_integration.sandbox.wire.http import finish
from tests.sandbox.server.test_command_line import run
from tests.support.sandbox.receiver import Receiver
from tests.support.sandbox.service import PROJECT, SECRET, SIMPLE, Service, running


def change_by_api(service: Service, **settings: Any) -> requests.Response:
    """Change settings by the control API."""
    return requests.patch(f"{service.url}/_sandbox/project/{PROJECT}", json=settings, timeout=10)


@pytest.mark.spec("AUT-04", "WHK-04", "ORD-42")
def test_an_order_keeps_what_it_was_created_with(service: Service) -> None:
    """After a rotation of the secret and a move, an old order is notified with the old secret at the old address."""
    old = service.paid()
    with Receiver() as other:
        answer = change_by_api(service, secret_key="sandbox_new", webhook_url=other.url, live=True)
        assert (answer.status_code, "sandbox_new" in answer.text) == (200, False)
        service.act(old, "chargeback")
        service.paid()
        assert service.receiver.events == ["payment.success", "payment.chargeback"]
        assert service.receiver.received[1].is_signed_with(SECRET)
        (fresh,) = other.received
        assert fresh.is_signed_with("sandbox_new")
        assert fresh.document["live"] is True
        assert service.listed().status_code == 401
        assert service.listed(secret="sandbox_new").status_code == 200


@pytest.mark.spec("ORD-42", "WHK-04")
@pytest.mark.parametrize("profile", ["field", "spec"])
@pytest.mark.parametrize("live", [True, False])
def test_production_is_a_matter_of_the_project(profile: str, live: bool) -> None:
    """Of no payment's end: an open order says it as a paid, declined, canceled or refunded one does."""
    with running(profile=profile, live=live) as service:
        sold = [service.order_id() for _ in range(5)]
        for order_id, action in zip(sold, ("pay", "decline", "cancel", "pay"), strict=False):
            service.act(order_id, action)
        service.act(sold[3], "refund")
        items = service.listed().json()["items"]
        notified = [each.document for each in service.receiver.received]
    assert {item["status"] for item in items} == {"created", "processed", "rejected", "canceled", "refunded"}
    assert {item["is_production"] for item in items} == {live}
    assert {(each["live"], each["object"]["is_production"]) for each in notified} == {(live, live)}


def test_only_what_is_named_changes(service: Service) -> None:
    """The other settings stay, the secret among them."""
    change_by_api(service, mode="pre_approval", dynamic_urls=False, retry_interval=5.5)
    project = service.sandbox.projects.get(PROJECT)
    assert (project.mode, project.dynamic_urls, project.retry_interval) == ("pre_approval", False, 5.5)
    assert (project.secret_key, project.webhook_url) == (SECRET, service.receiver.url)
    assert service.create(url_success="https://shop.example/").status_code == 400


def test_every_project_is_returned(service: Service) -> None:
    """With its settings and without its secret, beside the name of the profile."""
    document = requests.get(f"{service.url}/_sandbox/projects", timeout=10).json()
    settings = requests.get(f"{service.url}/_sandbox/project/{PROJECT}", timeout=10).json()
    assert document == {"profile": service.sandbox.profile.name, "projects": [settings]}
    assert "secret_key" not in settings


@pytest.mark.parametrize(
    "settings",
    [
        {"retry_schedule": "soon"},
        {"invalid_status": 500},
        {"charge_currency": "gold"},
        {"webhook_url": "http://shop.example/"},
        {"secret_key": "real-secret"},
        {"mode": "often"},
        {"retry_limit": "many"},
        {"retry_limit": -1},
        {"retry_limit": 1.5},
        {"invalid_status": 400.5},
    ],
)
def test_a_refused_setting_changes_nothing(service: Service, settings: dict[str, Any]) -> None:
    """The error says why, and never repeats a secret."""
    before = service.sandbox.projects.get(PROJECT)
    answer = change_by_api(service, **settings)
    assert (answer.status_code, answer.json()["message"]) == (400, "the project refuses this")
    assert "real-secret" not in answer.text
    assert service.sandbox.projects.get(PROJECT) == before


@pytest.mark.spec("EVT-12", "EVT-10", "WHK-07")
def test_retries_follow_the_schedule(field: Service) -> None:
    """Each attempt waits as long as the schedule says, and after the last nothing comes."""
    assert change_by_api(field, retry_schedule=[10, 60]).json()["retry_schedule"] == [10, 60]
    field.receiver.answers = [500] * 9
    field.paid()
    for seconds in (9, 1, 59, 1, 9999):
        field.advance(seconds)
    attempts = [each.document for each in field.receiver.received]
    assert [each["delivery_try"] for each in attempts] == [0, 1, 2]
    assert [each["created_at"][14:19] for each in attempts] == ["00:00", "00:10", "01:10"]


@pytest.mark.spec("EVT-10", "WHK-06")
@pytest.mark.parametrize(("announced", "expected"), [(True, "2026-03-04T12:20:00Z"), (False, "")])
def test_the_end_of_attempts_is_announced(service: Service, announced: bool, expected: str) -> None:
    """expires_at is the time of the last attempt, the same in each; or empty, as the project is set."""
    change_by_api(service, tells_expiry=announced, retry_limit=2)
    service.receiver.answers = [500, 500]
    service.paid()
    service.advance(600)
    service.advance(600)
    assert [each.document["expires_at"] for each in service.receiver.received] == [expected] * 3


@pytest.mark.parametrize(
    "settings",
    [
        {"retry_schedule": 5},
        {"retry_schedule": [-1]},
        {"retry_schedule": ["soon"]},
        {"retry_schedule": [True]},
        {"retry_schedule": [1e30]},
        {"invalid_status": 500},
        {"suspended": 1},
    ],
)
def test_settings_have_their_kinds(service: Service, settings: dict[str, Any]) -> None:
    """A setting of another kind is refused."""
    assert change_by_api(service, **settings).status_code == 400


@pytest.mark.spec("HTT-07")
def test_a_live_order_needs_an_activated_account(service: Service) -> None:
    """402 for live requests, until the account is activated; test requests are not refused."""
    change_by_api(service, activated=False)
    assert service.create().status_code == 200
    change_by_api(service, live=True)
    answer = service.create()
    assert (answer.status_code, answer.json()["code"]) == (402, "co000007")
    change_by_api(service, activated=True)
    assert service.create().status_code == 200


@pytest.mark.spec("HTT-08")
def test_a_suspended_project_creates_nothing(service: Service) -> None:
    """403 for tokens and orders."""
    change_by_api(service, suspended=True)
    token = service.token({"type": "simple", "amount": 1, "currency": "USD"})
    assert (service.create().status_code, token.status_code) == (403, 403)
    assert service.listed_ids() == []


@pytest.mark.spec("HTT-05", "HTT-12")
@pytest.mark.parametrize("status", [400, 422])
def test_invalid_data_is_answered_as_set(service: Service, status: int) -> None:
    """400 as the operations document it, or 422: often a required parameter is missing."""
    change_by_api(service, invalid_status=status)
    missing = service.post("/api/v1/order", {"project": PROJECT, "type": "simple"})
    wrong = service.create(amount="much")
    token = service.token({"type": "simple"})
    assert [each.status_code for each in (missing, wrong, token)] == [status] * 3


@pytest.mark.spec("VER-02", "VER-03")
@pytest.mark.parametrize(("headers", "version"), [({}, ""), ({"x-service-api-version": "1.0"}, "1.0")])
def test_the_version_is_in_the_run_log(service: Service, headers: dict[str, str], version: str) -> None:
    """As it was sent; no other header is stored."""
    service.post("/api/v1/order", SIMPLE, headers={**headers, "X-API-SIGNATURE": SECRET})
    log = requests.get(f"{service.url}/_sandbox/log", timeout=10)
    (entry,) = log.json()["entries"]
    assert (entry["version"], SECRET in log.text) == (version, False)


@pytest.mark.spec("SVC-07")
@pytest.mark.parametrize(("body", "encoding"), [(b"", None), (b"{}", "gzip")])
def test_an_empty_body_is_not_packed(body: bytes, encoding: str | None) -> None:
    """Without a body there is no Content-Encoding, whatever the client accepts."""
    request = Request.from_values(headers={"Accept-Encoding": "gzip"})
    assert finish(request, Response(body), VirtualClock()).headers.get("Content-Encoding") == encoding


def test_several_projects_are_read_from_a_file(tmp_path: Path) -> None:
    """Each has its own secret, and all are printed at the start."""
    path = tmp_path / "projects.json"
    projects = [
        {"project_id": "gems", "secret_key": "sandbox_gems", "retry_schedule": [1, 2.5], "live": True},
        {"project_id": "hats", "secret_key": "sandbox_hats", "mode": "pre_approval", "merchant": "hatter"},
    ]
    path.write_text(json.dumps(projects))
    with run("--projects", str(path)) as process:
        assert process.stdout
        printed = [process.stdout.readline() for _ in range(8)]
        url = printed[0].split()[1]
        answers = [
            requests.get(f"{url}/merchant/s2s/api/v1/order", auth=pair, timeout=10).status_code
            for pair in (("gems", "sandbox_gems"), ("hats", "sandbox_hats"), ("hats", "sandbox_gems"))
        ]
        process.terminate()
        _, errors = process.communicate(timeout=20)
    assert answers == [200, 200, 401]
    assert [line.split()[1] for line in printed[4::2]] == ["gems", "hats"]
    assert (process.returncode, errors, "sandbox_" in "".join(printed)) == (0, "", False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "[1]",
        "{",
        '[{"project_id": "a"}]',
        '[{"project_id": "a", "secret_key": "real"}]',
        '[{"project_id": "a", "secret_key": "sandbox_a", "colour": 1}]',
        '[{"project_id": "a", "secret_key": "sandbox_a"}, {"project_id": "a", "secret_key": "sandbox_b"}]',
    ],
)
def test_a_wrong_file_of_projects_is_a_usage_error(tmp_path: Path, text: str) -> None:
    """Exit code 2 and a reason, never a traceback."""
    path = tmp_path / "projects.json"
    path.write_text(text)
    with run("--projects", str(path)) as process:
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, "Traceback" in errors) == (2, False)


@pytest.mark.spec("STA-02")
def test_projects_of_another_merchant_stay_apart() -> None:
    """A change of one project changes no other."""
    with running() as service:
        change_by_api(service, title="Hats")
        assert "Hats" in service.form(service.order_id()).text
