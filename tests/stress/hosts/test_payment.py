"""A checkout in every host, from the call of the service to the admin's page."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.stress.hosts.desk import PASSWORD, PRICE, STAFF
from tests.stress.hosts.running import Running
from tests.stress.hosts.shop import GOODS
from tests.support import wire
from tests.support.flows.shop import notification


def paid_order(host: Running, checkout: dict[str, Any]) -> dict[str, Any]:
    """Deliver the success of a checkout; return the host's order once all receivers ran."""
    document = OrderDocumentFactory(
        id=checkout["order_id"],
        amount=PRICE,
        currency="USD",
        is_production=False,
        metadata={"checkout_reference": checkout["reference"]},
    )
    assert host.deliver(notification(order=document, live=False)).status == 200
    stored = host.await_stored(
        lambda stored: f"{GOODS}{checkout['order_id']}" in stored["goods"] and set(stored["runs"]) == {"done"}
    )
    (order,) = [
        each
        for each in stored["orders"]
        if each["transitions__to_status"] == "processed" and each["order_id"] == checkout["order_id"]
    ]
    assert isinstance(order, dict)
    return order


def test_a_payment_ends_paid_and_the_pages_open(host: Running) -> None:
    """Sold at the service, paid by a notification, granted by a receiver, shown to the customer and to staff."""
    checkout = host.desk("sell/")
    order = paid_order(host, checkout)
    customer = requests.get(f"{host.url}{checkout['return']}", headers=host.headers, timeout=30)
    assert (customer.status_code, customer.history) == (200, [])
    status = requests.get(f"{host.url}{checkout['status']}", headers=host.headers, timeout=30)
    assert status.json() == {"status": "paid", "order_status": "processed", "goods": "granted"}
    if host.name == "lagging replica":
        host.desk("replicate/")
    with logged_in(host) as session:
        admin = session.get(
            f"{host.url}{host.host.prefix}/admin/checkout_integration/order/{order['pk']}/change/"
        )
        assert (admin.status_code, admin.history) == (200, [])
        assert checkout["order_id"] in admin.text
        assert "1234.50" in admin.text
        # Whatever the key of the account is; a statement of our own has to prepare it for the database.
        for page in ("checkouts/", "orders/", "owned/", f"orders/{checkout['order_id']}/"):
            answer = session.get(f"{host.url}{host.host.prefix}/rest/{page}", timeout=30)
            assert answer.status_code == (404 if checkout["order_id"] in page else 200), (page, answer.text)


def logged_in(host: Running) -> requests.Session:
    """A member of staff, logged in by the admin's own form."""
    admin = host.desk("hire/")["admin"]
    address = f"{host.url}{host.host.prefix}{admin.removeprefix(host.host.prefix)}login/"
    session = requests.Session()
    session.headers.update(host.headers)
    session.headers["Origin"] = host.url.replace("http:", "https:") if host.name == "only https" else host.url
    page = session.get(address, timeout=30).text
    token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    form = {"username": STAFF, "password": PASSWORD, "csrfmiddlewaretoken": token}
    answer = session.post(address, form, timeout=30, allow_redirects=False)
    assert answer.status_code == 302, answer.text[:2000]
    return session


def test_runner_after_the_bytes_of_the_answer(host: Running, tmp_path: Path) -> None:
    """The service has its empty 200 while a receiver is still at work."""
    gate = tmp_path / "gate"
    order = OrderDocumentFactory(metadata={"gate": str(gate)})
    body = wire.body_of(notification(order=order))
    head = [
        f"POST {host.host.prefix}/checkout/webhook/ HTTP/1.1",
        "Host: shop.example.com",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        f"Authorization: {wire.signature(body)}",
        *(f"{name}: {value}" for name, value in host.headers.items()),
    ]
    parts = urlsplit(host.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(65536)
        assert not gate.exists()
        gate.touch()
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"content-length: 0" in answer.lower()
    host.await_stored(lambda stored: set(stored["runs"]) == {"done"})
