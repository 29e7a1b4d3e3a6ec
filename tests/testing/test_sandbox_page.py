"""The example test of docs/sandbox.md passes as it is written."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import requests
from django.template import Context, Template
from pytest_django.live_server_helper import LiveServer

from checkout_integration import flows
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


@pytest.mark.spec("EP6-01", "EP6-02", "EP6-03", "EP6-04", "EP6-05")
@pytest.mark.django_db(transaction=True)
def test_every_way_works_with_the_addresses_of_the_page(checkout_sandbox: Sandbox, settings: Any) -> None:
    """Nothing but the table is set; each address in what the tags write is opened."""
    page = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) \| `http://127.0.0.1:8090([/\w.]*)` \|$", page, re.MULTILINE
    )
    written = {
        name: checkout_sandbox.public_url + path for names, path in rows for name in re.findall(r"\w+", names)
    }
    assert set(written) == {"BASE_URL", "CHECKOUT_URL", "LIST_URL", "ORDER_FORM_URL", "CLIENT_SCRIPT_URL"}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **written}
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    issued = flows.create_token(amount=Decimal(500), currency="JPY")
    tags = ("link checkout", "frame checkout", "page checkout", "token_page issued")
    source = "{% load checkout %}" + "".join(f"{{% checkout_{tag} %}}" for tag in tags)
    html = Template(source).render(Context({"checkout": checkout, "issued": issued}))
    (script,) = set(re.findall(r'src="([^"]*client\.js)"', html))
    assert "class CheckoutClient" in requests.get(script, timeout=10).text
    assert checkout.payment_form_url in html and written["ORDER_FORM_URL"] in html and issued.token in html
    assert flows.create_order_from_token(issued).order_id
    for address in (checkout.payment_form_url, f"{written['ORDER_FORM_URL']}/?order_id={checkout.order_id}"):
        assert requests.get(address, timeout=10).status_code == 200
