"""No field of the service's documents is a constant: each takes at least two values, by what customers and merchants do."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import pytest
import requests

from checkout_integration.protocol.vocabulary import OrderType
from checkout_integration.sandbox import Product
from tests.support.sandbox.service import PROJECT, SECRET, Service, running

OWL = Product(
    id="owl", sku="OWL-1", name="Owl", description="A grey owl", price=Decimal(5), kind=OrderType.PRODUCT,
    url="https://shop.example/owl", images=("https://shop.example/owl.png",), metadata={"colour": "grey"},
)  # fmt: skip
QUEST = Product(
    id="quest",
    name="Quest",
    price=Decimal("14.99"),
    currency="EUR",
    kind=OrderType.KEY,
    metadata={"colour": "red"},
)
ADA = {
    "external_id": "ada", "name": "Ada", "email": "ada@example.com", "email_verified": True, "phone": "+441234",
    "phone_verified": True, "ip": "192.0.2.7", "locale": "en-GB",
    "address": {"country": "DE", "city": "Berlin", "postal_code": "10115", "state": "DE-BE"},
}  # fmt: skip
BEN = {
    "external_id": "ben",
    "address": {"country": "FR", "city": "Lyon", "postal_code": "69001", "state": "FR-69"},
}
KINDS = {"type", "object", "user.object", "items.object"}
"""Names of the kind of a document."""
NEVER = {
    "field": KINDS | {"receipt_number", "refund.receipt_number", "refund.code"},
    "spec": KINDS,
}
"""Deployed services leave these empty."""


def bought(service: Service, **parameters: Any) -> str:
    """Create an order of a known customer."""
    answer = service.post(
        "/api/v1/order", {"project": PROJECT, **parameters}, headers={"X-API-SIGNATURE": SECRET}
    )
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


def on_the_form(service: Service, order_id: str, shop: str, destination: str, **typed: str) -> None:
    """Open the form from a link on a shop's page, fill it in and pay."""
    names = ("reference", "reference_type", "utm_source", "utm_medium", "utm_campaign")
    query = {"order_id": order_id, **{name: f"{name} of {shop}" for name in names}}
    headers = {"Referer": f"https://{shop}/cart", "Sec-Fetch-Dest": destination}
    requests.get(f"{service.url}/form/", query, headers=headers, timeout=10)
    answer = service.pay_form(order_id, **typed)
    assert "Payment successful" in answer.text


def sell_to_ada(service: Service) -> None:
    """By the form, with everything that a customer can say on it; then renewed, and refunded in part."""
    checkout = {
        "type": "simple",
        "amount": 9.99,
        "currency": "USD",
        "description": "Gems",
        "metadata": {"ref": "r"},
    }
    order_id = bought(service, user=ADA, **checkout)
    consents = dict.fromkeys(("saved", "recurring", "notify_sale", "notify_new_region"), "1")
    address = {"country": "US", "state": "CA", "zip": "94105"}
    on_the_form(service, order_id, "shop.example", "iframe", phone="+1 555 0100", **consents, **address)
    service.advance(60)
    service.act(order_id, "renew")
    service.act(order_id, "refund", amount="1.50", reason="Half a gem")


def sell_to_ben(service: Service) -> None:
    """In other currencies and ways, under other settings of the project."""
    service.sandbox.projects.update(
        PROJECT, live=True, title="Owl Games", agreement_number="OG-2", vat_payer="buyer", tells_expiry=True,
        charge_currency="JPY", charge_rate=Decimal(150),
    )  # fmt: skip
    key = {"type": "key", "products": ["quest"], "platform_id": "gog", "user": BEN}
    owl = {"type": "product", "products": ["owl"], "currency": "EUR", "user": BEN}
    wallet = bought(service, **key)
    service.act(wallet, "pay", wallet="ben-1", billing_country="US", billing_state="NY", billing_zip="10001")
    service.act(wallet, "chargeback")
    service.act(bought(service, **owl), "pay", crypto_currency="bc1qben")
    service.advance(60)
    purse = {"method": "wallet", "wallet_brand": "Pocket Purse", "wallet_account": "ben-2", "country": "FR"}
    on_the_form(service, bought(service, **owl), "owls.example", "document", **purse)
    coin = {"method": "crypto", "crypto_brand": "Ethereum", "crypto_address": "0xben", "country": "FR"}
    on_the_form(service, bought(service, **key), "owls.example", "document", **coin)
    coded = bought(service, type="virtual_currency", amount=50, currency="USD", user=BEN)
    service.act(coded, "pay", card="4000002760003184", billing_country="FR")
    service.act(coded, "refund", reason="All of it")
    card = {"number": "5555 5555 5555 4444", "expiry": "01/31", "country": "DE"}
    on_the_form(service, bought(service, **{**owl, "currency": "USD"}), "owls.example", "document", **card)


def sell_in_other_ways(service: Service) -> None:
    """Make orders without a payment, with a token, and of testing cases."""
    settings = {"type": "product", "products_ids": ["owl"], "is_buy_for_virtual_currency": True}
    for guild in ("owls", "foxes"):
        token = service.token(settings, {"id": guild, "metadata": {"guild": guild}}).json()["token"]
        service.act(service.post("/api/v1/order", {"token": token}).json()["id"], "pay")
    service.act(service.order_id(), "cancel")
    service.act(service.order_id(), "pay", card="4000000000000002")
    service.act(service.order_id(), "pay", notify_sale=True, receipt_email="cid@example.com", notify_new_region=True,
                notify_new_region_email="cid@example.com")  # fmt: skip
    service.act(bought(service, type="key", products=["quest"], platform_id="egs", user=BEN), "pay")
    service.post("/_sandbox/testing/correct_payment", {})
    service.receiver.answers = [403]
    service.act(service.order_id(), "pay")
    service.receiver.answers = [200, 500]
    service.paid()
    service.advance(600)


def leaves(document: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each value that is no object, with its path; arrays are entered, attributes are one value."""
    if isinstance(document, dict) and not path.endswith("metadata"):
        for name, value in document.items():
            yield from leaves(value, f"{path}.{name}" if path else name)
    elif isinstance(document, list) and document and isinstance(document[0], dict):
        for value in document:
            yield from leaves(value, path)
    else:
        yield path, json.dumps(document, default=str)


def values_of(documents: list[Any]) -> dict[str, set[str]]:
    """Return the values of each path."""
    found: dict[str, set[str]] = defaultdict(set)
    for document in documents:
        for path, value in leaves(document):
            found[path].add(value)
    return found


def is_parent(path: str, paths: Iterable[str]) -> bool:
    """Whether there are fields below: then null is one value, and an object another."""
    return any(each.startswith(f"{path}.") for each in paths)


@pytest.mark.parametrize("profile", ["field", "spec"])
def test_no_field_is_a_constant(profile: str) -> None:
    """In notifications, in user.validate and in the list."""
    with running(
        profile=profile, catalogue=(OWL, QUEST), ask_billing_address=True, mode="pre_approval"
    ) as service:
        sell_to_ada(service)
        sell_to_ben(service)
        sell_in_other_ways(service)
        received = [each.document for each in service.receiver.received]
        listed = json.loads(service.listed().content, parse_float=Decimal)["items"]
    notified = [each for each in received if each["event"] != "user.validate"]
    validations = [each["object"] for each in received if each["event"] == "user.validate"]
    for documents, fixed in ((notified, set()), (validations, set()), (listed, {"testing_case"})):
        found = values_of(documents)
        constant = {path for path, values in found.items() if len(values) == 1 and not is_parent(path, found)}
        assert {path.removeprefix("object.") for path in constant} - NEVER[profile] == fixed
