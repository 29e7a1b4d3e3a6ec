"""The codes of refused requests, case by case, as deployed services send them; in both profiles."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from checkout_integration import sandbox
from checkout_integration.protocol.errors import CREDENTIAL_CODES, PROJECT_CODES
from checkout_integration.sandbox.wire.errors import Case
from tests.support.sandbox.service import PROJECT, SECRET, SIMPLE, Service, running

Ask = Callable[[Service], requests.Response]
SETTINGS: dict[str, Any] = {"type": "simple", "amount": 9.99, "currency": "USD"}
USER = {"id": "player-1"}


def raw(path: str, body: bytes, kind: str = "application/json") -> Ask:
    """POST bytes of a kind, with the right secret."""
    headers = {"Content-Type": kind, "X-API-SIGNATURE": SECRET}
    return lambda service: requests.post(service.url + path, data=body, headers=headers, timeout=10)


def order_returning(service: Service) -> requests.Response:
    """Ask for an order with a return address, which the project does not allow."""
    service.sandbox.projects.update(PROJECT, dynamic_urls=False)
    return service.create(url_success="https://shop.example/")


def expired(service: Service) -> requests.Response:
    """Pay after the form has expired."""
    order_id = service.order_id()
    service.act(order_id, "expire")
    return service.act(order_id, "pay")


def signed(secret: str, **more: Any) -> Ask:
    """Create an order with this signature."""
    return lambda service: service.post(
        "/api/v1/order", {**SIMPLE, **more}, headers={"X-API-SIGNATURE": secret}
    )


TOKENS, ORDER = "/api/v1/tokens", "/api/v1/order"
# The request, the code, and the status in the profiles field and spec.
CASES: dict[str, tuple[Ask, str, int, int]] = {
    "token: unknown project": (
        lambda each: each.token({**SETTINGS, "project_id": "x"}),
        "fm000002",
        400,
        404,
    ),
    "order: unknown project": (lambda each: each.create(project="x"), "fm000002", 400, 400),
    "token: no signature": (lambda each: each.token(SETTINGS, secret=None), "ma000022", 400, 401),
    "order: no signature": (lambda each: each.create(user={"external_id": "a"}), "co000005", 400, 401),
    "token: wrong secret": (lambda each: each.token(SETTINGS, secret="wrong"), "fm000048", 400, 401),
    "order: wrong secret": (signed("wrong", user={"external_id": "a"}), "fm000048", 400, 401),
    "order: bad token": (lambda each: each.post(ORDER, {"token": "none"}), "tk000003", 400, 400),
    "token: invalid": (lambda each: each.token({**SETTINGS, "amount": "much"}), "ma000002", 400, 400),
    "order: invalid": (lambda each: each.create(amount="much"), "co000002", 400, 400),
    "list: invalid": (lambda each: each.listed(("limit", "-1")), "ma000002", 400, 400),
    "token: not JSON": (raw(TOKENS, b"{"), "ma000023", 400, 406),
    "order: not JSON": (raw(ORDER, b"{"), "co000006", 400, 406),
    "token: another format": (raw(TOKENS, b"<a/>", "text/xml"), "ma000023", 400, 406),
    "order: another format": (raw(ORDER, b"a=1", "application/x-www-form-urlencoded"), "co000006", 400, 406),
    "order: return address": (order_returning, "fm000014", 400, 400),
    "form expired": (expired, "fm000023", 410, 410),
}
NO_DETAILS_IN_THE_FIELD = ("unknown project", "no signature", "wrong secret", "bad token")


@pytest.mark.spec("EP1-23", "EP2-17", "HTT-05", "HTT-09")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.spec("ERR-01", "HTT-01", "AUT-05", "SVC-08", "HTT-06", "HTT-10")
def test_each_case_has_its_code(name: str) -> None:
    """The same in both profiles; the status of the specification in one, of deployed services in the other."""
    ask, code, field_status, spec_status = CASES[name]
    for profile, status in (("field", field_status), ("spec", spec_status)):
        with running(profile=profile) as service:
            answer = ask(service)
        assert (answer.status_code, answer.json()["code"]) == (status, code), profile


@pytest.mark.parametrize("name", CASES)
@pytest.mark.spec("ERR-02", "ERR-03", "HTT-01")
def test_details_may_be_absent_in_the_field_alone(name: str) -> None:
    """By the specification an error object has all three; deployed services leave details out of some."""
    keys = {}
    for profile in ("field", "spec"):
        with running(profile=profile) as service:
            keys[profile] = set(CASES[name][0](service).json())
    short = name.endswith(NO_DETAILS_IN_THE_FIELD) or name == "form expired"
    assert keys["spec"] == {"code", "message", "details"}
    assert keys["field"] == keys["spec"] - ({"details"} if short else set())


@pytest.mark.spec("ERR-02", "ERR-03")
@pytest.mark.parametrize("profile", ["field", "spec"])
def test_details_name_what_the_message_does_not(profile: str) -> None:
    """Two mistakes of one kind have one message, and each its own details; a mistake without any has an empty text."""
    with running(profile=profile) as service:
        price, word, both = (
            service.create(**wrong).json()
            for wrong in ({"amount": None}, {"type": "gold"}, {"amount": -1, "currency": "usd"})
        )
        login = service.listed(secret="sandbox_other").json()
    assert price["message"] == word["message"] == both["message"] == "invalid request data"
    assert price["details"] == "amount: is required for type simple"
    assert word["details"].startswith("type: must be one of ")
    assert [each.partition(":")[0] for each in both["details"].split("; ")] == ["amount", "currency"]
    assert login.get("details", "") == ""


@pytest.mark.spec("AUT-05")
def test_the_merchants_side_reads_the_codes_of_credentials() -> None:
    """Two readings of the same cases, one on each side."""
    keys = {code for case in (Case.SIGNATURE_MISSING, Case.WRONG_SECRET) for code in case.codes}
    assert keys == CREDENTIAL_CODES
    assert set(Case.UNKNOWN_PROJECT.codes) <= PROJECT_CODES
    others = {code for case in Case for code in case.codes} - keys - set(Case.UNKNOWN_PROJECT.codes)
    assert not others & (CREDENTIAL_CODES | PROJECT_CODES)


@pytest.mark.spec("AUT-02", "AUT-06")
@pytest.mark.parametrize("user", [{}, {"user": None}])
def test_a_signature_that_nothing_needs(user: dict[str, Any]) -> None:
    """Without user data deployed services do not look at it; by the specification a wrong one is refused."""
    for profile, status in (("field", 200), ("spec", 401)):
        with running(profile=profile) as service:
            assert signed("wrong", **user)(service).status_code == status
            assert signed(SECRET, **user)(service).status_code == 200


@pytest.mark.spec("AUT-03", "AUT-05", "HTT-06")
@pytest.mark.parametrize("path", ["/merchant/s2s/api/v1/order", "/api/v1/orders"])
def test_a_refused_list_says_how_to_authenticate(service: Service, path: str) -> None:
    """RFC 9110 wants a challenge with every 401 of HTTP authentication."""
    answer = requests.get(service.url + path, timeout=10)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Basic realm=")


@pytest.mark.spec("SVC-08", "EP1-02", "EP2-02")
@pytest.mark.parametrize("path", [TOKENS, ORDER])
@pytest.mark.parametrize(
    "kind",
    ["text/json", "application/problem+json", "application/vnd.api+json", "application/x-json", "json"],
)
def test_what_only_looks_like_json_is_refused(service: Service, path: str, kind: str) -> None:
    """Exactly application/json, with any parameters."""
    document = b'{"project":"project-1","type":"simple","amount":1,"currency":"USD"}'
    assert raw(path, document, kind)(service).status_code in {400, 406}
    assert service.sandbox.ledger.newest(1)[0] == 0
    assert raw(ORDER, document, "application/json; charset=utf-8")(service).status_code == 200


@pytest.mark.spec("HTT-15", "EP1-23", "EP2-17", "EP3-12")
def test_each_operation_answers_what_it_documents(spec: Service) -> None:
    """Bad data, missing things, and failures: with the error object, and with documented statuses only."""
    fault = {"rules": [{"point": "api", "kind": "server_error", "status": 500, "times": 3}]}
    calls: list[Ask] = [
        lambda each: each.token({**SETTINGS, "amount": "much"}),
        lambda each: each.create(amount="much"),
        lambda each: each.listed(("limit", "-1")),
    ]
    missing = spec.token({**SETTINGS, "project_id": "x"})
    assert [ask(spec).status_code for ask in calls] == [400, 400, 400]
    requests.put(f"{spec.url}/_sandbox/faults", json=fault, timeout=10)
    failed = [ask(spec) for ask in calls]
    assert [missing.status_code, *(answer.status_code for answer in failed)] == [404, 500, 500, 500]
    assert all(answer.json()["message"] for answer in (missing, *failed))


def test_the_page_has_the_table() -> None:
    """docs/reference/sandbox.md: the cases that deployed services are known to have, with both codes."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "sandbox.md").read_text("utf-8")
    rows = re.findall(r"^\| ([\w ]+) \| `(\w{8})` \| `(\w{8})` \|", page, re.MULTILINE)
    known = list(Case)[: list(Case).index(Case.ORDER_NOT_FOUND)]
    assert [(case, (first, second)) for case, first, second in rows] == [
        (case.words, case.codes) for case in known
    ]


@pytest.mark.spec("ERR-01")
def test_codes_stand_in_the_table_alone() -> None:
    """Refusals name an entry of the table; only the framework's codes are made from the status."""
    folder = Path(sandbox.__file__).parent
    found = {
        f"{file.name}: {code}"
        for file in folder.rglob("*.py")
        if file.name != "errors.py"
        for code in re.findall(r'"((?:fm|ma|co|tk)\d{6})"', file.read_text("utf-8"))
    }
    assert found == {"api_faults.py: fm000429"}
