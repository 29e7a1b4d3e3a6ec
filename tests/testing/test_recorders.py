"""A shop's tests off the network, as the page of the test kit shows it."""

from __future__ import annotations

from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest

from checkout_integration import errors, flows
from checkout_integration.models import Checkout
from checkout_integration.testing.service import CheckoutSandbox
from tests.support.documents import block


@pytest.mark.django_db(transaction=True)
def test_the_fixture_of_the_page_stops_calls_and_lets_the_sandbox_answer(
    settings: Any, request: pytest.FixtureRequest
) -> None:
    """A test that forgot the sandbox fails; one that has it sells; one that answers itself sells too."""
    module: dict[str, Any] = {}
    exec(block("docs/reference/testing.md", "# shop/conftest.py, without the network"), module)
    service = "https://service.invalid"
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "CHECKOUT_URL": service}
    with contextmanager(module["no_calls"].__wrapped__)() as mock:
        with pytest.raises(errors.ServiceUnreachable):
            flows.create_checkout(amount=Decimal(1), currency="USD")
        assert len(mock.calls) == 1
        mock.post(f"{service}/api/v1/order", json={"id": "o-1", "payment_form_url": f"{service}/form"})
        assert flows.create_checkout(amount=Decimal(1), currency="USD").order_id == "o-1"
        sandbox: CheckoutSandbox = request.getfixturevalue("checkout_sandbox")
        sold = flows.create_checkout(amount=Decimal(2), currency="USD")
        assert sandbox.ledger.find(sold.order_id) is not None
    assert Checkout.objects.count() == 3
