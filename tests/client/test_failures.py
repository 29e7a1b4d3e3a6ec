"""What the client makes of every kind of failure: the right exception, bounded work, and no secret in it."""

from __future__ import annotations

import base64
import gzip
import json
import socket
import traceback
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from checkout_integration.client import Client, errors
from checkout_integration.protocol.creation import OrderRequest, TokenRequest
from checkout_integration.protocol.listing import TransactionFilter
from tests.client.conftest import SECRET, MakeClient, config_for
from tests.client.stub import Answering, Received, Stub, gzipped, http, running
from tests.protocol.vectors import vector_bytes

FORM = "https://form.example/?order_id=order-1"
ORDER = OrderRequest(project="proj-1", type="simple", currency="USD", amount=Decimal("9.99"))
TOKEN = TokenRequest(project_id="proj-1", type="simple", currency="USD", amount=Decimal("9.99"))
ACCOUNT = "player-42"
PAGE = vector_bytes("transactions")
BASIC = base64.b64encode(f"proj-1:{SECRET}".encode()).decode()

CALLS: dict[str, Callable[[Client], Any]] = {
    "token": lambda client: client.create_token(TOKEN),
    "order": lambda client: client.create_order(ORDER),
    "list": lambda client: client.list_transactions(TransactionFilter(account=ACCOUNT)),
}
ERROR = json.dumps({"code": "zz000001", "message": f"no {SECRET}", "details": f"{BASIC}"}).encode()
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


def failure(client: Client, call: Callable[[Client], Any]) -> errors.CheckoutError:
    """The exception of a call, once it is sure that it shows no secret and drags no request along."""
    with pytest.raises(errors.CheckoutError) as caught:
        call(client)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    for text in (SECRET, BASIC, ACCOUNT):
        assert text not in shown
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return caught.value


DOCUMENTED = [
    pytest.param(
        400, errors.BadRequest, marks=pytest.mark.spec("HTT-05", "EP1-23", "EP2-17", "EP3-12", "HTT-15")
    ),
    pytest.param(401, errors.BadCredentials, marks=pytest.mark.spec("HTT-06", "AUT-05")),
    pytest.param(402, errors.LiveModeInactive, marks=pytest.mark.spec("HTT-07")),
    pytest.param(403, errors.Forbidden, marks=pytest.mark.spec("HTT-08")),
    pytest.param(404, errors.NotFound, marks=pytest.mark.spec("HTT-09", "EP1-23")),
    pytest.param(406, errors.FormatNotSupported, marks=pytest.mark.spec("HTT-10", "SVC-08")),
    pytest.param(409, errors.Conflict, marks=pytest.mark.spec("HTT-11")),
    pytest.param(422, errors.Unprocessable, marks=pytest.mark.spec("HTT-12")),
    pytest.param(429, errors.TooManyRequests, marks=pytest.mark.spec("HTT-13", "LIM-03")),
    pytest.param(500, errors.InternalError, marks=pytest.mark.spec("HTT-14", "EP1-23", "EP2-17", "EP3-12")),
    pytest.param(502, errors.BadGateway, marks=pytest.mark.spec("HTT-14")),
    pytest.param(503, errors.ServiceUnavailable, marks=pytest.mark.spec("HTT-14")),
    pytest.param(504, errors.GatewayTimeout, marks=pytest.mark.spec("HTT-14")),
    pytest.param(418, errors.ServiceAnswered, marks=pytest.mark.spec("SVC-06")),
    pytest.param(507, errors.ServiceFailed, marks=pytest.mark.spec("SVC-06")),
]


@every_call
@pytest.mark.parametrize(("status", "kind"), DOCUMENTED)
@pytest.mark.spec("ERR-01", "ERR-02", "ERR-03", "HTT-01", "SVC-05")
def test_each_status_has_its_exception(
    client_of: MakeClient, call: Callable[[Client], Any], status: int, kind: type[errors.ServiceAnswered]
) -> None:
    """It keeps the service's code, message and details, without the credentials that a service may repeat."""
    with running(http(status, ERROR, Retry_After="0")) as stub:
        error = failure(client_of(stub), call)
    assert type(error) is kind
    assert isinstance(error, errors.ServiceAnswered)
    assert (error.status, error.error.code, error.error.message) == (status, "zz000001", "no ***")
    assert f"answered {status} (zz000001: no ***: ***)" in str(error)


@pytest.mark.parametrize("code", ["ma000022", "co000005", "fm000048"])
@pytest.mark.spec("AUT-05")
def test_bad_credentials_that_answer_400_are_recognised(client_of: MakeClient, code: str) -> None:
    """The field answers 400 with one of three codes where the specification says 401."""
    with running(http(400, json.dumps({"code": code, "message": "x"}).encode())) as stub:
        error = failure(client_of(stub), CALLS["order"])
    assert isinstance(error, errors.BadCredentials)
    assert error.status == 400
    assert not error.outcome_unknown


@every_call
def test_an_error_body_may_be_anything(client_of: MakeClient, call: Callable[[Client], Any]) -> None:
    """HTML of a gateway gives the status alone."""
    with running(http(404, b"<html>")) as stub:
        assert "answered 404 (no details)" in str(failure(client_of(stub), call))


@every_call
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.spec("AUT-02")
def test_redirects_are_refused(client_of: MakeClient, call: Callable[[Client], Any], status: int) -> None:
    """The target, another host that would receive the secret, sees no request at all."""
    with running(http(200, PAGE)) as target, running(http(status, b"", Location=target.url)) as stub:
        error = failure(client_of(stub), call)
        assert target.connections == 0
    assert isinstance(error, errors.RedirectRefused)
    assert len(stub.received) == 1


REPEATED = [429, 500, 502, 503, 504]


@pytest.mark.parametrize("status", REPEATED)
@pytest.mark.parametrize("name", ["token", "list"])
@pytest.mark.spec("HTT-13", "HTT-14")
def test_what_is_repeatable_is_repeated(client_of: MakeClient, name: str, status: int) -> None:
    """Tokens and lists are asked for again, as soon as the service says."""
    good = (
        http(200, PAGE)
        if name == "list"
        else http(200, json.dumps({"token": "t", "payment_form_url": FORM}).encode())
    )
    bad = http(status, ERROR, Retry_After="0")
    with running(bad, bad, good) as stub:
        CALLS[name](client_of(stub))
    assert len(stub.received) == 3
    assert len({request.body for request in stub.received}) == 1


@pytest.mark.parametrize("status", REPEATED)
def test_order_creation_is_never_repeated(client_of: MakeClient, status: int) -> None:
    """Each request makes another order, whatever the answer says about trying again."""
    with running(http(status, ERROR, Retry_After="0")) as stub:
        error = failure(client_of(stub), CALLS["order"])
    assert len(stub.received) == 1
    assert error.outcome_unknown is (status != 429)
    assert error.retry_is_safe is (status == 429)


@pytest.mark.parametrize("name", ["token", "list"])
def test_repetition_is_bounded(client_of: MakeClient, name: str) -> None:
    """Five attempts, then the last answer is the exception."""
    with running(http(503, ERROR, Retry_After="0")) as stub:
        error = failure(client_of(stub), CALLS[name])
    assert isinstance(error, errors.ServiceUnavailable)
    assert error.retry_is_safe and not error.outcome_unknown
    assert len(stub.received) == 5


def test_a_retry_after_beyond_the_deadline_is_not_waited_for(client_of: MakeClient) -> None:
    """The 429 is handed on at once, with time left."""
    with running(http(429, ERROR, Retry_After="3600")) as stub:
        error = failure(client_of(stub, timeout=5.0), CALLS["list"])
    assert isinstance(error, errors.TooManyRequests)
    assert len(stub.received) == 1


def test_an_odd_retry_after_is_ignored(client_of: MakeClient) -> None:
    """It falls back to the client's own pause."""
    with running(http(429, ERROR, Retry_After="soon"), http(200, PAGE)) as stub:
        assert client_of(stub).list_transactions(TransactionFilter()).count == 2


def test_client_errors_are_not_repeated(client_of: MakeClient) -> None:
    """Asking again for what is refused changes nothing."""
    with running(http(404, ERROR)) as stub:
        error = failure(client_of(stub), CALLS["list"])
    assert len(stub.received) == 1
    assert not error.retry_is_safe


def hang_up(connection: socket.socket, _request: Received) -> None:
    """Close without an answer: the request has arrived."""
    connection.shutdown(socket.SHUT_RDWR)


def test_a_lost_answer_leaves_the_outcome_of_an_order_unknown(client_of: MakeClient) -> None:
    """The request arrived once, and nobody knows what became of it."""
    with running(hang_up) as stub:
        error = failure(client_of(stub), CALLS["order"])
    assert isinstance(error, errors.ServiceUnreachable)
    assert error.outcome_unknown and not error.retry_is_safe
    assert len(stub.received) == 1


@pytest.mark.parametrize("name", ["token", "list"])
def test_a_lost_answer_is_asked_for_again(client_of: MakeClient, name: str) -> None:
    """Nothing can happen twice there."""
    good = (
        http(200, PAGE)
        if name == "list"
        else http(200, json.dumps({"token": "t", "payment_form_url": FORM}).encode())
    )
    with running(hang_up, good) as stub:
        CALLS[name](client_of(stub))
    assert len(stub.received) == 2


@every_call
def test_a_refused_connection_leaves_nothing_unknown(call: Callable[[Client], Any]) -> None:
    """The request cannot have arrived, so the sale may be tried again."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        with Client(config_for(f"http://127.0.0.1:{reserved.getsockname()[1]}", timeout=0.5)) as client:
            error = failure(client, call)
    assert isinstance(error, errors.ServiceUnreachable)
    assert error.retry_is_safe and not error.outcome_unknown
    assert "check the address" in str(error)


def dripping(head: bytes, drop: bytes, stub_of: list[Stub]) -> Answering:
    """An answer that comes a byte at a time and never ends."""

    def answer(connection: socket.socket, _request: Received) -> None:
        connection.sendall(head)
        while not stub_of[0].stopped.wait(0.05):
            connection.sendall(drop)

    return answer


DRIPS = {
    "body": (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b" "),
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "until-close": (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", b" "),
    "headers": (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"),
    "status": (b"", b"H"),
    "error": (b"HTTP/1.1 503 Busy\r\nContent-Length: 100000\r\n\r\n", b" "),
}


@every_call
@pytest.mark.parametrize(("head", "drop"), DRIPS.values(), ids=DRIPS)
def test_a_dripping_answer_meets_the_deadline(
    client_of: MakeClient, call: Callable[[Client], Any], head: bytes, drop: bytes
) -> None:
    """Each byte would start a socket time-out anew; the total deadline does not care."""
    stubs: list[Stub] = []
    with running(dripping(head, drop, stubs)) as stub:
        stubs.append(stub)
        error = failure(client_of(stub, timeout=0.5), call)
        assert not stub.stopped.is_set()
    assert isinstance(error, errors.DeadlineExceeded)
    assert error.outcome_unknown is (call is CALLS["order"])


def test_a_silent_service_meets_the_deadline_over_all_attempts(client_of: MakeClient) -> None:
    """Attempts share one deadline instead of having one each."""

    def silent(_connection: socket.socket, _request: Received) -> None:
        stub.stopped.wait(20)

    with running(silent) as stub:
        error = failure(client_of(stub, timeout=0.5), CALLS["list"])
    assert isinstance(error, errors.DeadlineExceeded)
    assert len(stub.received) == 1


BOMB = gzip.compress(bytes(50_000_000))


@every_call
def test_a_gzip_bomb_is_refused(client_of: MakeClient, call: Callable[[Client], Any]) -> None:
    """Fifty megabytes behind fifty kilobytes are never unpacked."""
    with running(http(200, BOMB, Content_Encoding="gzip")) as stub:
        error = failure(client_of(stub), call)
    assert isinstance(error, errors.AnswerUnreadable)
    assert "larger than" in str(error)


def test_a_gzip_bomb_in_an_error_is_refused(client_of: MakeClient) -> None:
    """Error bodies are read with the same bounds."""
    with running(http(400, BOMB, Content_Encoding="gzip")) as stub:
        assert isinstance(failure(client_of(stub), CALLS["order"]), errors.AnswerUnreadable)


@pytest.mark.parametrize(
    ("name", "size", "refused"),
    [("order", 256 * 1024 + 1, True), ("list", 8 * 1024 * 1024 + 1, True), ("list", 256 * 1024 + 1, False)],
)
def test_plain_bodies_are_bounded_too(client_of: MakeClient, name: str, size: int, refused: bool) -> None:
    """256 kB for creation, 8 MiB for a page."""
    with running(http(200, PAGE.rstrip() + b" " * (size - len(PAGE.rstrip())))) as stub:
        client = client_of(stub)
        if refused:
            assert isinstance(failure(client, CALLS[name]), errors.AnswerUnreadable)
        else:
            CALLS[name](client)


def test_a_cut_gzip_body_is_never_data(client_of: MakeClient) -> None:
    """Cut at every byte, the trailer included: the HTTP library alone would accept the last eight cuts."""
    packed = gzip.compress(PAGE, mtime=0)
    cuts = [http(200, packed[:length], Content_Encoding="gzip") for length in range(len(packed))]
    with running(*cuts, gzipped(PAGE)) as stub:
        client = client_of(stub)
        for _ in cuts:
            with pytest.raises(errors.AnswerUnreadable):
                client.list_transactions(TransactionFilter())
        assert client.list_transactions(TransactionFilter()).count == 2


@pytest.mark.parametrize("missing", [1, 10, 100])
def test_a_body_shorter_than_announced_is_never_data(client_of: MakeClient, missing: int) -> None:
    """The connection broke before the answer was complete."""

    def short(connection: socket.socket, _request: Received) -> None:
        connection.sendall(http(200, PAGE)[:-missing])

    with running(short) as stub:
        error = failure(client_of(stub), CALLS["list"])
    assert isinstance(error, errors.ServiceUnreachable)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(PAGE) + b"x", "gzip"),
        (gzip.compress(PAGE) + gzip.compress(PAGE), "gzip"),
        (gzip.compress(gzip.compress(PAGE)), "gzip"),
        (gzip.compress(gzip.compress(PAGE)), "gzip, gzip"),
        (PAGE, "gzip"),
        (PAGE, "br"),
        (PAGE, "deflate"),
        (b"", "gzip"),
    ],
)
def test_odd_compression_is_refused(client_of: MakeClient, body: bytes, encoding: str) -> None:
    """One complete gzip member or none; what was not asked for is not guessed."""
    with running(http(200, body, Content_Encoding=encoding)) as stub:
        assert isinstance(failure(client_of(stub), CALLS["list"]), errors.AnswerUnreadable)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"null", b'"ok"', b"{}", b'{"count":NaN,"items":[]}', b'{"items":[],"items":[]}',
     b'{"count":1,"items":[1]}', "{\"items\":[]}".encode("utf-16"), b"[" * 100_000],
)  # fmt: skip
@every_call
def test_what_is_not_the_answer_is_unreadable(
    client_of: MakeClient, call: Callable[[Client], Any], body: bytes
) -> None:
    """A 200 with anything else than the document is not a success; an order may exist all the same."""
    with running(http(200, body)) as stub:
        error = failure(client_of(stub), call)
    assert isinstance(error, errors.AnswerUnreadable)
    assert error.outcome_unknown is (call is CALLS["order"])


@pytest.mark.parametrize("address", ["http://form.example/?order_id=1", "javascript:alert(1)", "https://"])
@pytest.mark.spec("SVC-05")
def test_customers_are_not_sent_to_an_insecure_form(client_of: MakeClient, address: str) -> None:
    """The form's address is HTTPS like everything else."""
    body = json.dumps({"id": "o", "payment_form_url": address}).encode()
    with running(http(200, body)) as stub:
        assert isinstance(failure(client_of(stub), CALLS["order"]), errors.AnswerUnreadable)


def test_a_cursor_list_that_does_not_advance_is_an_error(client_of: MakeClient) -> None:
    """Otherwise it would be read for ever."""
    stuck = {"data": [{"id": "a"}], "has_more": True, "has_before": False}
    with running(http(200, json.dumps(stuck).encode())) as stub:
        error = failure(client_of(stub), lambda client: list(client.iter_list("/api/v1/things")))
    assert isinstance(error, errors.AnswerUnreadable)
    assert len(stub.received) == 2
