"""What shops use in their tests to stop or to answer HTTP calls sees each call of the client, and can stop it."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
import requests_mock
import responses
import vcr

from checkout_integration.client import Client
from tests.client.conftest import config_for
from tests.support.client.calls import CALLS, FORM, PAGE
from tests.support.client.stub import http, running

SERVICE = "https://service.invalid"
ANSWERS = {
    "token": ("POST", "/api/v1/tokens", json.dumps({"token": "t", "payment_form_url": FORM}).encode()),
    "order": ("POST", "/api/v1/order", json.dumps({"id": "o", "payment_form_url": FORM}).encode()),
    "list": ("GET", "/merchant/s2s/api/v1/order", PAGE),
}
every_name = pytest.mark.parametrize("name", CALLS)


@contextmanager
def nothing_recorded() -> Iterator[None]:
    """A cassette that has no call, and may not record one."""
    with vcr.use_cassette("/nowhere/none.yaml", record_mode="none"):
        yield


@contextmanager
def without_requests() -> Iterator[None]:
    """The way of pytest's documentation: requests cannot be called at all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr("requests.sessions.Session.request")
        yield


STOPPING: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "requests-mock": requests_mock.Mocker,
    "responses": responses.RequestsMock,
    "vcrpy": nothing_recorded,
    "no requests": without_requests,
}


@pytest.fixture
def no_socket(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Note each attempt to connect or to find a host, and refuse it."""
    attempts: list[Any] = []

    def refuse(*args: Any, **options: Any) -> None:
        attempts.append(args)
        raise OSError("a test reached the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return attempts


@every_name
@pytest.mark.parametrize("stopping", STOPPING.values(), ids=STOPPING)
def test_a_call_that_is_not_expected_never_reaches_the_network(
    name: str, stopping: Callable[[], AbstractContextManager[Any]], no_socket: list[Any]
) -> None:
    """With the addresses of a real service in the settings, a test that forgot something makes no order there."""
    refusal = pytest.raises(Exception)  # noqa: PT011  # each says it in its own way
    with Client(config_for(SERVICE, timeout=0.5)) as client, stopping(), refusal:
        CALLS[name](client)
    assert no_socket == []


@every_name
@pytest.mark.parametrize("packed", [False, True])
def test_requests_mock_and_responses_answer(name: str, packed: bool, no_socket: list[Any]) -> None:
    """An expected call gets the answer of the test, compressed or not."""
    method, path, body = ANSWERS[name]
    headers = {"Content-Encoding": "gzip"} if packed else {}
    content = gzip.compress(body) if packed else body
    with requests_mock.Mocker() as mocker, Client(config_for(SERVICE)) as client:
        mocker.request(method, SERVICE + path, content=content, headers=headers)
        CALLS[name](client)
        assert mocker.call_count == 1
    with responses.RequestsMock() as mock, Client(config_for(SERVICE)) as client:
        mock.add(method, SERVICE + path, body=content, headers=headers)
        CALLS[name](client)
    assert no_socket == []


@every_name
def test_vcrpy_records_and_plays_back(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one run recorded, the next one needs no service for; also where connections of before are still open."""
    cassette, (_, _, body) = str(tmp_path / "calls.yaml"), ANSWERS[name]
    with running(http(200, body), http(200, body)) as stub:
        with Client(config_for(stub.url)) as client:
            CALLS[name](client)
            with vcr.use_cassette(cassette, record_mode="once"):
                CALLS[name](client)
        assert len(stub.received) == 2
        with Client(config_for(stub.url)) as client, vcr.use_cassette(cassette, record_mode="none") as played:
            CALLS[name](client)
        assert played.play_count == 1
        assert len(stub.received) == 2


def test_a_mock_of_the_shops_session_is_seen(no_socket: list[Any]) -> None:
    """An adapter that a test mounts on the session of HTTP_SESSION gets the call, as before."""
    session = requests.Session()
    adapter = requests_mock.Adapter()
    session.mount("https://", adapter)
    method, path, body = ANSWERS["order"]
    adapter.register_uri(method, SERVICE + path, content=body)
    with Client(config_for(SERVICE), session) as client:
        CALLS["order"](client)
    assert adapter.call_count == 1
    assert no_socket == []
