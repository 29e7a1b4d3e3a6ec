"""A running sandbox for the tests, and the few calls that most tests begin with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import requests

from checkout_integration.sandbox import Sandbox, SandboxProject, SandboxServer, VirtualClock
from tests.support.sandbox.openapi_watching import watched
from tests.support.sandbox.receiver import Receiver

PROJECT = "project-1"
SECRET = "sandbox_secret"
NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)
SIMPLE: dict[str, Any] = {"project": PROJECT, "type": "simple", "amount": 9.99, "currency": "USD"}


class Service:
    """The sandbox behind its socket, with a merchant's receiver beside it; the clock stands still at noon."""

    def __init__(self, sandbox: Sandbox, url: str, receiver: Receiver) -> None:
        self.sandbox = sandbox
        self.url = url
        self.receiver = receiver

    def post(self, path: str, document: Any = None, **more: Any) -> requests.Response:
        """POST a JSON document."""
        return requests.post(self.url + path, json=document, timeout=10, **more)

    def create(self, **parameters: Any) -> requests.Response:
        """Create an order, a simple one by default."""
        return self.post("/api/v1/order", {**SIMPLE, **parameters})

    def order_id(self, **parameters: Any) -> str:
        """Create an order and return its identifier."""
        answer = self.create(**parameters)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["id"])

    def token(
        self, settings: dict[str, Any], user: Any = None, *, secret: str | None = SECRET
    ) -> requests.Response:
        """Create a token."""
        document = {"settings": {"project_id": PROJECT, **settings}}
        if user is not None:
            document["user"] = user
        return self.post("/api/v1/tokens", document, headers={"X-API-SIGNATURE": secret} if secret else {})

    def act(self, order_id: str, action: str, **body: Any) -> requests.Response:
        """Act on an order by the control API, and wait until its notifications are sent."""
        answer = self.post(f"/_sandbox/orders/{order_id}/{action}", body)
        self.settle()
        return answer

    def paid(self, **parameters: Any) -> str:
        """Create an order and pay it; returns its identifier."""
        order_id = self.order_id(**parameters)
        assert self.act(order_id, "pay").json()["outcome"] == "paid"
        return order_id

    def settle(self) -> None:
        """Wait until nothing is left to deliver now."""
        assert self.sandbox.wait_idle(10)

    def advance(self, seconds: float) -> None:
        """Move the clock, and wait for due notifications."""
        self.sandbox.clock.advance(seconds)
        self.settle()

    def listed(
        self, *pairs: tuple[str, str], project: str = PROJECT, secret: str = SECRET
    ) -> requests.Response:
        """Ask for the transactions list."""
        return requests.get(
            self.url + "/merchant/s2s/api/v1/order", params=list(pairs), auth=(project, secret), timeout=10
        )

    def listed_ids(self, *pairs: tuple[str, str]) -> list[str]:
        """Ask for the transactions list and return the identifiers on the page."""
        answer = self.listed(*pairs)
        assert answer.status_code == 200, answer.text
        return [item["id"] for item in answer.json()["items"] or []]

    def form(self, order_id: str, **query: str) -> requests.Response:
        """Open the hosted form."""
        return requests.get(f"{self.url}/form/", params={"order_id": order_id, **query}, timeout=10)

    def pay_form(self, order_id: str, **typed: str) -> requests.Response:
        """Fill the hosted form, by default with a card that pays, and press Pay."""
        card = {"number": "4242 4242 4242 4242", "expiry": "12/34", "cvc": "123", "email": "a@example.com"}
        answer = requests.post(f"{self.url}/form/pay", {"order_id": order_id, **card, **typed}, timeout=10)
        self.settle()
        return answer


@contextmanager
def running(
    *, profile: str = "field", state: Path | None = None, moment: datetime = NOON, **settings: Any
) -> Iterator[Service]:
    """Run a sandbox with one project, with optional settings, and a receiver for its notifications."""
    with Receiver() as receiver:
        settings = {"project_id": PROJECT, "secret_key": SECRET, "webhook_url": receiver.url, **settings}
        clock = VirtualClock(moment, running=False)
        projects = [SandboxProject(**settings)]
        with (
            Sandbox(projects, profile=profile, state=state, clock=clock) as sandbox,
            watched(sandbox),
            SandboxServer(sandbox) as server,
        ):
            yield Service(sandbox, server.url, receiver)
