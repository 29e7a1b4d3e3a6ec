"""Each operation is called at the address of its own setting."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import requests_mock

from checkout_integration.flows.sync import service_client
from checkout_integration.protocol.creation import OrderRequest, TokenRequest
from checkout_integration.protocol.listing import TransactionFilter

FORM = "https://form.example/?order_id=1"


@pytest.mark.spec("EP1-01", "EP2-01", "EP3-01", "VER-01", "VER-02", "AUT-01")
@pytest.mark.parametrize("number", ["1", "2"])
def test_tokens_orders_and_the_list_have_addresses_of_their_own(settings: Any, number: str) -> None:
    """BASE_URL, CHECKOUT_URL and LIST_URL; every request has the version, and goes nowhere else."""
    hosts = {
        name: f"https://{name.lower()}{number}.example" for name in ("BASE_URL", "CHECKOUT_URL", "LIST_URL")
    }
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **hosts}
    sale: dict[str, Any] = {"type": "simple", "amount": Decimal(1), "currency": "USD"}
    with requests_mock.Mocker() as service, service_client() as client:
        service.post(f"{hosts['BASE_URL']}/api/v1/tokens", json={"token": "t", "payment_form_url": FORM})
        service.post(f"{hosts['CHECKOUT_URL']}/api/v1/order", json={"id": "1", "payment_form_url": FORM})
        service.get(f"{hosts['LIST_URL']}/merchant/s2s/api/v1/order", json={"count": 0, "items": None})
        client.create_token(TokenRequest(project_id="p", **sale))
        client.create_order(OrderRequest(project="p", **sale))
        client.list_transactions(TransactionFilter())
    assert [each.headers["x-service-api-version"] for each in service.request_history] == ["1.0"] * 3
