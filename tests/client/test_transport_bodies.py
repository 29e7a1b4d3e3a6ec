"""Bodies that are too large, cut, oddly compressed, or of another kind."""

from __future__ import annotations

import gzip
import json
import socket
import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import pytest

from checkout_integration.client import Client, errors
from checkout_integration.protocol.body import BodyRefused, read_body
from checkout_integration.protocol.listing import TransactionFilter
from checkout_integration.protocol.strict_json import unread_in
from tests.client.conftest import MakeClient
from tests.support.client.calls import CALLS, PAGE, every_call, failure
from tests.support.client.stub import Received, gzipped, http, running

BOMB = gzip.compress(bytes(50_000_000))


@pytest.mark.spec("SVC-07")
@every_call
def test_a_gzip_bomb_is_refused(client_of: MakeClient, call: Callable[[Client], Any]) -> None:
    """Fifty megabytes behind fifty kilobytes are never unpacked."""
    with running(http(200, BOMB, Content_Encoding="gzip")) as stub:
        error = failure(client_of(stub), call)
    assert isinstance(error, errors.ResponseUnreadable)
    assert "larger than" in str(error)


def test_a_gzip_bomb_in_an_error_is_refused(client_of: MakeClient) -> None:
    """Error bodies are read with the same bounds."""
    with running(http(400, BOMB, Content_Encoding="gzip")) as stub:
        assert isinstance(failure(client_of(stub), CALLS["order"]), errors.ResponseUnreadable)


@pytest.mark.parametrize(
    ("name", "size", "refused"),
    [("order", 256 * 1024 + 1, True), ("list", 7 * 1024 * 1024 + 1, True), ("list", 256 * 1024 + 1, False)],
)
def test_plain_bodies_are_bounded_too(client_of: MakeClient, name: str, size: int, refused: bool) -> None:
    """256 kB for creation, 7 MiB for a page."""
    with running(http(200, PAGE.rstrip() + b" " * (size - len(PAGE.rstrip())))) as stub:
        client = client_of(stub)
        if refused:
            assert isinstance(failure(client, CALLS[name]), errors.ResponseUnreadable)
        else:
            CALLS[name](client)


@pytest.mark.spec("SVC-07")
def test_a_cut_gzip_body_is_never_data(client_of: MakeClient) -> None:
    """Cut at every byte, the trailer included: the HTTP library alone would accept the last eight cuts."""
    packed = gzip.compress(PAGE, mtime=0)
    cuts = [http(200, packed[:length], Content_Encoding="gzip") for length in range(len(packed))]
    with running(*cuts, gzipped(PAGE)) as stub:
        client = client_of(stub)
        for _ in cuts:
            with pytest.raises(errors.ResponseUnreadable):
                client.list_transactions(TransactionFilter())
        assert client.list_transactions(TransactionFilter()).count == 2


@pytest.mark.parametrize("missing", [1, 10, 100])
def test_a_body_shorter_than_announced_is_never_data(client_of: MakeClient, missing: int) -> None:
    """The connection broke before the response was complete."""

    def short(connection: socket.socket, _request: Received) -> None:
        connection.sendall(http(200, PAGE)[:-missing])

    with running(short) as stub:
        error = failure(client_of(stub), CALLS["list"])
    assert isinstance(error, errors.ServiceUnreachable)


@pytest.mark.spec("SVC-07")
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
    """One complete gzip member or none; other encodings are refused."""
    with running(http(200, body, Content_Encoding=encoding)) as stub:
        assert isinstance(failure(client_of(stub), CALLS["list"]), errors.ResponseUnreadable)


@pytest.mark.spec("EP2-17", "SVC-05")
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
    assert isinstance(error, errors.ResponseUnreadable)
    assert error.outcome_unknown is (call is CALLS["order"])


@pytest.mark.spec("SVC-05", "AUT-01")
@pytest.mark.parametrize("allowed", [True, False])
def test_a_form_on_this_machine_needs_the_setting(client_of: MakeClient, allowed: bool) -> None:
    """As the address of the service does; a named host is no other one."""
    body = json.dumps({"id": "o", "payment_form_url": "http://localhost:9/?order_id=1"}).encode()
    with running(http(200, body)) as stub:
        hosts = (str(urlsplit(stub.url).hostname),)
        client = client_of(stub, allow_http_loopback=allowed, allow_http_hosts=hosts)
        if allowed:
            assert CALLS["order"](client).id == "o"
        else:
            assert isinstance(failure(client, CALLS["order"]), errors.ResponseUnreadable)


@pytest.mark.parametrize("address", ["http://form.example/?order_id=1", "javascript:alert(1)", "https://"])
@pytest.mark.spec("SVC-05")
def test_customers_are_not_sent_to_an_insecure_form(client_of: MakeClient, address: str) -> None:
    """The form's address is HTTPS like everything else."""
    body = json.dumps({"id": "o", "payment_form_url": address}).encode()
    with running(http(200, body)) as stub:
        assert isinstance(failure(client_of(stub), CALLS["order"]), errors.ResponseUnreadable)


def test_an_odd_number_in_a_row_costs_its_field(client_of: MakeClient) -> None:
    """Not the row, and not the page: the row says which field is empty."""
    rows = b'{"count":2,"items":[{"id":"a","amount":1.1e-21,"currency":"USD"},{"id":"b","amount":9.99}]}'
    with running(http(200, rows)) as stub:
        odd, fine = client_of(stub).list_transactions(TransactionFilter()).items
    assert (odd.id, odd.amount, odd.currency, unread_in(odd.document)) == ("a", None, "USD", ("amount",))
    assert (fine.amount, unread_in(fine.document)) == (Decimal("9.99"), ())


@pytest.mark.spec("EP4-02")
def test_a_cursor_list_that_does_not_advance_is_an_error(client_of: MakeClient) -> None:
    """Otherwise it would be read for ever."""
    stuck = {"data": [{"id": "a"}], "has_more": True, "has_before": False}
    with running(http(200, json.dumps(stuck).encode())) as stub:
        error = failure(client_of(stub), lambda client: list(client.iter_list("/api/v1/things")))
    assert isinstance(error, errors.ResponseUnreadable)
    assert len(stub.received) == 2


@pytest.mark.parametrize(
    "broken", [b"\xff", b"caf\xe9", b"\xed\xa0\x80", b"cut \xc3", b"\xc0\xaf", b"\\ud800", b"a\\u0000b"]
)
@pytest.mark.parametrize("position", [1, 2])
def test_a_broken_id_of_a_cursor_list_is_an_error(
    client_of: MakeClient, broken: bytes, position: int
) -> None:
    """It says which element; such an id names nothing, and the list could not be continued after it."""
    ids = [b"a", b"b"]
    ids[position - 1] = broken
    data = b",".join(b'{"id":"%s","name":"n"}' % each for each in ids)
    page = b'{"object":"list","data":[%s],"has_more":false,"has_before":false,"total_count":2}' % data
    with running(http(200, page)) as stub:
        error = failure(client_of(stub), lambda client: client.list_page("/api/v1/things"))
    assert isinstance(error, errors.ResponseUnreadable)
    assert f"the id of element {position} of the page has characters that cannot be read" in str(error)


def test_a_broken_text_of_a_cursor_list_costs_its_field(client_of: MakeClient) -> None:
    """It has U+FFFD, as has an id that was sent with that character."""
    data = b'{"id":"caf\xef\xbf\xbd","name":"caf\xe9"}'
    page = b'{"object":"list","data":[%s],"has_more":false,"has_before":false}' % data
    with running(http(200, page)) as stub:
        (element,) = client_of(stub).list_page("/api/v1/things").data
    assert dict(element) == {"id": "caf\ufffd", "name": "caf\ufffd"}


@pytest.mark.spec("EP4-02")
def test_a_cursor_list_whose_last_element_has_no_id_is_an_error(client_of: MakeClient) -> None:
    """An empty cursor would be none, and the first page would come again."""
    page = {"data": [{"id": "a"}, {"id": ""}], "has_more": True, "has_before": False}
    with running(http(200, json.dumps(page).encode())) as stub:
        error = failure(client_of(stub), lambda client: list(client.iter_list("/api/v1/things")))
    assert isinstance(error, errors.ResponseUnreadable)
    assert len(stub.received) == 1


def test_a_bomb_is_never_unpacked_in_memory() -> None:
    """Not even in part: decompression itself is bounded."""
    tracemalloc.start()
    try:
        with pytest.raises(BodyRefused):
            read_body([BOMB], "gzip", 100_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
