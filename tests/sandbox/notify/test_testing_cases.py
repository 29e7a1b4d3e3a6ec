"""The four testing cases: their requests, the right responses, and no trace in the orders."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from tests.support.sandbox.service import SECRET, Service, running

CASES = ["correct_payment", "existing_user", "non_existing_user", "invalid_signature"]


def run(service: Service, case: str, **body: Any) -> dict[str, Any]:
    """Run a testing case by the control API."""
    answer = service.post(f"/_sandbox/testing/{case}", body)
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


@pytest.mark.spec("ORD-43", "AUT-04", "EVT-03")
@pytest.mark.parametrize("case", CASES)
def test_by_default_every_case_is_a_payment(service: Service, case: str) -> None:
    """payment.success about the tester, marked with its case; only invalid_signature has a wrong key."""
    assert run(service, case, external_id="ada")["event"] == "payment.success"
    (received,) = service.receiver.received
    document = received.document["object"]
    assert (document["testing_case"], document["user"]["external_id"]) == (case, "ada")
    assert received.is_signed_with(SECRET) == (case != "invalid_signature")


@pytest.mark.spec("ORD-43", "EVT-02", "EVT-07")
def test_in_pre_approval_mode_the_users_are_validated() -> None:
    """existing_user validates the tester, non_existing_user an unknown customer; the others pay."""
    with running(mode="pre_approval") as service:
        for case in CASES:
            run(service, case, external_id="ada")
        payment, existing, nobody, unsigned = (each.document for each in service.receiver.received)
    assert [payment["event"], unsigned["event"]] == ["payment.success"] * 2
    assert [existing["event"], nobody["event"]] == ["user.validate"] * 2
    assert existing["object"]["external_id"] == "ada"
    assert nobody["object"]["external_id"] not in {"", "ada"}


@pytest.mark.spec("ORD-43", "EVT-09")
@pytest.mark.parametrize("mode", ["default", "pre_approval"])
@pytest.mark.parametrize(
    ("case", "status", "body", "passed"),
    [
        ("correct_payment", 200, b"", True),
        ("correct_payment", 204, b"", False),
        ("correct_payment", 400, b'{"code":"INVALID_USER"}', False),
        ("existing_user", 200, b"", True),
        ("existing_user", 404, b"", False),
        ("non_existing_user", 404, b'{"code":"INVALID_USER"}', True),
        ("non_existing_user", 404, b'{"code":"INVALID_SIGNATURE"}', False),
        ("non_existing_user", 500, b'{"code":"INVALID_USER"}', False),
        ("non_existing_user", 200, b"", False),
        ("invalid_signature", 401, b'{"code":"INVALID_SIGNATURE"}', True),
        ("invalid_signature", 401, b"[]", False),
        ("invalid_signature", 401, b'{"code":', False),
        ("invalid_signature", 200, b"", False),
    ],
)
def test_the_answer_is_judged(mode: str, case: str, status: int, body: bytes, passed: bool) -> None:
    """Exactly 200 is right, or a 4xx whose code names the reason; in both modes."""
    with running(mode=mode) as service:
        service.receiver.answers, service.receiver.body = [status], body
        document = run(service, case)
    assert (document["status"], document["passed"]) == (status, passed)


@pytest.mark.spec("ORD-43")
@pytest.mark.parametrize("case", CASES)
def test_no_order_is_stored_and_nothing_comes_again(service: Service, case: str) -> None:
    """Neither list nor form knows the object, and a refused case is not retried."""
    service.receiver.answers = [500]
    run(service, case)
    document = service.receiver.received[0].document["object"]
    service.advance(600)
    assert service.listed().json()["count"] == 0
    assert service.form(document["id"]).status_code == 404
    assert len(service.receiver.received) == 1


@pytest.mark.spec("ORD-43")
def test_the_test_object_is_bare_in_the_field(field: Service) -> None:
    """No status, kind, transaction or method, and the time zero; each run has an order id of its own."""
    for _ in range(2):
        run(field, "correct_payment")
    first, second = (each.document["object"] for each in field.receiver.received)
    assert [first[name] for name in ("status", "object", "transaction", "method")] == ["", "", "", None]
    assert {first[name] for name in ("created_at", "canceled_at", "refunded_at")} == {"1970-01-01T00:00:00Z"}
    assert first["id"] != second["id"]


@pytest.mark.spec("ORD-43", "ORD-03", "ORD-04")
def test_the_test_object_is_an_order_by_the_specification(spec: Service) -> None:
    """By the letter it is a processed order like any other."""
    run(spec, "correct_payment")
    document = spec.receiver.received[0].document["object"]
    assert [document["status"], document["object"], document["created_at"]] == [
        "processed",
        "order",
        "2026-03-04T12:00:00Z",
    ]


@pytest.mark.spec("ORD-43")
def test_the_results_are_listed(service: Service) -> None:
    """The control API lists them, newest first."""
    run(service, "correct_payment")
    service.receiver.answers = [500]
    run(service, "existing_user")
    document = requests.get(f"{service.url}/_sandbox/testing", timeout=10).json()["trials"]
    assert [(each["case"], each["passed"]) for each in document] == [
        ("existing_user", False),
        ("correct_payment", True),
    ]


@pytest.mark.spec("ORD-43")
def test_a_case_is_run_for_a_tester(service: Service) -> None:
    """The result has the expected response and the verdict on the actual one."""
    trial = run(service, "invalid_signature", external_id="ada")
    assert (trial["expected"], trial["passed"]) == ("4xx INVALID_SIGNATURE", False)
    assert service.receiver.received[0].document["object"]["user"]["external_id"] == "ada"


@pytest.mark.spec("HTT-09", "ORD-43")
@pytest.mark.parametrize(
    ("path", "body", "status"),
    [("wrong_case", {}, 404), ("correct_payment", {"project_id": "nobody"}, 404)],
)
def test_unknown_cases_and_projects_are_refused(
    service: Service, path: str, body: dict[str, str], status: int
) -> None:
    """With the error object."""
    answer = service.post(f"/_sandbox/testing/{path}", body)
    assert (answer.status_code, bool(answer.json()["message"])) == (status, True)


def test_a_project_without_an_address_cannot_be_tried() -> None:
    """There is nowhere to send the case."""
    with running(webhook_url="") as service:
        assert service.post("/_sandbox/testing/correct_payment", {}).status_code == 409


def test_nobody_listening_is_not_as_expected() -> None:
    """A refused connection is status 0 and never right."""
    with running(webhook_url="http://127.0.0.1:9/") as service:
        document = run(service, "correct_payment")
    assert (document["status"], document["passed"]) == (0, False)
