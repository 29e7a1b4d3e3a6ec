"""The webhook's responses, byte by byte."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from checkout_integration.models import Incident, Notification, Order
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import NotificationDocumentFactory, OrderDocumentFactory
from tests.support.flows.shop import notification, statements
from tests.support.wire import body_of, post, signature

pytestmark = pytest.mark.django_db


@pytest.mark.spec("EP5-01", "EP5-02", "EVT-09", "HTT-02")
def test_acknowledgement_is_empty(live_server: LiveServer) -> None:
    """200, a length of zero, no content type, and not one byte of body."""
    body = body_of()
    answer = post(live_server.url, body, authorization=signature(body))
    assert (answer.status, answer.headers["content-length"], answer.body) == (200, "0", b"")
    assert "content-type" not in answer.headers
    assert "transfer-encoding" not in answer.headers


@pytest.mark.spec("EP5-02")
def test_length_is_sent_without_middleware(settings: Any) -> None:
    """CommonMiddleware may be missing, and not every server adds a length; without one a response is chunked."""
    settings.MIDDLEWARE = []
    body = body_of()
    for sent, status in ((signature(body), 200), ("Signature x", 401)):
        response = Client().post(
            "/checkout/webhook/", body, content_type="application/json", headers={"Authorization": sent}
        )
        assert (response.status_code, response["Content-Length"]) == (status, str(len(response.content)))


@pytest.mark.spec("EP5-01", "EP5-02", "EVT-09")
@pytest.mark.parametrize(
    "path",
    ["/checkout/webhook", "/checkout/webhook/", "/checkout/webhook/default", "/checkout/webhook/default/"],
)
def test_every_form_of_the_address_answers_itself(live_server: LiveServer, path: str) -> None:
    """With and without slash, with and without project: a redirect would turn the POST into a GET."""
    body = body_of()
    assert post(live_server.url, body, authorization=signature(body), path=path).status == 200
    assert Notification.objects.count() == 1


@pytest.mark.spec("HTT-09")
@pytest.mark.spec("ERR-01", "ERR-02", "ERR-03")
@pytest.mark.parametrize("path", ["/checkout/webhook/nobody/", "/checkout/webhook/nobody"])
def test_unknown_project_is_not_found(live_server: LiveServer, path: str) -> None:
    """404 with the error object, and no SQL."""
    body = body_of()
    with statements() as seen:
        answer = post(live_server.url, body, authorization=signature(body), path=path)
    assert (answer.status, answer.error["code"], seen) == (404, "UNKNOWN_PROJECT", [])


@pytest.mark.parametrize(
    ("refused", "status", "code"),
    [
        pytest.param(
            {"authorization": "Signature x"}, 401, "INVALID_SIGNATURE", marks=pytest.mark.spec("HTT-06")
        ),
        pytest.param(
            {"path": "/checkout/webhook/nobody/"}, 404, "UNKNOWN_PROJECT", marks=pytest.mark.spec("HTT-09")
        ),
        pytest.param(
            {"headers": {"Content-Encoding": "br"}}, 400, "INVALID_BODY", marks=pytest.mark.spec("HTT-05")
        ),
        pytest.param({"length": 2**21}, 413, "TOO_LARGE", marks=pytest.mark.spec("LIM-03")),
        pytest.param(
            {"authorization": signature(b"{"), "body": b"{"},
            400,
            "INVALID_JSON",
            marks=pytest.mark.spec("HTT-05"),
        ),
    ],
)
@pytest.mark.spec("SVC-05", "HTT-01", "ERR-01", "ERR-02", "ERR-03", "SVC-06")
def test_every_refusal_is_json(
    live_server: LiveServer, refused: dict[str, Any], status: int, code: str
) -> None:
    """By its type and its content: three texts and nothing else."""
    body = body_of()
    answer = post(live_server.url, **{"body": body, "authorization": signature(body), **refused})
    assert (answer.status, answer.headers["content-type"]) == (status, "application/json")
    assert list(answer.error) == ["code", "message", "details"]
    assert (answer.error["code"], answer.error["details"]) == (code, "")
    assert answer.error["message"].endswith(".")


@pytest.mark.spec("EP5-01")
@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD", "DELETE", "OPTIONS"])
def test_other_methods_are_not_allowed(live_server: LiveServer, method: str) -> None:
    """The service sends POST; the Allow header names it."""
    answer = post(live_server.url, method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


@pytest.mark.spec("HTT-05")
@pytest.mark.spec("EP5-01", "ERR-01")
@pytest.mark.parametrize("body", [b"", b"gems", b'{"id": ', b"\xff\xfe{}", b'{"id": NaN}'])
def test_signed_body_that_is_not_json_is_a_bad_request(checkout_deliver: Deliver, body: bytes) -> None:
    """400, and nothing is stored: there is nothing that could be read later."""
    answer = checkout_deliver(body)
    assert (answer.status_code, b'"INVALID_JSON"' in answer.content) == (400, True)
    assert not Notification.objects.exists()
    assert not Incident.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        b'{"id": "1", "id": "2", "event": "payment.success", "object": {}}',
        b'{"id": "1", "event": "payment.success", "object": ' + b"[" * 100 + b"]" * 100 + b"}",
        b'{"id": "1", "event": "payment.success", "object": {"amount": ' + b"1" * 50 + b"}}",
        b'{"id": "1", "event": "payment.success", "object": {"amount": 1e2000000}}',
        b'{"event": "payment.success", "object": {}}',
        b'{"id": "1", "object": {}}',
        b'{"id": "1", "event": "payment.success"}',
        b"[]",
        b"null",
    ],
    ids=["equal keys", "depth", "digits", "exponent", "no id", "no event", "no object", "a list", "null"],
)
def test_json_beyond_our_limits_is_stored(checkout_deliver: Deliver, body: bytes) -> None:
    """200, the bytes are stored, and an incident: a refusal would mean 48 h of retries."""
    for _ in range(2):
        answer = checkout_deliver(body)
        assert (answer.status_code, answer.content) == (200, b"")
    notification = Notification.objects.get()
    assert (notification.state, bytes(notification.body or b""), notification.receipts) == (
        "quarantined",
        body,
        2,
    )
    assert Incident.objects.get().kind == "refused_content"


def test_order_without_an_id_is_stored(checkout_deliver: Deliver) -> None:
    """It names nothing that could be recorded, so it is stored for staff."""
    body = body_of(object=OrderDocumentFactory(id=""))
    assert checkout_deliver(body).status_code == 200
    assert Notification.objects.get().state == "quarantined"
    assert not Order.objects.exists()


@pytest.mark.spec("WHK-03")
def test_unknown_event_is_stored(checkout_deliver: Deliver) -> None:
    """200, stored as it came, an incident, no order, whatever the object is."""
    body = body_of(event="payment.paused")
    for _ in range(2):
        assert checkout_deliver(body).status_code == 200
    assert bytes(Notification.objects.get().body or b"") == body
    assert Incident.objects.get().kind == "unknown_event"
    assert not Order.objects.exists()


@pytest.mark.spec("STA-01", "EVT-03")
def test_unknown_status_is_stored(checkout_deliver: Deliver) -> None:
    """The event decides; the unknown status is an incident."""
    body = body_of(object=OrderDocumentFactory(status="dancing"))
    assert checkout_deliver(body).status_code == 200
    assert Order.objects.get().status == "processed"
    assert "unknown_status" in set(Incident.objects.values_list("kind", flat=True))


@pytest.mark.spec("WHK-08")
def test_unknown_fields_are_stored(checkout_deliver: Deliver) -> None:
    """Fields come and go: all of them are in the order's document."""
    order = {**OrderDocumentFactory(), "recurring_plan_id": "plan-7", "novelty": {"deep": [1]}}
    body = body_of({**notification(order=order), "envelope_novelty": True})
    assert checkout_deliver(body).status_code == 200
    document = Order.objects.get().whole_document
    assert (document["recurring_plan_id"], document["novelty"]) == ("plan-7", {"deep": [1]})


@pytest.mark.parametrize(
    "odd",
    [
        {"id": 7},
        {"id": {"a": 1}},
        {"user": "ada"},
        {"amount": "a lot"},
        {"amount": -(10**30)},
        {"created_at": "yesterday"},
        {"items": {"not": "a list"}},
        {"metadata": ["x"]},
        {"currency": "X" * 300, "type": "y" * 300, "transaction": "z" * 3000},
        {"description": "\x00 \ud800"},
        {"refund": [], "cancellation": 7, "method": "card"},
    ],
    ids=str,
)
def test_odd_values_never_fail(checkout_deliver: Deliver, odd: dict[str, object]) -> None:
    """A signed message may contain anything: it is acknowledged even where it cannot be read."""
    order = {**OrderDocumentFactory(), **odd}
    description = order["description"]
    body = body_of({**notification(order={**order, "description": ""})})
    if "\x00" in str(description):
        body = body.replace(b'"description":""', b'"description":"\\u0000 \\ud800"')
    assert checkout_deliver(body).status_code == 200
    assert Notification.objects.get().state in ("applied", "quarantined")


@pytest.mark.spec("WHK-07")
@pytest.mark.parametrize("delivery_try", [-1, 10**30, "seven", None, True])
def test_odd_attempt_numbers_never_fail(checkout_deliver: Deliver, delivery_try: object) -> None:
    """The number of the attempt only moves a time."""
    body = body_of({**NotificationDocumentFactory(), "delivery_try": delivery_try})
    assert checkout_deliver(body).status_code == 200
    assert Order.objects.get().status == "processed"
