"""Requests of the client, and good responses."""

from __future__ import annotations

import base64
import gzip
import json
import socket
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from checkout_integration.client.errors import CheckoutError, DeadlineExceeded
from checkout_integration.protocol.creation import Customer, OrderRequest, TokenRequest
from checkout_integration.protocol.creation_values import CreationError
from checkout_integration.protocol.listing import TransactionFilter
from checkout_integration.protocol.values import Secret
from tests.client.conftest import SECRET, MakeClient
from tests.support.client.stub import gzipped, http, running
from tests.support.protocol.vectors import vector_bytes

FORM = "https://form.example/?order_id=order-1"
TOKEN_ANSWER = json.dumps({"token": "tok-1", "payment_form_url": FORM}).encode()
ORDER_ANSWER = json.dumps({"id": "order-1", "payment_form_url": FORM}).encode()
TOKEN = TokenRequest(
    project_id="proj-1",
    type="simple",
    currency="USD",
    amount=Decimal("9.99"),
    user=Customer(external_id="p-1"),
)
ORDER = OrderRequest(project="proj-1", type="simple", currency="USD", amount=Decimal("9.99"))
BASIC = base64.b64encode(f"proj-1:{SECRET}".encode()).decode()


@pytest.mark.spec("EP1-01", "EP1-02", "EP1-23", "AUT-02", "SVC-08", "TOK-01", "TOK-02", "HTT-02", "SVC-02")
def test_token_creation(client_of: MakeClient) -> None:
    """A signed POST of JSON to the token path, answered by a token and a form."""
    with running(http(200, TOKEN_ANSWER)) as stub:
        answer = client_of(stub).create_token(TOKEN)
    (request,) = stub.received
    assert (request.method, request.target) == ("POST", "/api/v1/tokens")
    assert request.headers["x-api-signature"] == SECRET
    assert request.headers["content-type"] == "application/json"
    assert b'"amount":9.99' in request.body
    assert json.loads(request.body)["user"] == {"id": "p-1"}
    assert (answer.token, answer.payment_form_url) == ("tok-1", FORM)


@pytest.mark.spec("EP2-01", "EP2-02", "EP2-17", "AUT-02", "AUT-06", "SVC-08", "SVC-02")
def test_order_creation(client_of: MakeClient) -> None:
    """A signed POST of JSON to the order path, signed even without customer data, which is harmless."""
    with running(http(200, ORDER_ANSWER)) as stub:
        answer = client_of(stub).create_order(ORDER)
    (request,) = stub.received
    assert (request.method, request.target) == ("POST", "/api/v1/order")
    assert request.headers["x-api-signature"] == SECRET
    assert request.headers["content-type"] == "application/json"
    assert (answer.id, answer.payment_form_url) == ("order-1", FORM)


@pytest.mark.spec("EP6-05", "EP2-12", "EP1-24", "EP2-02", "SVC-08", "AUT-02")
@pytest.mark.parametrize("token", ["tok-1", "a+b/c=="])
def test_order_creation_from_a_token(client_of: MakeClient, token: str) -> None:
    """The body is the token and nothing else; the headers are those of any other order."""
    with running(http(200, ORDER_ANSWER)) as stub:
        client_of(stub).create_order_from_token(token)
    (request,) = stub.received
    assert request.body == b'{"token":"%s"}' % token.encode()
    assert (request.headers["content-type"], request.headers["x-api-signature"]) == (
        "application/json",
        SECRET,
    )


@pytest.mark.spec("EP3-01", "EP3-02", "EP3-12", "AUT-03", "SVC-04")
def test_the_transaction_list(client_of: MakeClient) -> None:
    """A GET with HTTP Basic, which returns the service's time with the rows."""
    with running(http(200, vector_bytes("transactions"), Date="Wed, 01 May 2024 10:00:00 GMT")) as stub:
        page = client_of(stub).list_transactions(TransactionFilter(statuses=["refunded"], limit=2))
    (request,) = stub.received
    assert request.method == "GET"
    assert request.target == "/merchant/s2s/api/v1/order?status%5B%5D=refunded&limit=2"
    assert request.headers["authorization"] == f"Basic {BASIC}"
    assert "x-api-signature" not in request.headers
    assert (page.count, page.ids) == (2, ("order-1", "order-2"))
    assert page.date == datetime(2024, 5, 1, 10, tzinfo=UTC)


@pytest.mark.spec("EP3-02", "AUT-03")
@pytest.mark.parametrize("project", ["proj-1", "Project-B", "4711"])
@pytest.mark.parametrize("key", ["sk-Canary-0123456789", "key:with:colons-99"])
def test_the_list_is_read_as_the_project_with_its_key(client_of: MakeClient, project: str, key: str) -> None:
    """Login and password of HTTP Basic, to the letter."""
    with running(http(200, vector_bytes("transactions"))) as stub:
        client_of(stub, project_id=project, secret_key=Secret(key)).list_transactions(TransactionFilter())
    scheme, _, credentials = stub.received[0].headers["authorization"].partition(" ")
    assert (scheme, base64.b64decode(credentials).decode()) == ("Basic", f"{project}:{key}")


@pytest.mark.spec("LIM-02", "EP3-10")
def test_a_page_of_the_default_limit_is_read(client_of: MakeClient) -> None:
    """A query without a limit sends none, and expects the hundred rows of the service, however many values they have."""
    rows = [{"id": f"order-{number}", "items": [0] * 500} for number in range(100)]
    with running(http(200, json.dumps({"count": 100, "items": rows}).encode())) as stub:
        page = client_of(stub).list_transactions(TransactionFilter())
    assert "limit" not in stub.received[0].target
    assert len(page.rows) == 100


@pytest.mark.spec("EP3-08")
def test_the_open_names_of_the_list_are_configured(client_of: MakeClient) -> None:
    """The end of the period and the style of arrays."""
    query = TransactionFilter(statuses=["refunded"], date_to=datetime(2024, 5, 1, tzinfo=UTC))
    with running(http(200, vector_bytes("transactions"))) as stub:
        client_of(stub, list_end_parameter="until", list_array_style="plain").list_transactions(query)
    assert stub.received[0].target.endswith("?status=refunded&until=2024-05-01T00%3A00%3A00")


@pytest.mark.parametrize("date", ["", "yesterday", "Wed, 99 May 2024 10:00:00 GMT"])
def test_an_unreadable_date_is_none(client_of: MakeClient, date: str) -> None:
    """The clock of the service is a help, not a condition."""
    with running(http(200, vector_bytes("transactions"), Date=date)) as stub:
        assert client_of(stub).list_transactions(TransactionFilter()).date is None


@pytest.mark.spec("VER-01", "VER-02", "VER-03", "SVC-05", "SVC-07")
def test_every_request_tells_the_version_and_asks_for_gzip(client_of: MakeClient) -> None:
    """On all three endpoints; the header's name and value are settings."""
    answers = (http(200, TOKEN_ANSWER), http(200, ORDER_ANSWER), http(200, vector_bytes("transactions")))
    with running(*answers) as stub:
        client = client_of(stub)
        client.create_token(TOKEN)
        client.create_order(ORDER)
        client.list_transactions(TransactionFilter())
    assert [request.headers["x-service-api-version"] for request in stub.received] == ["1.0"] * 3
    assert [request.headers["accept-encoding"] for request in stub.received] == ["gzip"] * 3
    assert [request.headers["accept"] for request in stub.received] == ["application/json"] * 3
    with running(http(200, TOKEN_ANSWER)) as stub:
        client_of(stub, version_header="x-brand-api-version", api_version="2.1").create_token(TOKEN)
    assert stub.received[0].headers["x-brand-api-version"] == "2.1"


@pytest.mark.spec("SVC-07")
def test_gzip_answers_are_read(client_of: MakeClient) -> None:
    """As the specification demands of the service."""
    with running(gzipped(vector_bytes("transactions"))) as stub:
        assert client_of(stub).list_transactions(TransactionFilter()).count == 2


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(200, marks=pytest.mark.spec("HTT-02")),
        pytest.param(201, marks=pytest.mark.spec("HTT-03")),
        pytest.param(202, marks=pytest.mark.spec("HTT-04")),
        203,
        226,
        299,
    ],
)
@pytest.mark.spec("SVC-06")
def test_any_2xx_is_success(client_of: MakeClient, status: int) -> None:
    """Also one that the specification does not name."""
    with running(http(status, ORDER_ANSWER)) as stub:
        assert client_of(stub).create_order(ORDER).id == "order-1"


def test_connections_are_reused(client_of: MakeClient) -> None:
    """A sync of many pages does not pay for many handshakes."""
    with running(gzipped(vector_bytes("transactions"))) as stub:
        client = client_of(stub)
        for _ in range(5):
            client.list_transactions(TransactionFilter())
    assert (len(stub.received), stub.connections) == (5, 1)


@pytest.mark.spec("EP2-18")
def test_a_request_that_breaks_a_rule_is_not_sent(client_of: MakeClient) -> None:
    """The rules are checked before anything leaves."""
    with running(http(200, ORDER_ANSWER)) as stub:
        with pytest.raises(CreationError):
            client_of(stub).create_order(OrderRequest(project="p", type="simple"))
        assert stub.received == []


def test_netrc_and_proxies_of_the_environment_are_ignored(
    client_of: MakeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A .netrc would replace our credentials, and a proxy would read them."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login other password wrong\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with running(http(200, vector_bytes("transactions"))) as stub:
        client_of(stub).list_transactions(TransactionFilter())
    assert stub.received[0].headers["authorization"] == f"Basic {BASIC}"


def test_cookies_are_not_sent_back(client_of: MakeClient) -> None:
    """The service is called without a session."""
    with running(http(200, vector_bytes("transactions"), Set_Cookie="a=b")) as stub:
        client = client_of(stub)
        client.list_transactions(TransactionFilter())
        client.list_transactions(TransactionFilter())
    assert "cookie" not in stub.received[1].headers


@pytest.mark.spec("EP4-01", "EP4-02", "EP4-04", "LST-02", "LST-03")
def test_a_generic_list_is_read_by_cursor(client_of: MakeClient) -> None:
    """Page after page, each starting after the last element of the previous one."""
    pages = [
        {
            "object": "list",
            "data": [{"id": "a"}, {"id": "b"}],
            "has_more": True,
            "has_before": False,
            "total_count": 3,
        },
        {"object": "list", "data": [{"id": "c"}], "has_more": False, "has_before": True, "total_count": 3},
    ]
    with running(*(http(200, json.dumps(page).encode()) for page in pages)) as stub:
        elements = list(client_of(stub).iter_list("/api/v1/things", limit=2))
    assert [element["id"] for element in elements] == ["a", "b", "c"]
    assert [request.target for request in stub.received] == [
        "/api/v1/things?limit=2",
        "/api/v1/things?limit=2&starting_after=b",
    ]


@pytest.mark.spec("SVC-07")
def test_several_gzip_chunks_make_one_answer(client_of: MakeClient) -> None:
    """A chunked response is read to its end."""
    packed = gzip.compress(vector_bytes("transactions"))
    chunks = b"".join(b"%x\r\n%s\r\n" % (1, packed[at : at + 1]) for at in range(len(packed))) + b"0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    with running(head + chunks) as stub:
        assert client_of(stub).list_transactions(TransactionFilter()).count == 2


@pytest.mark.spec("AUT-02", "SVC-08", "VER-01")
def test_a_request_of_ones_own_is_signed(client_of: MakeClient) -> None:
    """A POST: headers, body and response as those of the specification, money to the digit."""
    with running(http(200, b'{"rate": 0.10, "of": "EUR"}')) as stub:
        answer = client_of(stub).request("POST", "/api/v1/rates", json={"amount": Decimal("1.10")})
    (request,) = stub.received
    assert (request.method, request.target, request.body) == ("POST", "/api/v1/rates", b'{"amount":1.10}')
    assert request.headers["x-api-signature"] == SECRET
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-service-api-version"] == "1.0"
    assert answer == {"rate": Decimal("0.10"), "of": "EUR"}


@pytest.mark.spec("AUT-07")
def test_a_get_of_ones_own_has_its_query_and_is_repeated(client_of: MakeClient, no_pauses: None) -> None:
    """Within the deadline, after a failure of the service."""
    with running(http(503, b"{}"), http(200, b"[1]")) as stub:
        answer = client_of(stub).request("GET", "/x", params=[("a", "b c")], at="list_url", auth="basic")
    assert [request.target for request in stub.received] == ["/x?a=b+c"] * 2
    assert stub.received[0].headers["authorization"] == f"Basic {BASIC}"
    assert answer == [1]


def test_a_post_of_ones_own_is_sent_once(client_of: MakeClient, no_pauses: None) -> None:
    """It may have had an effect."""
    with running(http(503, b"{}"), http(200, b"{}")) as stub, pytest.raises(CheckoutError) as raised:
        client_of(stub).request("POST", "/x", json={})
    assert (len(stub.received), raised.value.outcome_unknown) == (1, True)


@pytest.mark.parametrize(
    ("method", "path", "more"),
    [
        ("GET", "x", {}),
        ("POST", "/x", {}),
        ("GET", "/x", {"json": {}}),
        ("POST", "/x", {"json": {}, "params": [("a", "b")]}),
    ],
)
def test_a_request_that_cannot_be_is_refused(
    client_of: MakeClient, method: Any, path: str, more: dict[str, Any]
) -> None:
    """Before anything is sent."""
    with running(http(200, b"{}")) as stub, pytest.raises(ValueError, match='A path begins with "/"'):
        client_of(stub).request(method, path, **more)
    assert stub.received == []


def test_a_call_may_have_a_deadline_of_its_own(client_of: MakeClient) -> None:
    """The client itself keeps its own; a deadline that is none is refused."""

    def silent(_connection: socket.socket, _request: object) -> None:
        stub.stopped.wait(20)

    def slow(connection: socket.socket, _request: object) -> None:
        stub.stopped.wait(0.5)
        connection.sendall(gzipped(vector_bytes("transactions")))

    with running(silent, slow) as stub:
        client = client_of(stub)
        with pytest.raises(DeadlineExceeded):
            client.within(0.2).list_transactions(TransactionFilter())
        assert client.list_transactions(TransactionFilter()).count == 2
    with pytest.raises(ValueError, match="positive number of seconds"):
        client.within(0)
