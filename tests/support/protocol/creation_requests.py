"""Requests for tokens and orders that break no rule, and the problems of others."""

from __future__ import annotations

from decimal import Decimal

import pytest

from checkout_integration.protocol.creation import (
    Customer,
    CustomerAddress,
    OrderRequest,
    TokenRequest,
    build_order_document,
    build_token_document,
)
from checkout_integration.protocol.creation_values import CreationError

ADA = Customer(
    external_id="player-42",
    name="Ada Example",
    email="ada@mail.example",
    email_verified=True,
    phone="+4930123456",
    phone_verified=False,
    ip="192.0.2.7",
    locale="de-DE",
    address=CustomerAddress(country="DE", city="Berlin", postal_code="10115", state="DE-BE"),
)
KEY_TOKEN = TokenRequest(
    project_id="proj-1",
    type="key",
    user=ADA,
    currency="EUR",
    description="One key",
    products_ids=["key-1"],
    platform_id="steam",
    is_buy_for_virtual_currency=False,
    button_caption="Back to the game",
    metadata={"reference": "ref-0001"},
    return_url_success="https://shop.example/paid",
    return_url_fail="https://shop.example/failed",
)
SIMPLE_TOKEN = TokenRequest(project_id="proj-1", type="simple", currency="USD", amount=Decimal("9.99"))
KEY_ORDER = OrderRequest(
    project="proj-1",
    type="key",
    currency="EUR",
    account="player-42",
    description="One key",
    metadata={"reference": "ref-0001"},
    url_success="https://shop.example/paid",
    url_fail="https://shop.example/failed",
    products=["key-1"],
    user=ADA,
    order="order-9",
    platform_id="steam",
)
SIMPLE_ORDER = OrderRequest(project="proj-1", type="simple", currency="USD", amount=Decimal("9.99"))


def token_problems(request: TokenRequest) -> dict[str, str]:
    """The problems of a token request, by field."""
    with pytest.raises(CreationError) as caught:
        build_token_document(request)
    return dict(caught.value.problems)


def order_problems(request: OrderRequest) -> dict[str, str]:
    """The problems of an order request, by field."""
    with pytest.raises(CreationError) as caught:
        build_order_document(request)
    return dict(caught.value.problems)
