"""Many at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from tests.support.sandbox.service import Service


@pytest.mark.spec("STA-03")
def test_one_order_is_paid_once_however_often_it_is_pressed(service: Service) -> None:
    """Eight presses of Pay at the same time are one payment and one notification."""
    order_id = service.order_id()
    typed = {
        "order_id": order_id,
        "number": "4242424242424242",
        "expiry": "12/34",
        "cvc": "123",
        "email": "a@b.example",
    }
    with ThreadPoolExecutor(8) as pool:
        pages = list(
            pool.map(lambda _: requests.post(f"{service.url}/form/pay", typed, timeout=20), range(8))
        )
    service.settle()
    assert all("Payment successful" in page.text for page in pages)
    assert service.receiver.events == ["payment.success"]


@pytest.mark.spec("EVT-03", "SVC-04")
def test_many_orders_at_once_are_all_notified(service: Service) -> None:
    """Forty orders made and paid by eight threads are forty notifications, each delivered once."""
    with ThreadPoolExecutor(8) as pool:
        orders = set(pool.map(lambda _: service.paid(), range(40)))
    service.settle()
    order_ids = [each.document["object"]["id"] for each in service.receiver.received]
    assert len(order_ids) == 40
    assert set(order_ids) == orders == set(service.listed_ids())
