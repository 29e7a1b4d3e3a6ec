"""The two readings of the specification compared with the table: the client's checks, and the sandbox over WSGI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from werkzeug.test import Client

from checkout_integration.protocol.creation_rules import check_order, check_token
from checkout_integration.protocol.creation_values import CreationError
from checkout_integration.sandbox import Sandbox, SandboxProject
from checkout_integration.sandbox.server.app import SandboxApp
from tests.agreement.checkout_table import LONG_PROJECT, LONG_TOKEN, PREPARED, PROJECT, TOKEN

SECRET = "sandbox_agreement"
PATHS = {"order": "/api/v1/order", "token": "/api/v1/tokens"}


def client_allows(endpoint: str, document: dict[str, Any]) -> bool:
    """Return whether the client would send a request."""
    try:
        (check_order if endpoint == "order" else check_token)(document)
    except CreationError:
        return False
    return True


class Service:
    """The sandbox in memory, with a token of a price, one of a product, and a prepared order."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._client = Client(SandboxApp(sandbox))
        self.returns_prepared_orders = sandbox.profile.returns_prepared_orders
        simple = {"type": "simple", "amount": 1, "currency": "USD"}
        product = {"type": "product", "products_ids": ["item-1"]}
        for known, sale in ((TOKEN, simple), (LONG_TOKEN, product)):
            answer = self._post("token", {"settings": {"project_id": PROJECT, **sale}})
            with sandbox.store.transaction() as connection:
                connection.execute("UPDATE tokens SET token = ? WHERE token = ?", (known, answer["token"]))
        answer = self._post("order", {"project": PROJECT, **simple})
        with sandbox.store.transaction() as connection:
            connection.execute("UPDATE orders SET id = ? WHERE id = ?", (PREPARED, answer["id"]))

    def allows(self, endpoint: str, document: dict[str, Any]) -> bool:
        """Return whether the service accepts a request; every refusal is a 400."""
        return "code" not in self._post(endpoint, document)

    def _post(self, endpoint: str, document: dict[str, Any]) -> dict[str, Any]:
        response = self._client.post(
            PATHS[endpoint],
            data=as_json(document),
            content_type="application/json",
            headers={"X-API-SIGNATURE": SECRET},
        )
        answer: dict[str, Any] = json.loads(response.get_data())
        assert response.status_code == (400 if "code" in answer else 200), (document, answer)
        return answer


@contextmanager
def running(profile: str) -> Iterator[Service]:
    """Give the service of one profile."""
    projects = [SandboxProject(project_id=name, secret_key=SECRET) for name in (PROJECT, LONG_PROJECT)]
    with Sandbox(projects, profile=profile) as sandbox:
        yield Service(sandbox)


def as_json(value: Any) -> str:
    """Write JSON, each Decimal as the number that it is."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{as_json(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(as_json, value)) + "]"
    return json.dumps(value)
