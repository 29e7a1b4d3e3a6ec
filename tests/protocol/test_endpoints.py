"""The endpoints, as the specification lists them."""

from __future__ import annotations

import pytest

from checkout_integration.protocol.endpoints import ORDER, TOKENS, TRANSACTIONS


@pytest.mark.spec("EP1-01", "EP1-02", "EP1-23")
def test_token_creation() -> None:
    """POST at the service API address, signed."""
    assert (TOKENS.method, TOKENS.base, TOKENS.path) == ("POST", "base_url", "/api/v1/tokens")
    assert TOKENS.auth == "signature"


@pytest.mark.spec("EP2-01", "EP2-02", "EP2-17", "AUT-06")
def test_order_creation() -> None:
    """POST at the checkout API address, signed, and never repeated."""
    assert (ORDER.method, ORDER.base, ORDER.path) == ("POST", "checkout_url", "/api/v1/order")
    assert ORDER.auth == "signature"
    assert not ORDER.repeatable


@pytest.mark.spec("EP3-01", "EP3-02", "EP3-12")
def test_the_transaction_list() -> None:
    """GET at an address of its own, with HTTP Basic."""
    assert (TRANSACTIONS.method, TRANSACTIONS.base) == ("GET", "list_url")
    assert (TRANSACTIONS.path, TRANSACTIONS.auth) == ("/merchant/s2s/api/v1/order", "basic")
