"""What the specification does not show is not invented."""

from __future__ import annotations

import inspect
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from checkout_integration import flows
from checkout_integration.client import Client
from checkout_integration.models import Order
from checkout_integration.protocol import endpoints
from checkout_integration.protocol.endpoints import Endpoint
from checkout_integration.sandbox import Sandbox
from checkout_integration.testing.factories import OrderFactory
from checkout_integration.testing.service import running_sandbox


@pytest.mark.spec("EP4-05", "RFD-07")
def test_only_endpoints_of_the_specification_are_called() -> None:
    """No address of a single order, of refunds, payouts, users or products is made up."""
    known = [each for each in vars(endpoints).values() if isinstance(each, Endpoint)]
    assert sorted((each.method, each.path) for each in known) == [
        ("GET", "/merchant/s2s/api/v1/order"),
        ("POST", "/api/v1/order"),
        ("POST", "/api/v1/tokens"),
    ]


@pytest.mark.spec("STA-10")
def test_nothing_here_asks_the_service_for_a_refund() -> None:
    """The operation is not shown: a refund is made at the service, and the app learns of it like of everything else."""
    public = {name for name, _ in inspect.getmembers(Client) if not name.startswith("_")} | set(flows.__all__)
    assert not [name for name in public if "refund" in name or "payout" in name]


@pytest.mark.spec("EP4-05", "EP3-03")
@pytest.mark.django_db(transaction=True)
def test_a_single_order_is_read_through_the_list(checkout_sandbox: Sandbox) -> None:
    """A service that does not know the order says so by an empty list."""
    assert flows.refresh_order(OrderFactory()) is False


@pytest.mark.spec("EP4-05", "EP3-03", "EP3-06")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("profile", ["field", "spec"])
def test_the_order_that_is_read_is_found_by_its_id(settings: Any, profile: str) -> None:
    """And no other: neither by its customer's account, which another order has too, nor by its reference."""
    with running_sandbox(settings, profile=profile) as sandbox:
        customer = flows.Customer(external_id="player-7")
        first, second = (
            flows.create_checkout(amount=Decimal(amount), currency="USD", customer=customer)
            for amount in (1, 2)
        )
        for checkout in (first, second):
            sandbox.pay(checkout.order_id)
            assert flows.refresh_order(Order.objects.get(order_id=checkout.order_id)) is True
            queries = [
                parse_qs(urlsplit(each.url).query) for each in sandbox.log.entries() if each.method == "GET"
            ]
            (query,) = (each for each in queries if each.get("id") == [checkout.order_id])
            assert set(query) == {"id", "project[]"}
            known = set(Order.objects.filter(status="processed").values_list("order_id", flat=True))
            assert known == ({first.order_id} if checkout is first else {first.order_id, second.order_id})
