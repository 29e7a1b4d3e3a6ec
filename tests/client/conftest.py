"""A client for one project, pointed at a stub."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from checkout_integration.client import Client, ClientConfig
from checkout_integration.protocol.values import Secret
from tests.support.client.stub import Stub

SECRET = "sk-Canary-0123456789"

MakeClient = Callable[..., Client]


def config_for(url: str, **changes: Any) -> ClientConfig:
    """The configuration of the test project."""
    settings: dict[str, Any] = {
        "project_id": "proj-1",
        "secret_key": Secret(SECRET),
        "base_url": url,
        "checkout_url": url,
        "list_url": url,
        "allow_http_loopback": True,
        "timeout": 10.0,
    }
    return ClientConfig(**{**settings, **changes})


@pytest.fixture
def client_of() -> Iterator[MakeClient]:
    """Make clients that are closed at the end."""
    clients: list[Client] = []

    def make(stub: Stub, **changes: Any) -> Client:
        clients.append(Client(config_for(stub.url, **changes)))
        return clients[-1]

    yield make
    for client in clients:
        client.close()
