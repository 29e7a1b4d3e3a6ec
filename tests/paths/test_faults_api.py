"""Every fault of the API × every call of the client: it ends within its deadline, in the right error or result (A3)."""

from __future__ import annotations

import base64
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from checkout_integration.client import Client, ClientConfig, errors
from checkout_integration.protocol.creation import Customer, OrderRequest, TokenRequest
from checkout_integration.protocol.listing import TransactionFilter
from checkout_integration.protocol.order import Order
from checkout_integration.protocol.values import Secret
from checkout_integration.sandbox import Sandbox, SandboxProject, SandboxServer, VirtualClock
from tests.support.paths.fault_rows import API_ROWS, CALLS, ApiRow
from tests.support.sandbox.receiver import Receiver
from tests.support.scale import FULL

SECRET = "sandbox_canary_0123456789"
EMAIL = "canary@mail.example"
BASIC = base64.b64encode(f"proj-1:{SECRET}".encode()).decode()
PRICE: dict[str, Any] = {"type": "simple", "amount": Decimal("9.99"), "currency": "USD"}
PAGE = TransactionFilter(limit=6)
ROWS = 12
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


TRIALS = [
    pytest.param(row, call, profile, id=f"{row.name}-{call}-{profile}")
    for row in API_ROWS
    for call in CALLS
    for profile in (["field", "spec"] if FULL or row.rule["point"] == "list" else ["field"])
]


@pytest.fixture
def sandbox(profile: str, no_pauses: None) -> Iterator[Sandbox]:
    """Give a sandbox with twelve orders, three in each second; the client does not pause between its tries."""
    project = SandboxProject(project_id="proj-1", secret_key=SECRET)
    with Sandbox([project], profile=profile, clock=VirtualClock(NOON, running=False)) as sandbox:
        for number in range(ROWS):
            sandbox.creation.create_order(
                {"project": "proj-1", "type": "simple", "amount": 5, "currency": "USD"}, None
            )
            sandbox.clock.advance(number % 3)
        yield sandbox


@pytest.fixture
def elsewhere() -> Iterator[Receiver]:
    """Give another server of this machine, which notes whatever reaches it."""
    with Receiver() as receiver:
        yield receiver


class Calls:
    """The four calls; each returns its result in words."""

    def __init__(self, sandbox: Sandbox, client: Client) -> None:
        self._client = client
        self._sandbox = sandbox
        self.rows = [order.id for order in sandbox.ledger.newest(ROWS)[1]][::-1]

    def create_token(self) -> str:
        """Create a token."""
        user = Customer(external_id="player-1", email=EMAIL)
        answer = self._client.create_token(TokenRequest(project_id="proj-1", user=user, **PRICE))
        assert answer.token
        return "a token"

    def create_order(self) -> str:
        """Create an order."""
        user = Customer(external_id="player-1", email=EMAIL)
        answer = self._client.create_order(OrderRequest(project="proj-1", user=user, **PRICE))
        assert self._sandbox.ledger.find(answer.id)
        return "an order"

    def list_transactions(self) -> str:
        """Read the first page."""
        items = self._client.list_transactions(PAGE).items
        name = "first page" if sorted(self.rows[:6]) == sorted(order.id or "" for order in items) else ""
        return self._outcome(list(items), name)

    def iter_transactions(self) -> str:
        """Read all pages."""
        items = list(self._client.iter_transactions(PAGE))
        name = "all rows" if sorted(self.rows) == sorted(order.id or "" for order in items) else ""
        return self._outcome(items, name)

    def _outcome(self, items: list[Order], name: str) -> str:
        known = {order.id: self._sandbox.ledger.find(order.id or "") for order in items}
        stale = [order for order in items if (now := known[order.id]) and order.status != now.status]
        return (name or f"{len(items)} rows") + (", stale" if stale else "")


def end_of(call: Callable[[], str]) -> tuple[str, bool]:
    """Return the outcome of a call and whether it may have made an order; its error must not show secrets."""
    try:
        outcome = call()
    except errors.CheckoutError as error:
        shown = "".join(traceback.format_exception(error)) + repr(error)
        for secret in (SECRET, BASIC, EMAIL):
            assert secret not in shown
        return type(error).__name__, error.outcome_unknown
    return outcome, outcome == "an order"


def made(sandbox: Sandbox, expected: int) -> int:
    """Return how many orders were made; the service may still be at it when the client has gone."""
    deadline = time.monotonic() + 5
    while (count := sandbox.ledger.newest(1)[0] - ROWS) < expected and time.monotonic() < deadline:
        time.sleep(0.01)
    return count


@pytest.mark.slow
@pytest.mark.spec("HTT-13", "HTT-14", "SVC-05", "SVC-06", "LIM-03")
@pytest.mark.parametrize(("row", "call", "profile"), TRIALS)
def test_every_fault_has_its_end(
    sandbox: Sandbox, elsewhere: Receiver, row: ApiRow, call: str, profile: str
) -> None:
    """The right error or result, after the right number of requests; orders are requested once."""
    target = {"target": elsewhere.url} if row.rule["kind"] == "redirect" else {}
    with SandboxServer(sandbox) as server:
        sandbox.faults.set_from({"seed": 7, "rules": [{**row.rule, **target}]})
        config = ClientConfig(
            project_id="proj-1",
            secret_key=Secret(SECRET),
            base_url=server.url,
            checkout_url=server.url,
            list_url=server.url,
            allow_http_loopback=True,
            timeout=1 if row.waits else 30,
        )
        with Client(config) as client:
            calls = Calls(sandbox, client)
            sandbox.payments.pay(calls.rows[0])
            end, may_exist = end_of(getattr(calls, call))
    (rule,) = sandbox.faults.document()["rules"]
    orders = row.orders if call == "create_order" else 0
    assert f"{end}, {rule['seen']}" == row.ends[CALLS.index(call)]
    assert made(sandbox, orders) == orders
    assert may_exist or not orders
    assert elsewhere.received == []
