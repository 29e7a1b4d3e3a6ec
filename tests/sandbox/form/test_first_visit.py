"""Data from a visit of the form: its form mode, language, country and taxes."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from tests.support.sandbox.service import PROJECT, SECRET, SIMPLE, Service, running


def only_order(service: Service) -> dict[str, Any]:
    """Return the only order of the list."""
    (item,) = service.listed().json()["items"]
    return dict(item)


def visit(service: Service, headers: dict[str, str] | None = None, **query: Any) -> requests.Response:
    """Open the form's address."""
    return requests.get(f"{service.url}/form/", params=query, headers=headers, timeout=10)


@pytest.mark.spec("ORD-44", "EP6-01", "EP6-02", "EP6-03")
@pytest.mark.parametrize(
    ("destination", "query", "mode"),
    [
        (None, {}, "embed"),
        ("document", {}, "standalone"),
        ("iframe", {}, "iframe"),
        ("iframe", {"form_mode": "standalone"}, "standalone"),
        ("iframe", {"form_mode": "embed"}, "embed"),
        ("document", {"form_mode": "nonsense"}, "standalone"),
    ],
)
def test_the_form_mode_is_how_it_was_opened(
    service: Service, destination: str | None, query: dict[str, str], mode: str
) -> None:
    """From the client-side object, else from the browser, else embed."""
    headers = {"Sec-Fetch-Dest": destination} if destination else {}
    visit(service, headers, order_id=service.order_id(), **query)
    assert only_order(service)["form_mode"] == mode


@pytest.mark.spec("USR-10", "EP2-13", "EP1-09")
@pytest.mark.parametrize(
    ("header", "locale"),
    [("de-AT,de;q=0.8,en;q=0.5", "de-AT"), ("en;q=0.3, fr-FR;q=0.9", "fr-FR"), ("*", ""), ("!!", "")],
)
def test_the_language_of_a_creation_is_the_locale(service: Service, header: str, locale: str) -> None:
    """Accept-Language of the order request fills user.locale."""
    service.post("/api/v1/order", SIMPLE, headers={"Accept-Language": header})
    assert only_order(service)["user"]["locale"] == locale


@pytest.mark.spec("USR-10")
def test_the_merchant_s_locale_stays(service: Service) -> None:
    """The merchant's locale of the customer is not overridden by header or browser."""
    document = {**SIMPLE, "user": {"external_id": "u", "locale": "en-GB"}}
    headers = {"X-API-SIGNATURE": SECRET, "Accept-Language": "de-AT"}
    order_id = service.post("/api/v1/order", document, headers=headers).json()["id"]
    visit(service, {"Accept-Language": "fr-FR"}, order_id=order_id)
    assert only_order(service)["user"]["locale"] == "en-GB"


@pytest.mark.spec("USR-10")
@pytest.mark.parametrize(("query", "locale"), [({}, "fr-FR"), ({"language": "pt-BR"}, "pt-BR")])
def test_the_first_visit_tells_the_locale(service: Service, query: dict[str, str], locale: str) -> None:
    """The page's own choice, else the browser's language; a later visit changes nothing."""
    order_id = service.order_id()
    visit(service, {"Accept-Language": "fr-FR"}, order_id=order_id, **query)
    visit(service, {"Accept-Language": "ja-JP"}, order_id=order_id)
    assert only_order(service)["user"]["locale"] == locale


@pytest.mark.spec("EP6-04", "EP2-18")
def test_a_project_opens_a_form_of_its_own(service: Service) -> None:
    """The public project id is enough to make an order: amount, currency and products come from the address."""
    page = visit(service, project=PROJECT, type="simple", amount="12.5", currency="EUR", view_scheme="dark")
    assert "€12.50 EUR" in page.text
    assert 'data-scheme="dark"' in page.text
    order = only_order(service)
    assert (order["type"], order["amount"], order["currency"]) == ("simple", 12.5, "EUR")


@pytest.mark.spec("EP2-11", "EP2-18")
def test_a_project_opens_a_form_for_products(service: Service) -> None:
    """`products` may be given several times."""
    page = visit(service, project=PROJECT, type="product", products=["sword", "shield"])
    assert "Sword" in page.text
    assert [item["id"] for item in only_order(service)["items"]] == ["sword", "shield"]


@pytest.mark.parametrize(
    "query",
    [
        {"project": "nobody", "type": "simple", "amount": "1", "currency": "USD"},
        {"project": PROJECT, "type": "simple", "amount": "much", "currency": "USD"},
        {"project": PROJECT, "type": "simple", "amount": "1e99", "currency": "USD"},
        {"token": "made-up"},
    ],
)
def test_a_link_that_makes_no_order_says_so(service: Service, query: dict[str, Any]) -> None:
    """A page, not JSON, and no order."""
    page = visit(service, **query)
    assert (page.status_code, "This link does not work" in page.text) == (400, True)
    assert service.listed_ids() == []


@pytest.mark.spec("ORD-26", "ORD-33", "ORD-41", "ORD-22")
@pytest.mark.parametrize(
    ("payer", "country", "words", "tax", "amount"),
    [
        ("buyer", "DE", ["VAT 19%", "$11.90 USD", "added to the price"], ("vat", 1.9), 11.9),
        ("seller", "DE", ["VAT 19% included", "$10.00 USD", "included in the price"], ("vat", 1.6), 10),
        ("nobody", "DE", ["$10.00 USD", "exempt from VAT"], ("", 0), 10),
        ("buyer", "RU", ["VAT 20%", "$12.00 USD"], ("vat", 2), 12),
        ("buyer", "US", ["Sales tax 8%", "$10.80 USD"], ("sales_tax", 0.8), 10.8),
        ("buyer", "JP", ["$10.00 USD"], ("", 0), 10),
    ],
)
def test_taxes_follow_country_and_payer(
    payer: str, country: str, words: list[str], tax: tuple[str, float], amount: float
) -> None:
    """The form shows the same as the order."""
    with running(ask_billing_address=True, vat_payer=payer) as service:
        order_id = service.order_id(amount=10)
        page = service.form(order_id, country=country)
        assert [word for word in words if word not in page.text] == []
        service.pay_form(order_id, country=country, state="CA", zip="94105")
        order = only_order(service)
    assert (order["tax"]["type"], order["tax"]["amount"]) == tax
    assert (order["amount"], order["original_amount"], order["vat_payer"]) == (amount, 10, payer)


@pytest.mark.spec("ORD-25")
@pytest.mark.parametrize(
    ("typed", "marked"),
    [
        ({}, ["country"]),
        ({"country": "XX"}, ["country"]),
        ({"country": "US"}, ["state", "zip"]),
        ({"country": "US", "state": "CA"}, ["zip"]),
        ({"country": "DE"}, []),
    ],
)
def test_a_requested_address_is_required(typed: dict[str, str], marked: list[str]) -> None:
    """The country always, in the USA state and zip too."""
    with running(ask_billing_address=True) as service:
        page = service.pay_form(service.order_id(), **typed)
        shown = [name for name in ("country", "state", "zip") if f'id="{name}-error"' in page.text]
        assert shown == marked
        assert (only_order(service)["status"] == "processed") == (not marked)


@pytest.mark.spec("ORD-25")
def test_an_address_that_is_not_requested_is_empty(field: Service) -> None:
    """Whatever is posted, the billing address is none."""
    field.pay_form(field.order_id(), country="US", state="CA", zip="94105")
    assert only_order(field)["billing_address"] is None


@pytest.mark.spec("STA-02", "EVT-01")
def test_an_abandoned_order_stays_created(service: Service) -> None:
    """Opened and left: nothing happens, however long it takes."""
    service.form(service.order_id())
    service.advance(90 * 86_400)
    assert only_order(service)["status"] == "created"
    assert service.receiver.received == []
