"""A flood of forgeries: no statement, flat memory, and the service is heard all the while (C.8)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.stress.hosts.flood import flood, request_bytes, resident_bytes, worker_of
from tests.stress.hosts.running import Running
from tests.support import wire
from tests.support.flows.shop import notification
from tests.support.scale import times

RECEIVER = "/checkout/webhook/"
FORGERIES = times(1_000, 20_000)
GROWTH = 4 * 1024 * 1024

pytestmark = pytest.mark.parametrize("host", [("slashes not appended", "threads")], indirect=True)


def forgeries(count: int) -> list[bytes]:
    """Unsigned bodies of many sizes."""
    body = wire.body_of(notification())
    return [request_bytes(RECEIVER, body + b" " * (number * 37 % 5_000)) for number in range(count)]


def test_forgeries_cost_no_statement_and_no_memory(host: Running) -> None:
    """The worker's memory does not grow with their number; no connection to the database is opened."""
    assert flood(host, forgeries(500)) == {b"401"}
    worker, statements = worker_of(host), host.statements()
    before = resident_bytes(worker)
    assert flood(host, forgeries(FORGERIES)) == {b"401"}
    assert resident_bytes(worker) - before < GROWTH
    assert host.statements() == statements


def test_the_service_is_heard_in_a_flood(host: Running) -> None:
    """Every genuine notification among forgeries is acknowledged and applied."""
    orders = [OrderDocumentFactory() for _ in range(times(15, 300))]
    with ThreadPoolExecutor(2) as senders:
        floods = [senders.submit(flood, host, forgeries(FORGERIES // 4)) for _ in range(2)]
        answers = {host.deliver(notification(order=order)).status for order in orders}
        assert [each.result() for each in floods] == [{b"401"}] * 2
    assert answers == {200}
    applied = {each["object_id"] for each in host.stored()["notifications"] if each["state"] == "applied"}
    assert {order["id"] for order in orders} <= applied
