"""The example test of docs/sandbox.md passes as it is written."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from checkout_integration.models import Order
from checkout_integration.sandbox import Sandbox
from tests.support.documents import block


@pytest.mark.django_db(transaction=True)
def test_the_example_of_the_sandbox_passes(checkout_sandbox: Sandbox, live_server: LiveServer) -> None:
    """Its fixtures are those of this test; a paid order was refunded in two parts, and its renewal charged back."""
    names: dict[str, Any] = {}
    exec(block("docs/sandbox.md", "# shop/tests.py"), names)
    names["test_a_subscription_ends"](checkout_sandbox, live_server)
    assert sorted(Order.objects.values_list("status", flat=True)) == ["chargeback", "refunded"]
