"""docs/selling.md: each of its examples, as it is written."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User

from checkout_integration import flows
from checkout_integration.models import Checkout
from checkout_integration.sandbox import Sandbox
from tests.support.documents import snippets

PAGE = Path(__file__).parents[3] / "docs" / "selling.md"
EXAMPLES = snippets("docs/selling.md")


def test_the_page_shows_every_option() -> None:
    """And every public exception of a checkout."""
    page = PAGE.read_text(encoding="utf-8")
    assert len(EXAMPLES) >= 10
    for word in ('type="product"', 'type="key"', 'type="virtual_currency"', "flows.NotRecorded"):
        assert word in page


@pytest.mark.django_db
@pytest.mark.parametrize("is_guest", [True, False])
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_sells(checkout_sandbox: Sandbox, settings: Any, example: str, is_guest: bool) -> None:
    """To an account and to a guest: a form to send the customer to."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "DYNAMIC_URLS": True}
    request = {"project": "test-project", "type": "simple", "amount": Decimal(1), "currency": "USD"}
    User.objects.create_user("juno")
    names: dict[str, Any] = {
        "User": User,
        "flows": flows,
        "Decimal": Decimal,
        "request": SimpleNamespace(user=AnonymousUser() if is_guest else User.objects.create_user("ada")),
        "prepared_order_id": checkout_sandbox.creation.create_order(request, None).id,
    }
    exec(compile(example, str(PAGE), "exec"), names)
    assert names["checkout"].payment_form_url.startswith("http")
    assert Checkout.objects.get().status == "open"
