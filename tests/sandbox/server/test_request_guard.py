"""No page of another site steers the sandbox through a developer's browser; programs and the own pages do."""

from __future__ import annotations

from typing import Any

import pytest
import requests
from werkzeug.test import Client

from checkout_integration.sandbox import Sandbox, SandboxProject, SandboxServer
from checkout_integration.sandbox.server.app import SandboxApp
from checkout_integration.sandbox.wire.addresses import OwnHosts
from tests.support.sandbox.service import PROJECT, SECRET, SIMPLE, Service, running

CLOCK = "/_sandbox/clock"
FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]


def change(service: Service, headers: dict[str, str], **more: Any) -> requests.Response:
    """Ask the control API to move the clock."""
    more = more or {"json": {"advance": 60}}
    return requests.post(service.url + CLOCK, headers=headers, timeout=10, **more)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8090", "localhost.evil.example", "10.0.0.7", "a b"]
)
@pytest.mark.parametrize(
    "path", ["/", "/_sandbox/", CLOCK, "/form/", "/api/v1/orders", "/merchant/s2s/api/v1/order", "/nothing"]
)
def test_a_foreign_host_is_refused(service: Service, host: str, path: str) -> None:
    """A foreign name that resolves to this machine (DNS rebinding) is refused; the error says what to do."""
    answer = requests.get(service.url + path, headers={"Host": host}, auth=(PROJECT, SECRET), timeout=10)
    assert answer.status_code == 421
    assert "--allowed-hosts" in answer.text or "Host header" in answer.text


@pytest.mark.parametrize("path", ["/api/v1/order", "/api/v1/tokens", CLOCK])
def test_nothing_is_made_for_a_foreign_host(service: Service, path: str) -> None:
    """Neither an order nor a token, and the clock stays."""
    before = service.sandbox.clock.now()
    document = {"advance": 60} if path == CLOCK else SIMPLE
    answer = service.post(path, document, headers={"Host": "evil.example", "X-API-SIGNATURE": SECRET})
    assert (answer.status_code, answer.json()["code"]) == (421, "sb000008")
    assert (service.sandbox.ledger.newest(1)[0], service.sandbox.clock.now()) == (0, before)


@pytest.mark.parametrize("headers", FOREIGN)
def test_a_page_of_another_site_changes_nothing(service: Service, headers: dict[str, str]) -> None:
    """By the control API: the browser's headers about the page are believed."""
    before = service.sandbox.clock.now()
    answer = change(service, headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "sb000010")
    assert service.sandbox.clock.now() == before


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None]
)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_change_that_is_not_json_is_refused(service: Service, method: str, kind: str | None) -> None:
    """A form or a simple request of a foreign page can send all of these; the response names the right type."""
    path = {"POST": CLOCK, "PUT": "/_sandbox/faults", "PATCH": "/_sandbox/project"}[method]
    headers = {"Content-Type": kind} if kind else {}
    answer = requests.request(method, service.url + path, data=b"{}", headers=headers, timeout=10)
    assert (answer.status_code, answer.json()["code"]) == (415, "sb000011")
    assert "Content-Type: application/json" in answer.json()["details"]


@pytest.mark.parametrize("frame", ["iframe", "frame", "embed", "object"])
@pytest.mark.parametrize("path", ["/_sandbox/", "/_sandbox/orders", "/_sandbox/log"])
def test_a_frame_is_refused(service: Service, frame: str, path: str) -> None:
    """By the operator's page and by the control API."""
    answer = requests.get(service.url + path, headers={"Sec-Fetch-Dest": frame}, timeout=10)
    assert answer.status_code == 403
    assert "open it in a window of its own" in answer.text


@pytest.mark.parametrize("path", ["/_sandbox/", "/_sandbox/orders", "/_sandbox/log", "/receipt/a/b", CLOCK])
def test_everything_but_the_form_forbids_frames(service: Service, path: str) -> None:
    """For browsers that say nothing of frames."""
    headers = requests.get(service.url + path, timeout=10).headers
    assert headers["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


@pytest.mark.spec("EP6-02")
@pytest.mark.parametrize("known", [True, False])
def test_the_form_is_framed_by_anybody(service: Service, known: bool) -> None:
    """The hosted form stays embeddable, as does its page for an order that is not there."""
    page = requests.get(
        f"{service.url}/form/",
        params={"order_id": service.order_id() if known else "nothing"},
        headers={"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Site": "cross-site"},
        timeout=10,
    )
    assert page.status_code == (200 if known else 404)
    assert "X-Frame-Options" not in page.headers
    assert "frame-ancestors *" in page.headers["Content-Security-Policy"]


@pytest.mark.spec("EP6-02")
@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("4242424242424242", "Payment successful"),
        ("4000002760003184", "Confirm the payment"),
        ("4242424242424241", "This is not a card number"),
    ],
)
def test_the_form_is_paid_in_a_frame(service: Service, number: str, text: str) -> None:
    """With the headers of a browser for a frame of our page in a shop's page; each next page is shown there, too."""
    order_id = service.order_id()
    typed = {
        "order_id": order_id,
        "number": number,
        "expiry": "12/34",
        "cvc": "123",
        "email": "a@b.example",
    }
    headers = {"Origin": "null", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "iframe"}
    page = requests.post(f"{service.url}/form/pay", typed, headers=headers, timeout=10)
    assert text in page.text
    assert "X-Frame-Options" not in page.headers
    assert "frame-ancestors *" in page.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "[::1]", "127.5.5.5", "shop.localhost", "LOCALHOST."]
)
def test_this_machine_may_be_named_in_many_ways(service: Service, host: str) -> None:
    """With any port, which may have been forwarded; from the own page, from curl, by a link from elsewhere."""
    for headers in (
        {},
        {"Origin": f"http://{host}:9"},
        {"Origin": f"http://{host}:9", "Sec-Fetch-Site": "same-origin"},
    ):
        assert change(service, {"Host": f"{host}:9", **headers}).status_code == 200
    link = {"Host": host, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"}
    assert requests.get(f"{service.url}/_sandbox/", headers=link, timeout=10).status_code == 200


def test_it_listens_on_this_machine_only() -> None:
    """Unless it is given another host: it has no certificate, and no other machine may send it anything (AUT-01)."""
    project = SandboxProject(project_id=PROJECT, secret_key=SECRET)
    with Sandbox([project]) as sandbox, SandboxServer(sandbox) as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert sandbox.public_url == server.url


@pytest.mark.spec("SVC-08")
def test_json_with_a_charset_is_json(service: Service) -> None:
    """As some clients write it."""
    headers = {"Content-Type": "application/json; charset=utf-8"}
    assert change(service, headers, data=b'{"advance": 60}').status_code == 200


def test_names_that_it_was_started_for_are_answered() -> None:
    """The host of the public address and the allowed ones; a page at the public address may ask."""
    project = SandboxProject(project_id=PROJECT, secret_key=SECRET)
    with (
        Sandbox([project]) as sandbox,
        SandboxServer(sandbox, public_url="https://pay.test", allowed_hosts=["sandbox"]) as server,
    ):
        for host in ("pay.test", "sandbox:8090", "127.0.0.1"):
            headers = {"Host": host, "Origin": "https://pay.test"}
            answer = requests.post(server.url + CLOCK, json={}, headers=headers, timeout=10)
            assert answer.status_code == 200
        answer = requests.get(server.url + CLOCK, headers={"Host": "other.test"}, timeout=10)
        assert "https://pay.test" in answer.json()["details"]


@pytest.mark.parametrize(
    ("started_for", "header", "known"),
    [
        ("0.0.0.0", "192.168.1.5:8090", True),
        ("::", "[2001:db8::1]:8090", True),
        ("0.0.0.0", "evil.example", False),
        ("192.168.1.5", "192.168.1.6", False),
        ("[2001:DB8::1]", "[2001:db8:0::1]", True),
        ("Pay.Test", "pay.test.:80", True),
        ("pay.test", "pay.test@evil.example", False),
        ("pay.test", "evil.example/pay.test", False),
        ("pay.test", "", False),
    ],
)
def test_a_host_header_is_compared_by_its_name(started_for: str, header: str, known: bool) -> None:
    """IP addresses are accepted where the sandbox listens on all: they cannot be rebound like names."""
    hosts = OwnHosts()
    hosts.add(started_for)
    assert hosts.answers_to(header) is known


def test_in_memory_it_answers_to_this_machine() -> None:
    """Without a server: for tests that drive the application itself."""
    with Sandbox([SandboxProject(project_id=PROJECT, secret_key=SECRET)]) as sandbox:
        client = Client(SandboxApp(sandbox))
        assert client.get(CLOCK).status_code == 200
        assert client.post(CLOCK, json={}, headers={"Origin": "null"}).status_code == 403
        assert client.get(CLOCK, headers={"Host": "evil.example"}).status_code == 421


def test_the_address_of_the_shop_is_of_the_web_and_of_this_machine() -> None:
    """A setting that the control API changes: nothing but http and https, nowhere but the loopback."""
    with running() as service:
        for address in (
            "ftp://127.0.0.1/",
            "redis://127.0.0.1:6379",
            "http://10.0.0.7/",
            "http://a@127.0.0.1/",
            "http://127.0.0.1:99999/",
        ):
            answer = requests.patch(
                f"{service.url}/_sandbox/project", json={"webhook_url": address}, timeout=10
            )
            assert (answer.status_code, "webhook_url" in answer.json()["details"]) == (400, True), address
