"""The fault switchboard: each fault as it is on the wire."""

from __future__ import annotations

import base64
import gzip
import hashlib
import socket
import zlib
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from tests.support.sandbox.service import NOON, PROJECT, SECRET, SIMPLE, Service, running


def switch(service: Service, *rules: dict[str, Any]) -> None:
    """Set the switchboard by the control API."""
    answer = requests.put(
        f"{service.url}/_sandbox/faults", json={"seed": 1, "rules": list(rules)}, timeout=10
    )
    assert answer.status_code == 200, answer.text


@pytest.mark.spec("HTT-13", "LIM-03", "ERR-01", "ERR-02", "ERR-03", "HTT-01")
@pytest.mark.parametrize(("seconds", "header"), [(0, None), (3, "3")])
def test_too_many_requests(field: Service, seconds: int, header: str | None) -> None:
    """429 with and without Retry-After, and no order is made."""
    switch(field, {"point": "api", "kind": "too_many_requests", "seconds": seconds, "times": 1})
    answer = field.create()
    assert (answer.status_code, answer.headers.get("Retry-After")) == (429, header)
    assert answer.json() == {"code": "fm000429", "message": "too many requests", "details": ""}
    assert field.listed_ids() == []


@pytest.mark.spec("HTT-03", "HTT-04")
@pytest.mark.parametrize("status", [201, 202])
def test_another_success(field: Service, status: int) -> None:
    """The work is done, and the response is the same but for its status."""
    switch(field, {"point": "api", "kind": "other_success", "status": status})
    answer = field.create()
    assert (answer.status_code, set(answer.json())) == (status, {"id", "payment_form_url"})
    assert field.listed().status_code == status
    assert field.create(amount="much").status_code == 400


@pytest.mark.spec("HTT-14", "SVC-06")
def test_a_server_error_strikes_its_operation_alone(field: Service) -> None:
    """Only the named operation fails, as often as said, with the named status."""
    switch(field, {"point": "api", "kind": "server_error", "subject": "order", "status": 503, "times": 1})
    assert field.listed().status_code == 200
    assert [field.create().status_code for _ in range(2)] == [503, 200]


FAILURES = {
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}


@pytest.mark.spec("HTT-14", "HTT-01", "ERR-01", "ERR-02", "ERR-03", "EP1-23", "EP2-17", "EP3-12")
@pytest.mark.parametrize(("status", "message"), FAILURES.items())
def test_a_server_error_is_an_error_object(spec: Service, status: int, message: str) -> None:
    """Code, message and details, all texts and none empty; each status with its own words, at each operation."""
    switch(spec, {"point": "api", "kind": "server_error", "status": status})
    simple = {"type": "simple", "amount": 1, "currency": "USD"}
    for answer in (spec.token(simple), spec.create(), spec.listed()):
        document = answer.json()
        assert (answer.status_code, document["message"]) == (status, message)
        assert document["code"] == f"fm000{status}"
        assert set(document) == {"code", "message", "details"}
        assert isinstance(document["details"], str) and document["details"]


@pytest.mark.spec("ERR-02", "HTT-14")
@pytest.mark.parametrize(("status", "message"), FAILURES.items())
def test_the_framework_of_deployed_services_has_a_message_only(
    field: Service, status: int, message: str
) -> None:
    """It says which status it is, and nothing else."""
    switch(field, {"point": "api", "kind": "server_error", "status": status})
    assert field.create().json() == {"message": message}


def test_an_answer_is_lost_after_the_order_was_made(field: Service) -> None:
    """The connection ends without a response, and the order exists."""
    switch(field, {"point": "api", "kind": "lost_after_commit", "times": 1})
    with pytest.raises(requests.ConnectionError):
        field.create()
    assert field.listed().json()["count"] == 1


def test_a_slow_answer_arrives_late(field: Service) -> None:
    """A client with less patience than the fault's seconds gets nothing."""
    switch(field, {"point": "api", "kind": "slow", "seconds": 1, "times": 1})
    with pytest.raises(requests.Timeout):
        requests.get(f"{field.url}/merchant/s2s/api/v1/order", timeout=0.2)


def test_a_message_is_lost(field: Service) -> None:
    """A dropped message never arrives, and is not tried again."""
    switch(field, {"point": "notification", "kind": "drop", "times": 1})
    field.paid()
    field.advance(600)
    assert field.receiver.received == []


@pytest.mark.spec("WHK-01")
def test_a_message_comes_twice(field: Service) -> None:
    """A duplicate is the same notification again."""
    switch(field, {"point": "notification", "kind": "duplicate", "subject": "payment.success"})
    field.paid()
    first, second = field.receiver.received
    assert first.document["id"] == second.document["id"]


@pytest.mark.spec("AUT-04")
def test_a_message_is_signed_wrongly(field: Service) -> None:
    """The signature does not fit the project's secret; the retry's does."""
    switch(field, {"point": "notification", "kind": "bad_signature", "times": 1})
    field.receiver.answers = [401]
    field.paid()
    field.advance(600)
    assert [each.is_signed_with(SECRET) for each in field.receiver.received] == [False, True]


def raw(service: Service, *, packed: bool = False) -> tuple[dict[str, str], bytes]:
    """Ask for the list without an HTTP library; return headers and body until the connection ends."""
    parts = urlsplit(service.url)
    login = base64.b64encode(f"{PROJECT}:{SECRET}".encode()).decode()
    lines = [
        "GET /merchant/s2s/api/v1/order HTTP/1.1",
        f"Host: {parts.netloc}",
        f"Authorization: Basic {login}",
    ]
    lines += ["Accept-Encoding: gzip"] if packed else []
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    return headers, body


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_drips(field: Service, packed: bool) -> None:
    """A client that waits gets every byte of it, compressed on request."""
    field.order_id()
    _, whole = raw(field, packed=packed)
    switch(field, {"point": "api", "kind": "dripping", "seconds": 0.0001, "times": 1})
    headers, body = raw(field, packed=packed)
    assert body == whole
    assert int(headers["Content-Length"]) == len(body)


@pytest.mark.parametrize(
    ("kind", "encoding", "promised"),
    [("cut", None, True), ("cut_gzip", "gzip", True), ("cut_gzip_unnoticed", "gzip", False)],
)
def test_an_answer_is_cut(field: Service, kind: str, encoding: str | None, promised: bool) -> None:
    """A part of it comes; two of the three promise the rest."""
    field.order_id()
    switch(field, {"point": "api", "kind": kind})
    for packed in (False, True):
        headers, body = raw(field, packed=packed)
        assert headers.get("Content-Encoding") == encoding
        assert (int(headers["Content-Length"]) > len(body)) is promised
        if encoding:
            unpacker = zlib.decompressobj(31)
            unpacker.decompress(body)
            assert not unpacker.eof


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("not_json", "{'status': ok}"),
        ("empty", ""),
        ("wrong_types", '{"count":["1 or more"],"items":{"0":"not a list"}}'),
    ],
)
def test_an_answer_says_something_else(field: Service, kind: str, body: str) -> None:
    """200, and no content that could be taken for the list."""
    field.order_id()
    switch(field, {"point": "api", "kind": kind})
    answer = field.listed()
    assert (answer.status_code, answer.text) == (200, body)


def test_a_page_in_the_place_of_an_answer(field: Service) -> None:
    """HTML, as a proxy would send."""
    switch(field, {"point": "api", "kind": "html"})
    assert field.listed().headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_leads_to_its_target(field: Service, status: int) -> None:
    """The same path at another port, where a client that follows it arrives."""
    target = field.receiver.url.removesuffix("/webhook/")
    switch(field, {"point": "api", "kind": "redirect", "status": status, "target": target})
    field.create()
    (received,) = field.receiver.received
    assert received.path.startswith("/api/v1/order")


def test_silence_does_nothing(field: Service) -> None:
    """No response, no order; the sandbox goes on as soon as the client has gone."""
    switch(field, {"point": "api", "kind": "silent", "times": 1})
    with pytest.raises(requests.Timeout):
        requests.post(f"{field.url}/api/v1/order", json=SIMPLE, timeout=0.2)
    assert field.listed().json()["count"] == 0


def test_rows_leave_the_list_while_it_is_read(field: Service) -> None:
    """Two rows fewer at the beginning with each request."""
    ids = [field.order_id() for _ in range(6)]
    switch(field, {"point": "list", "kind": "shifted_pages", "number": 2})
    assert [field.listed_ids(("limit", "2"), ("offset", "2")) for _ in range(2)] == [ids[2:4], ids[4:6]]
    assert field.listed().json()["count"] == 2


@pytest.mark.spec("EP3-12")
@pytest.mark.parametrize("number", [-1, 0, 99])
def test_count_lies(field: Service, number: int) -> None:
    """The rows are right, their number is not."""
    order_id = field.order_id()
    switch(field, {"point": "list", "kind": "lying_count", "number": number})
    page = field.listed().json()
    assert (page["count"], [item["id"] for item in page["items"]]) == (number, [order_id])


@pytest.mark.spec("EP3-10")
def test_pages_are_capped(field: Service) -> None:
    """Fewer rows than requested, although there are more."""
    ids = [field.order_id() for _ in range(3)]
    switch(field, {"point": "list", "kind": "capped_limit", "number": 2})
    assert field.listed_ids(("limit", "100")) == ids[:2]


@pytest.mark.spec("EP3-12")
def test_items_are_null(field: Service) -> None:
    """Although the count says that there are some."""
    field.order_id()
    switch(field, {"point": "list", "kind": "null_items"})
    assert field.listed().json() == {"count": 1, "items": None}


def test_ties_change_places(field: Service) -> None:
    """Within a second, by the seed; rows of another second keep theirs."""
    first = [field.order_id() for _ in range(8)]
    field.advance(5)
    last = field.order_id()
    seen = []
    for _ in range(2):
        switch(field, {"point": "list", "kind": "unordered_ties"})
        seen.append([field.listed_ids() for _ in range(3)])
    assert seen[0] == seen[1]
    assert len({tuple(ids) for ids in seen[0]}) == 3
    assert all(sorted(ids[:8]) == sorted(first) and ids[8] == last for ids in seen[0])


def test_rows_fall_behind(field: Service) -> None:
    """The list stays as it was when the fault was switched on, and catches up when it is switched off."""
    order_id = field.order_id()
    switch(field, {"point": "list", "kind": "stale_rows"})
    field.act(order_id, "pay")
    field.order_id()
    assert [item["status"] for item in field.listed().json()["items"]] == ["created"]
    switch(field)
    assert [item["status"] for item in field.listed().json()["items"]] == ["processed", "created"]


def test_a_message_is_overtaken(field: Service) -> None:
    """The delayed success is sent after the refund; without a refund when its time is over."""
    success = {"point": "notification", "kind": "reorder", "subject": "payment.success"}
    switch(field, {**success, "seconds": 300})
    order_id = field.paid()
    assert field.receiver.received == []
    field.act(order_id, "refund")
    assert field.receiver.events == ["payment.refund", "payment.success"]
    field.paid()
    field.advance(300)
    assert field.receiver.events == ["payment.refund", "payment.success", "payment.success"]


def test_a_message_is_delayed(field: Service) -> None:
    """Once, by virtual time."""
    switch(field, {"point": "notification", "kind": "delay", "seconds": 60})
    field.paid()
    field.advance(59)
    assert field.receiver.received == []
    field.advance(1)
    assert [each.document["delivery_try"] for each in field.receiver.received] == [0]


@pytest.mark.spec("EVT-10")
def test_an_answer_is_not_heard(field: Service) -> None:
    """The message arrived, and comes again."""
    switch(field, {"point": "notification", "kind": "unheard", "times": 1})
    field.paid()
    field.advance(600)
    assert [each.document["delivery_try"] for each in field.receiver.received] == [0, 1]


@pytest.mark.spec("SVC-07")
@pytest.mark.parametrize("kind", ["gzip", "gzip_signed_as_sent"])
def test_a_message_is_compressed(field: Service, kind: str) -> None:
    """The signature is over the JSON, or over the compressed bytes."""
    switch(field, {"point": "notification", "kind": kind})
    field.paid()
    (received,) = field.receiver.received
    assert received.headers["Content-Encoding"] == "gzip"
    assert received.is_signed_with(SECRET) is (kind == "gzip_signed_as_sent")
    signed = received.body if kind == "gzip_signed_as_sent" else gzip.decompress(received.body)
    digest = hashlib.sha256(signed + SECRET.encode()).hexdigest()
    assert received.headers["Authorization"] == f"Signature {digest}"


@pytest.mark.spec("AUT-07")
def test_a_message_is_signed_in_base64(field: Service) -> None:
    """The right hash in another writing."""
    switch(field, {"point": "notification", "kind": "base64_signature"})
    field.paid()
    (received,) = field.receiver.received
    digest = base64.b64encode(hashlib.sha256(received.body + SECRET.encode()).digest()).decode()
    assert received.headers["Authorization"] == f"Signature {digest}"


def test_a_message_comes_in_chunks(field: Service) -> None:
    """Without a length."""
    switch(field, {"point": "notification", "kind": "chunked"})
    field.paid()
    (received,) = field.receiver.received
    assert received.headers["Transfer-Encoding"] == "chunked"
    assert "Content-Length" not in received.headers


@pytest.mark.parametrize("profile", ["field", "spec"])
def test_a_message_in_an_old_shape(profile: str) -> None:
    """Times as seconds and nanos, money as text, unknown fields, no nulls; signed as ever."""
    with running(profile=profile) as service:
        switch(service, {"point": "notification", "kind": "old_shape"})
        service.act(service.paid(), "refund")
        received = service.receiver.received[-1]
    order = received.document["object"]
    assert received.is_signed_with(SECRET)
    assert received.document["created_at"] == {"seconds": int(NOON.timestamp()), "nanos": 0}
    assert order["refunded_at"] == order["created_at"] == received.document["created_at"]
    assert order["canceled_at"] == "1970-01-01T00:00:00Z"
    assert (order["amount"], order["refund"]["amount"], order["loyalty"]) == ("9.99", "9.99", {"level": 3})
    assert [name for name, value in order.items() if value is None] == ["recurring_plan_id"]
