"""Naughty strings through the REST interface: a customer reads JSON with each text as it is, and no address that runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from rest_framework.exceptions import ValidationError
from rest_framework.test import APIClient

from checkout_integration.models import Checkout, Order
from checkout_integration.protocol import strict_json
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.api.conftest import Shop, _addresses, api, buyer, shop
from tests.stress.hostile.naughty import as_body, recorded, some_strings

__all__ = ["_addresses", "api", "buyer", "shop"]

pytestmark = pytest.mark.django_db
LISTS = ("/api/checkouts/", "/api/orders/")
ADDRESSES = ("payment_form_url", "receipt_url")
KNOWN = ("status", "limit", "starting_after", "ending_before")
UNKNOWN = ("search", "ordering", "user__password", "project")
LIMITS = {str(number).zfill(digits) for number in range(1, 101) for digits in (1, 2, 3)}


def as_read(text: str) -> str:
    """The text as the package's reader gives it: without NUL and half pairs, which not every database takes."""
    read = strict_json.loads(as_body({"text": text}, escaped=True))
    assert isinstance(read, dict)
    return str(read["text"])


def sell(buyer: User, text: str, number: int) -> Checkout:
    """Make a checkout with this string in every text, and with a reference made of the number."""
    short = text[:255]
    checkout: Checkout = CheckoutFactory(
        user=buyer,
        reference=f"{text[:32]}~{number}",
        type=text[:32],
        currency=text[:8],
        products=[text, text],
        platform_id=text[:32],
        description=short,
        order_id=short,
        payment_form_url=text,
        failure=short,
        metadata={text: text},
    )
    return checkout


def read(api: APIClient, address: str, query: dict[str, Any] | None = None) -> Any:
    """The JSON at an address, which must be there."""
    answer = api.get(address, query or {})
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json"), address
    return answer.json()


def walk(api: APIClient, address: str, name: str) -> Iterator[Any]:
    """All rows of a list, page by page; the cursor is the identifier of the last row, whatever stands in it."""
    query: dict[str, Any] = {"limit": 100}
    more = True
    while more:
        page = read(api, address, query)
        yield from page["data"]
        more = page["has_more"]
        query["starting_after"] = page["data"][-1][name]


def addresses_in(value: Any) -> Iterator[str]:
    """Yield the addresses of a response at any depth."""
    if isinstance(value, dict):
        for name, inner in value.items():
            is_address = name in ADDRESSES and inner is not None
            yield from [inner] if is_address else inner if name == "images" else addresses_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from addresses_in(inner)


def check_checkout(row: Any, text: str) -> None:
    """Assert that every text of a checkout is shown as it is stored."""
    assert (row["description"], row["order_id"], row["products"]) == (text[:255], text[:255], [text, text])
    assert (row["type"], row["platform_id"], row["currency"]) == (text[:32], text[:32], text[:8])


def check_order(row: Any, document: dict[str, Any]) -> None:
    """Assert that every text of an order is the service's; empty ones and an unpaid code are null."""
    assert row["description"] == (document["description"] or None)
    assert (row["method"] or "") == document["method"]["title"]
    assert (row["tax"]["type"] or "") == document["tax"]["type"]
    assert (row["refund"]["receipt_number"] or "") == document["refund"]["receipt_number"]
    for item, own in zip(row["items"], document["items"], strict=True):
        assert (item["name"], item["code"]) == (own["name"], None)
        assert (item["description"] or "") == own["description"]
        assert (item["item_id"], item["sku"]) == (own["id"][:255], own["sku"][:255])


def check_addresses(rows: list[Any]) -> None:
    """Whatever a client makes a link of leads to a web server, encrypted."""
    found = list(addresses_in(rows))
    assert found and all(each.lower().startswith("https://") for each in found), found


def test_every_string_in_every_text_of_a_checkout_is_shown_as_it_is(api: APIClient, buyer: User) -> None:
    """In the list with naughty cursors, and alone; an identifier with a slash has no address of its own."""
    texts = [as_read(text) for text in some_strings(60)]
    checkouts = {sell(buyer, text, number).reference: text for number, text in enumerate(texts)}
    rows = list(walk(api, LISTS[0], "reference"))
    assert [row["reference"] for row in rows] == list(checkouts)[::-1]
    for row in rows:
        text, reference = checkouts[row["reference"]], row["reference"]
        check_checkout(row, text)
        if "/" in reference:
            assert api.get(f"{LISTS[0]}{quote(reference, safe='')}/").status_code == 404
        else:
            assert read(api, f"{LISTS[0]}{quote(reference, safe='')}/") == row
    check_addresses(rows)


def test_every_string_in_every_text_of_an_order_is_shown_as_it_is(api: APIClient, buyer: User) -> None:
    """An order that the webhook recorded, for a checkout of this account."""
    documents = {each["id"]: each for each in recorded(some_strings(60))}
    Order.objects.update(checkout=CheckoutFactory(user=buyer))
    rows = list(walk(api, LISTS[1], "order_id"))
    assert {row["order_id"] for row in rows} == set(documents)
    for row in rows:
        check_order(row, documents[row["order_id"]])
        if "/" not in row["order_id"]:
            assert read(api, f"{LISTS[1]}{quote(row['order_id'], safe='')}/") == row
    check_addresses(rows)


def test_every_string_in_every_filter_is_refused_or_finds_the_buyers_own(api: APIClient, buyer: User) -> None:
    """A parameter that exists refuses what it does not know, without an echo; one that does not exist reaches nothing."""
    OrderFactory(checkout=CheckoutFactory(user=buyer))
    own = {address: read(api, address)["data"] for address in LISTS}
    for number, text in enumerate(some_strings(120)):
        calls, address = text.encode("utf-8", "replace").decode(), LISTS[number % 2]
        assert read(api, address, dict.fromkeys(UNKNOWN, calls))["data"] == own[address] != []
        for name in KNOWN:
            answer = api.get(address, {name: calls})
            if name == "limit" and calls in LIMITS:
                assert answer.json()["data"] == own[address]
            else:
                assert (answer.status_code, answer.json().get("code")) == (400, "invalid"), (name, calls)
                assert len(calls) < 12 or calls not in answer.content.decode()


def test_every_string_that_a_hook_says_is_sent_as_json(api: APIClient, shop: type[Shop]) -> None:
    """A name and a value from the request come back as text in the hook's refusal."""
    for text in some_strings(60):
        sent = as_read(text)
        shop.answer = ValidationError({sent: [sent]})
        answer = api.post(LISTS[0], {sent: [sent]}, format="json")
        assert (answer.status_code, answer["Content-Type"]) == (400, "application/json")
        assert answer.json()["details"] == (f"{sent}: {sent}" if sent else sent)
        assert shop.calls[-1][1] == {sent: [sent]}
