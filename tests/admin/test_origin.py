"""Where customers came from: shown in the lists of orders and checkouts, and found in that of orders by an indexed filter."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from checkout_integration import flows
from checkout_integration.models import Checkout, CheckoutUser, Order
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from checkout_integration.testing.payloads import IssuerDocumentFactory, UserDocumentFactory
from tests.support.customer import PRIVACY_REQUEST
from tests.support.plans import analyze, empty_tables, multiply

pytestmark = pytest.mark.django_db
LISTS = {
    "order": "/admin/checkout_integration/order/",
    "checkout": "/admin/checkout_integration/checkout/",
}


@pytest.fixture
def rows() -> None:
    """Orders and checkouts of customers of a campaign, of another page, and of nowhere."""
    letter = {"utm_source": "letter", "utm_medium": "email", "utm_campaign": "May <sale>"}
    for origin in (letter, {"referrer_host": "news.example"}, {}):
        checkout = CheckoutFactory(**origin)
        OrderFactory(checkout=checkout, id=checkout.order_id, issuer=IssuerDocumentFactory(**origin))


def listed(client: Client, origin: str, **more: str) -> list[Any]:
    """The orders that the list shows with this text in its filter."""
    response = client.get(LISTS["order"], {"origin": origin, **more})
    assert response.status_code == 200
    return list(response.context["cl"].result_list)


@pytest.mark.spec("ORD-21")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("letter", 1),
        ("May <sale>", 1),
        ("news.example", 1),
        (" letter ", 1),
        ("", 3),
        ("Letter", 0),
        ("lett", 0),
        ("%", 0),
    ],
)
def test_a_text_finds_the_rows_that_have_it(admin_client: Client, rows: None, text: str, found: int) -> None:
    """Source, campaign or host, exactly."""
    assert len(listed(admin_client, text)) == found


@pytest.mark.spec("ORD-21")
@pytest.mark.parametrize("kind", LISTS)
def test_the_list_shows_it(admin_client: Client, rows: None, kind: str) -> None:
    """As text, never as HTML."""
    page = admin_client.get(LISTS[kind]).content.decode()
    assert "letter / email / May &lt;sale&gt;" in page and "news.example" in page


def test_the_filter_keeps_the_other_ones(admin_client: Client, rows: None) -> None:
    """Its form has them with it, and they are escaped; what was typed stays in its field."""
    others = {"status": "processed", "q": '"><b>'}
    page = admin_client.get(LISTS["order"], {"origin": '"letter"', **others}).content.decode()
    assert '<input type="hidden" name="status" value="processed">' in page
    assert '<input type="hidden" name="q" value="&quot;&gt;&lt;b&gt;">' in page
    assert 'name="origin" value="&quot;letter&quot;"' in page
    assert len(listed(admin_client, "letter", status="processed")) == 1
    assert listed(admin_client, "letter", status="refunded") == []


@pytest.mark.parametrize("column", ["utm_source", "utm_campaign", "referrer_host"])
def test_an_index_finds_it(column: str) -> None:
    """However many rows there are; MariaDB names all indexes that could serve."""
    if connection.vendor == "postgresql":
        empty_tables()
        checkout = CheckoutFactory()
        multiply(OrderFactory(checkout=checkout, id=checkout.order_id), "order_id", 1_000)
        analyze()
    assert f"ci_order_{column.partition('_')[2]}" in Order.objects.filter(**{column: "letter"}).explain()


def test_it_is_erased_with_the_customer_and_stays_away(rows: None) -> None:
    """Of the order and of the checkout; the next notification does not bring it back."""
    checkout = CheckoutFactory(utm_source="letter")
    document = {
        "id": checkout.order_id,
        "issuer": IssuerDocumentFactory(utm_source="letter", referrer_host=""),
        "user": UserDocumentFactory(external_id="ada"),
    }
    order = OrderFactory(checkout=checkout, **document)
    assert (order.origin, checkout.origin) == ("letter", "letter")
    (person,) = flows.privacy.find_persons(customer=CheckoutUser.objects.get(external_id="ada"))
    flows.privacy.erase_customer(person, PRIVACY_REQUEST)
    OrderFactory(checkout=checkout, **document, status="refunded")
    assert Order.objects.get(pk=order.pk).origin == Checkout.objects.get(pk=checkout.pk).origin == ""
