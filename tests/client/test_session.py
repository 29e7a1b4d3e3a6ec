"""A session of the shop's: its proxies, headers and mounted adapters are used, and the client's own rules stay."""

from __future__ import annotations

import socket
from typing import Any

import pytest
import requests
from requests.adapters import HTTPAdapter

from checkout_integration.client import Client
from checkout_integration.client.errors import DeadlineExceeded, ResponseUnreadable
from tests.client.conftest import SECRET, config_for
from tests.client.test_client import ORDER, ORDER_ANSWER
from tests.support.client.stub import Received, http, running
from tests.support.documents import block


class CountingAdapter(HTTPAdapter):
    """An adapter of the shop's."""

    sent = 0

    def send(self, *args: Any, **options: Any) -> requests.Response:
        """Count the request, and send it."""
        self.sent += 1
        return super().send(*args, **options)


@pytest.mark.spec("SVC-07", "AUT-02", "VER-02")
def test_headers_are_added_and_ours_win() -> None:
    """A session may name the shop; it cannot sign for us, nor ask for an encoding that the client does not read."""
    session = requests.Session()
    session.headers.update({"X-Shop": "gems", "X-API-SIGNATURE": "another", "Accept-Encoding": "br"})
    with running(http(200, ORDER_ANSWER)) as stub, Client(config_for(stub.url), session) as client:
        client.create_order(ORDER)
    (request,) = stub.received
    assert request.headers["x-shop"] == "gems"
    assert request.headers["x-api-signature"] == SECRET
    assert request.headers["accept-encoding"] == "gzip"


def test_a_proxy_is_used() -> None:
    """The request goes to the proxy, with the service's whole address."""
    session = requests.Session()
    with running(http(200, ORDER_ANSWER)) as proxy:
        session.proxies = {"http": proxy.url}
        with Client(config_for("http://127.0.0.1:9"), session) as client:
            assert client.create_order(ORDER).id == "order-1"
    assert [request.target for request in proxy.received] == ["http://127.0.0.1:9/api/v1/order"]


def test_the_deadline_holds_through_a_proxy() -> None:
    """A proxy with an endless first header takes no longer than the time-out."""
    session = requests.Session()

    def endless(connection: socket.socket, _request: Received) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nX-Drip: ")
        while not proxy.stopped.wait(0.01):
            connection.sendall(b"x")

    with running(endless) as proxy:
        session.proxies = {"http": proxy.url}
        client = Client(config_for("http://127.0.0.1:9", timeout=0.2), session)
        with client, pytest.raises(DeadlineExceeded):
            client.create_order(ORDER)


@pytest.mark.spec("AUT-02")
def test_redirects_are_not_followed() -> None:
    """They would carry the secret to another host."""
    answers = http(302, Location="http://127.0.0.1:9/"), http(200, ORDER_ANSWER)
    with running(*answers) as stub, Client(config_for(stub.url), requests.Session()) as client:
        with pytest.raises(Exception, match="302"):
            client.create_order(ORDER)
        assert len(stub.received) == 1


def test_the_body_of_a_redirect_is_not_read() -> None:
    """Not beyond the limit of any other body, although requests reads it all to say where it would lead."""
    too_large = pytest.raises(ResponseUnreadable, match="larger than")
    with running(http(302, b" " * 300_000, Location="http://127.0.0.1:9/")) as stub:
        client = Client(config_for(stub.url))
        with client, too_large:
            client.create_order(ORDER)


def test_a_mounted_adapter_sends() -> None:
    """What the shop mounts for the address takes the place of ours."""
    session, adapter = requests.Session(), CountingAdapter()
    with running(http(200, ORDER_ANSWER)) as stub:
        session.mount(stub.url, adapter)
        with Client(config_for(stub.url), session) as client:
            client.create_order(ORDER)
    assert adapter.sent == 1


def test_the_session_of_the_docs() -> None:
    """The function of docs/settings.md, as `HTTP_SESSION` names it, is used for a call."""
    module: dict[str, Any] = {}
    exec(block("docs/settings.md", "# shop/service.py"), module)  # the page's own code
    settings: dict[str, Any] = {"CHECKOUT_INTEGRATION": {}}
    exec(block("docs/settings.md", "# settings.py, through a proxy"), settings)
    assert settings["CHECKOUT_INTEGRATION"] == {"HTTP_SESSION": "shop.service.new_session"}
    session = module["new_session"]()
    with running(http(200, ORDER_ANSWER)) as proxy:
        session.proxies = {"http": proxy.url, **session.proxies}
        with Client(config_for("http://127.0.0.1:9"), session) as client:
            assert client.create_order(ORDER).id == "order-1"
    assert session.proxies["https"].endswith(":3128")
