"""docs/lists.md: its example, against the sandbox."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from decimal import Decimal
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.sandbox import Sandbox
from tests.support.documents import block

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.spec("EP4-02", "EP4-03", "EP4-04", "LST-04")
@pytest.mark.parametrize("orders", [0, 1, 2, 5])
def test_the_example_reads_a_list_backwards(checkout_sandbox: Sandbox, orders: int) -> None:
    """From its end to its beginning, each order once."""
    made = [flows.create_checkout(amount=Decimal(1), currency="USD").order_id for _ in range(orders)]
    page: dict[str, Any] = {}
    exec(block("docs/lists.md", "# lists.py"), page)
    assert list(page["newest_first"]()) == made[::-1]


def test_the_example_sends_a_request_of_its_own(checkout_sandbox: Sandbox) -> None:
    """Signed as the others, and read as the service sent it."""
    made = flows.create_checkout(amount=Decimal(1), currency="USD").order_id
    page: dict[str, Any] = {}
    exec(block("docs/lists.md", "# requests_of_my_own.py"), page)
    assert page["first_of"]()["id"] == made


def test_a_page_is_a_frozen_value(checkout_sandbox: Sandbox) -> None:
    """A page that was read cannot be changed."""
    with flows.sync.service_client() as client:
        page = client.list_page("/api/v1/orders")
    with pytest.raises(FrozenInstanceError):
        page.has_more = True  # type: ignore[misc]
