"""The receiver in every host: the genuine is stored and acknowledged by nothing, the rest is refused."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from checkout_integration.flows.webhook.receiving import LARGEST_BODY
from checkout_integration.testing.payloads import OrderDocumentFactory, UserDocumentFactory
from tests.stress.hosts.running import Running
from tests.stress.hosts.shop import KNOWN
from tests.support import wire
from tests.support.flows.shop import notification

HOP_BY_HOP = {"location", "content-type", "transfer-encoding", "content-encoding"}
"""Headers that an empty acknowledgement must not carry: they announce a body, or another address."""
COUNTED = 4
"""Statements of a first refusal, after its response: the connection's own, and one that counts it (docs/health.md)."""


def chunked(body: bytes) -> bytes:
    """The body in two chunks."""
    parts = (body[:100], body[100:])
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def is_empty_200(answer: wire.Answer) -> bool:
    """Whether this is an acknowledgement to the byte (EP5-02)."""
    length = answer.headers.get("content-length")
    return (answer.status, length, answer.body) == (200, "0", b"") and not HOP_BY_HOP & set(answer.headers)


def rows_of(stored: Any, order_id: str) -> tuple[Any, Any]:
    """The states and receipts of an order's notifications, and the steps that the order took."""
    notifications = [each for each in stored["notifications"] if each["object_id"] == order_id]
    orders = [each for each in stored["orders"] if each["order_id"] == order_id]
    return (
        [(each["state"], each["receipts"]) for each in notifications],
        [(each["status"], each["transitions__to_status"]) for each in orders],
    )


@pytest.mark.parametrize("form", ["plain", "gzip", "chunked"])
def test_a_genuine_notification_is_stored_applied_and_acknowledged_by_nothing(
    host: Running, form: str
) -> None:
    """An empty 200 with a length, and after it the order is paid."""
    order = OrderDocumentFactory()
    body = wire.body_of(notification(order=order))
    signature = wire.signature(body)
    if form == "chunked":
        answer = host.post(chunked(body), signature, length=None, headers={"Transfer-Encoding": "chunked"})
    elif form == "gzip":
        answer = host.post(gzip.compress(body), signature, headers={"Content-Encoding": "gzip"})
    else:
        answer = host.post(body, signature)
    assert is_empty_200(answer), answer
    applied = ([("applied", 1)], [("processed", "processed")])
    host.await_stored(lambda stored: rows_of(stored, order["id"]) == applied)


@pytest.mark.parametrize("forgery", ["forged", "missing", "twice", "another scheme"])
def test_what_is_not_signed_is_refused_and_at_most_counted(host: Running, forgery: str) -> None:
    """401 with the error object, in whatever way the header fails. After it the refusal may be counted, once a minute."""
    order = OrderDocumentFactory()
    body = wire.body_of(notification(order=order))
    genuine = wire.signature(body)
    sent = {
        "forged": wire.signature(body, "another secret"),
        "missing": None,
        "twice": genuine,
        "another scheme": genuine.replace("Signature", "Bearer"),
    }[forgery]
    host.stored()  # the first connection of a process asks MariaDB for its version and is opened twice
    before = host.statements()
    answer = host.post(body, sent, headers={"Authorization": genuine} if forgery == "twice" else {})
    after = host.statements()
    assert (answer.status, answer.headers["content-type"]) == (401, "application/json")
    assert (answer.error["code"], set(answer.error)) == ("INVALID_SIGNATURE", {"code", "message", "details"})
    assert answer.headers["content-length"] == str(len(answer.body))
    assert after - before <= COUNTED or host.host.own_statements
    assert rows_of(host.stored(), order["id"]) == ([], [])


@pytest.mark.parametrize(("external_id", "status"), [(KNOWN, 200), ("a stranger", 403)])
def test_a_customer_is_approved_or_refused(host: Running, external_id: str, status: int) -> None:
    """user.validate: an empty 200, or the error object."""
    user = UserDocumentFactory(external_id=external_id)
    answer = host.deliver(notification("user.validate", order=user))
    assert answer.status == status
    assert is_empty_200(answer) if status == 200 else answer.error["code"] == "INVALID_USER"


def test_a_repetition_is_acknowledged_and_changes_nothing(host: Running) -> None:
    """One row that counts its receipts, one step of the order."""
    order = OrderDocumentFactory()
    message = notification(order=order)
    assert all(is_empty_200(host.deliver(message)) for _ in range(3))
    applied = ([("applied", 3)], [("processed", "processed")])
    host.await_stored(lambda stored: rows_of(stored, order["id"]) == applied)


@pytest.mark.parametrize("path", ["webhook", "webhook/", "webhook/default", "webhook/default/"])
def test_every_form_of_the_address_answers_by_itself(host: Running, path: str) -> None:
    """Never a redirect, which would turn the POST into a GET."""
    body = wire.body_of(notification())
    assert is_empty_200(host.post(body, wire.signature(body), path=path))
    assert host.post(body, "Signature x", path=path).status == 401


def test_an_unknown_project_is_not_found(host: Running) -> None:
    """404 with the error object, no page."""
    body = wire.body_of(notification())
    answer = host.post(body, wire.signature(body), path="webhook/nobody/")
    assert (answer.status, answer.error["code"]) == (404, "UNKNOWN_PROJECT")


def test_a_project_takes_its_own_signatures_only(host: Running) -> None:
    """Where there are several; elsewhere the others do not exist."""
    body = wire.body_of(notification())
    own = wire.signature(body, "sandbox_secret_of_europe")
    there = host.name == "several projects"
    assert host.post(body, own, path="webhook/europe/").status == (200 if there else 404)
    assert host.post(body, own, path="webhook/asia/").status == (401 if there else 404)


def test_a_visitor_reads_the_method(host: Running) -> None:
    """A GET is no reason to log in, nor to be sent elsewhere."""
    answer = host.post(b"", method="GET")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_a_body_above_the_limit_is_refused(host: Running) -> None:
    """413; its length alone is enough where nothing reads bodies ahead, as ASGI does."""
    body = b" " * (LARGEST_BODY + 1)
    if host.server == "asgi" or host.name == "body read before":
        answer = host.post(body, wire.signature(body))
    else:
        answer = host.post(b"", "Signature x", length=1024**3)
    assert (answer.status, answer.error["code"]) == (413, "TOO_LARGE")


def test_a_chunked_body_above_the_limit_is_refused(host: Running) -> None:
    """Its length shows only as it comes."""
    body = chunked(b" " * (LARGEST_BODY + 1))
    answer = host.post(body, "Signature x", length=None, headers={"Transfer-Encoding": "chunked"})
    assert (answer.status, answer.error["code"]) == (413, "TOO_LARGE")
