"""How a body may arrive: sizes, lengths, compression, and what stands in front of the view."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.db import connection, connections
from django.http import HttpRequest, HttpResponse
from pytest_django.live_server_helper import LiveServer

from checkout_integration.flows.webhook.receiving import LARGEST_BODY
from checkout_integration.models import Notification
from checkout_integration.protocol.vocabulary import TestingCase
from checkout_integration.sandbox import Sandbox
from tests.support.flows.shop import ShopHooks, statements
from tests.support.wire import body_of, exchange, post, signature

pytestmark = pytest.mark.usefixtures("transactional_db")


class ReadingMiddleware:
    """Reads the body before the view, as logging middleware does."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Reads, and goes on."""
        assert request.body is not None
        return self.get_response(request)


def padded(size: int) -> bytes:
    """A notification of so many bytes."""
    body = body_of()
    return body + b" " * (size - len(body))


def test_declared_size_above_the_limit_is_refused_unread(live_server: LiveServer) -> None:
    """413 at once: not a byte of a gigabyte is waited for."""
    with statements() as seen:
        answer = post(live_server.url, authorization="Signature x", length=1024**3)
    assert (answer.status, answer.error["code"], seen) == (413, "TOO_LARGE", [])


@pytest.mark.spec("LIM-03")
@pytest.mark.parametrize(("size", "status"), [(LARGEST_BODY, 200), (LARGEST_BODY + 1, 413)])
def test_limit_of_the_size_is_one_mebibyte(live_server: LiveServer, size: int, status: int) -> None:
    """The limit itself is let in."""
    body = padded(size)
    assert post(live_server.url, body, authorization=signature(body)).status == status


@pytest.mark.parametrize("length", ["-5", "many", "1e3", ""])
def test_odd_length_is_never_a_server_error(live_server: LiveServer, length: str) -> None:
    """Any false length is refused."""
    request = (
        b"POST /checkout/webhook/ HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n"
        b"Content-Length: " + length.encode() + b"\r\nAuthorization: Signature x\r\n\r\n"
    )
    assert exchange(live_server.url, request).status in (400, 401, 411)


def test_body_without_a_length_is_refused_with_the_reason(live_server: LiveServer) -> None:
    """A server that does not mark its input as terminated cannot read a chunked body: 411, never a silent 401."""
    body = body_of()
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    answer = post(
        live_server.url,
        chunked,
        authorization=signature(body),
        length=None,
        headers={"Transfer-Encoding": "chunked"},
    )
    assert (answer.status, answer.error["code"]) == (411, "LENGTH_REQUIRED")


def through_wsgi(body: bytes, **environ: Any) -> int:
    """The status of a request as a server with terminated input hands it over: without a length."""
    answered: list[str] = []

    def start_response(status: str, *rest: object) -> Callable[[bytes], object]:
        answered.append(status)
        return answered.append  # type: ignore[return-value]

    environment = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/checkout/webhook/",
        "SERVER_NAME": "shop.example.com",
        "SERVER_PORT": "80",
        "HTTP_TRANSFER_ENCODING": "chunked",
        "HTTP_AUTHORIZATION": signature(body),
        "wsgi.input": io.BytesIO(body),
        "wsgi.input_terminated": True,
        "wsgi.errors": io.StringIO(),
        "wsgi.url_scheme": "http",
        **environ,
    }
    response = WSGIHandler()(environment, start_response)
    response.close()
    return int(answered[0].split()[0])


@pytest.mark.spec("EP5-01")
def test_chunked_body_is_accepted_where_input_is_terminated(live_server: LiveServer) -> None:
    """Servers such as gunicorn unpack the chunks and mark the end."""
    assert through_wsgi(body_of()) == 200
    assert Notification.objects.count() == 1


def test_chunked_body_above_the_limit_is_refused(live_server: LiveServer) -> None:
    """The real size counts where none is declared."""
    assert through_wsgi(padded(LARGEST_BODY + 1)) == 413


def test_chunked_body_behind_reading_middleware_is_accepted(live_server: LiveServer, settings: Any) -> None:
    """Django hands such middleware an empty body under WSGI; the notification is there all the same."""
    settings.MIDDLEWARE = ["tests.views.test_webhook_bodies.ReadingMiddleware"]
    assert through_wsgi(body_of()) == 200


def test_middleware_may_have_read_the_body(live_server: LiveServer, settings: Any) -> None:
    """Django keeps what was read; the view takes that."""
    settings.MIDDLEWARE = ["tests.views.test_webhook_bodies.ReadingMiddleware", *settings.MIDDLEWARE]
    body = body_of()
    assert post(live_server.url, body, authorization=signature(body)).status == 200


def test_upload_limit_of_the_shop_does_not_apply(live_server: LiveServer, settings: Any) -> None:
    """DATA_UPLOAD_MAX_MEMORY_SIZE is about the shop's forms."""
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10
    body = body_of()
    assert post(live_server.url, body, authorization=signature(body)).status == 200


@pytest.mark.spec("SVC-07", "AUT-04")
@pytest.mark.parametrize("signed", ["the JSON", "the bytes as sent"])
def test_compressed_body_is_accepted(live_server: LiveServer, signed: str) -> None:
    """Signed over the JSON body, as in the specification, or over the compressed bytes."""
    body = body_of()
    sent = gzip.compress(body)
    answer = post(
        live_server.url,
        sent,
        authorization=signature(body if signed == "the JSON" else sent),
        headers={"Content-Encoding": "gzip"},
    )
    assert answer.status == 200
    assert bytes(Notification.objects.get().body or b"") == body


@pytest.mark.spec("SVC-07")
@pytest.mark.parametrize(
    ("accepted", "packed"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("br,x-gzip", True),
        ("gzip; q=1.0", True),
        ("gzip;q=0", False),
        ("gzip;q=0.000, br", False),
        ("identity", False),
        ("not-gzip, gzipped", False),
        ("", False),
    ],
)
def test_an_error_object_is_packed_for_who_asks(live_server: LiveServer, accepted: str, packed: bool) -> None:
    """The same object either way; an acknowledgement has no body, so nothing is packed."""
    body, headers = body_of(), {"Accept-Encoding": accepted}
    refused = post(live_server.url, body, authorization="Signature x", headers=headers)
    assert refused.headers.get("content-encoding") == ("gzip" if packed else None)
    assert refused.headers["vary"] == "Accept-Encoding"
    body = gzip.decompress(refused.body) if packed else refused.body
    assert json.loads(body)["code"] == "INVALID_SIGNATURE"
    taken = post(live_server.url, body, authorization=signature(body), headers=headers)
    assert (taken.status, taken.body, "content-encoding" in taken.headers) == (200, b"", False)


@pytest.mark.spec("SVC-07", "AUT-04")
def test_the_sandbox_reads_a_packed_error(checkout_sandbox: Sandbox, live_server: LiveServer) -> None:
    """It accepts gzip, as many HTTP libraries do: the testing case ends as expected."""
    project = checkout_sandbox.projects.get("")
    trial = checkout_sandbox.testing.run(project, TestingCase.INVALID_SIGNATURE, "ada")
    assert (trial.status, trial.code, trial.passed) == (401, "INVALID_SIGNATURE", True)


@pytest.mark.spec("SVC-07")
@pytest.mark.parametrize(
    ("sent", "encoding"),
    [
        (gzip.compress(b" " * (LARGEST_BODY + 1)), "gzip"),
        (gzip.compress(b" " * 50_000_000), "gzip"),
        (gzip.compress(b"{}")[:-1], "gzip"),
        (gzip.compress(b"{}") + b"more", "gzip"),
        (gzip.compress(b"{}") * 2, "gzip"),
        (b"{}", "gzip"),
        (b"{}", "br"),
    ],
    ids=["too large", "bomb", "cut", "more after it", "two members", "not compressed", "another encoding"],
)
def test_damaged_compression_is_a_bad_request(live_server: LiveServer, sent: bytes, encoding: str) -> None:
    """400 with the error object, before any look at the database."""
    with statements() as seen:
        answer = post(
            live_server.url, sent, authorization=signature(sent), headers={"Content-Encoding": encoding}
        )
    assert (answer.status, answer.error["code"], seen) == (400, "INVALID_BODY", [])


@pytest.fixture
def atomic_requests() -> Iterator[None]:
    """Every request of the shop is one transaction."""
    database = connections.databases["default"]
    before, database["ATOMIC_REQUESTS"] = database["ATOMIC_REQUESTS"], True
    yield
    database["ATOMIC_REQUESTS"] = before


def test_whole_requests_in_one_transaction_change_nothing(
    live_server: LiveServer, atomic_requests: None, hooks: type[ShopHooks]
) -> None:
    """With ATOMIC_REQUESTS a 200 would be sent before the commit; the view is exempt."""
    hooks.user = staticmethod(lambda user: not connection.in_atomic_block)
    body = body_of(event="user.validate")
    assert post(live_server.url, body, authorization=signature(body)).status == 200
