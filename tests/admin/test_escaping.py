"""Texts of customers and attackers stay text."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import models
from django.test import Client

from checkout_integration.admin.site.values import NOTHING, link, money, pretty, pretty_body, visible
from checkout_integration.models import StaffAct
from tests.support.admin import rows
from tests.support.admin.screens import SCREENS, make_row, page_address

SCRIPT = "<script>x</script>"
UNCHANGED = {"project", "key", "identity", "idempotency_key", "status", "state", "verdict"}


def poison(row: models.Model) -> None:
    """Puts the script into every column of text of a row, as long as it fits."""
    texts = [
        field.name
        for field in row._meta.concrete_fields
        if isinstance(field, models.CharField | models.TextField) and field.name not in UNCHANGED
    ]
    fitting = {name: SCRIPT for name in texts if (row._meta.get_field(name).max_length or 255) >= len(SCRIPT)}  # type: ignore[union-attr]
    type(row)._default_manager.filter(pk=row.pk).update(**fitting)


def in_documents(value: Any) -> Any:
    """The document with every text replaced by the script."""
    if isinstance(value, dict):
        return {key: in_documents(each) for key, each in value.items()}
    return SCRIPT if isinstance(value, str) else value


@pytest.mark.django_db
@pytest.mark.parametrize("screen", SCREENS)
def test_scripts_in_columns_stay_text(admin_client: Client, screen: str) -> None:
    """In the list and on the page, whatever column they came in."""
    row = make_row(screen)
    poison(row)
    for address in (f"/admin/checkout_integration/{screen}/", page_address(screen, row)):
        html = admin_client.get(address).content.decode()
        assert SCRIPT not in html
    assert screen == "order" or "&lt;script&gt;" in html or screen == "syncrun"


@pytest.mark.django_db
def test_scripts_in_documents_and_bodies_stay_text(admin_client: Client) -> None:
    """Every field of an order's document, items, refunds, incidents, acts of staff and raw JSON."""
    order = rows.make_order(document=in_documents(rows.DOCUMENT) | {SCRIPT: SCRIPT})
    rows.make_history(order)
    rows.make_refund(order)
    rows.make_notification(order.order_id, SCRIPT, body=f'{{"{SCRIPT}": "{SCRIPT}"}}'.encode())
    for children in (order.items, order.refunds, order.incidents, order.outbox_messages):
        poison(children.get())
    poison(order.outbox_messages.get().runs.get())
    # It cannot be changed, so there is another one.
    long = {"act": "note", "reason": SCRIPT, "source": "staff", "to_status": "processed"}
    order.transitions.create(from_status="processed", **long)
    StaffAct.objects.create(act="check", origin="admin", order=order, reason=SCRIPT, staff=User.objects.get())
    html = admin_client.get(page_address("order", order)).content.decode()
    assert SCRIPT not in html
    assert html.count("&lt;script&gt;") > 30


@pytest.mark.django_db
def test_a_script_as_address_is_no_link(admin_client: Client) -> None:
    """Neither the receipt nor the form links to an address that is not https."""
    order = rows.make_order(document={"receipt_url": "javascript:alert(1)"})
    checkout = rows.make_checkout(payment_form_url="javascript:alert(1)")
    for address in (page_address("order", order), page_address("checkout", checkout)):
        assert 'href="javascript' not in admin_client.get(address).content.decode()


@pytest.mark.parametrize(
    "address",
    [
        "http://service.example/",
        "javascript:alert(1)",
        "//service.example/",
        "https://",
        "https:///path",
        "https://user@service.example/",
        "https://service.example\\@evil.example/",
        "https://service.example/\n",
        "https://[",
        "https://service.example:port/",
        "https://ex\u202eample/",
        "data:text/html,x",
    ],
)
def test_only_plain_https_addresses_are_links(address: str) -> None:
    """Everything else is shown as text."""
    assert "<a " not in link(address)


def test_a_form_on_this_machine_is_a_link_where_it_is_allowed() -> None:
    """The sandbox serves its form without TLS on the loopback."""
    assert "<a " in link("http://127.0.0.1:8001/form", loopback=True)
    assert "<a " not in link("http://127.0.0.1:8001/form")
    assert "<a " not in link("http://service.example/form", loopback=True)


@pytest.mark.django_db
@pytest.mark.parametrize(("real", "links"), [(False, 1), (True, 0)])
def test_a_receipt_on_this_machine_is_a_link_for_a_test_payment(
    admin_client: Client, real: bool, links: int
) -> None:
    """As the form is. That of a real payment is never on this machine."""
    receipt = "http://127.0.0.1:8001/receipt"
    document = {"receipt_url": receipt, "refund": {"receipt_url": receipt}}
    order = rows.make_order(document=document, is_production=real, live=real)
    shown = [page_address("order", order), page_address("refund", rows.make_refund(order))]
    pages = [admin_client.get(address).content.decode() for address in shown]
    assert [page.count(f'<a href="{receipt}"') for page in pages] == [links, links]
    assert all(receipt in page for page in pages)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", "a\\u0000b"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb", "a\\u200bb"),
        ("a\x1b[31mb", "a\\u001b[31mb"),
        ("line\nline", "line\nline"),
        ("Ж 日本 é 😀", "Ж 日本 é 😀"),
    ],
)
def test_invisible_characters_are_shown(text: str, shown: str) -> None:
    """Characters that hide or reorder text are shown as escapes; letters of every script stay."""
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        ("9.9900", "USD", "9.99\N{NO-BREAK SPACE}USD"),
        ("100.0000", "JPY", "100\N{NO-BREAK SPACE}JPY"),
        ("100.0000", "USD", "100.00\N{NO-BREAK SPACE}USD"),
        ("1.2345", "USD", "1.2345\N{NO-BREAK SPACE}USD"),
        ("-5.0000", "EUR", "-5.00\N{NO-BREAK SPACE}EUR"),
        ("1000000.0000", "KWD", "1,000,000.000\N{NO-BREAK SPACE}KWD"),
        ("0.0000", "USD", "0.00\N{NO-BREAK SPACE}USD"),
    ],
)
def test_money_is_exact_and_has_the_places_of_its_currency(amount: str, currency: str, shown: str) -> None:
    """Nothing is rounded away."""
    assert money(Decimal(amount), currency) == shown


def test_an_unknown_amount_is_not_zero() -> None:
    """It is a dash."""
    assert money(None, "USD") == NOTHING


def test_numbers_in_json_keep_their_digits() -> None:
    """A body is shown with the digits that were sent."""
    assert '"amount": 9.990' in pretty_body(b'{"amount": 9.990}')


def test_a_body_that_is_not_json_is_shown_as_it_is() -> None:
    """With its broken bytes as escapes."""
    assert pretty_body(b"not json \xff") == "not json \\xff"


def test_json_is_indented() -> None:
    """One value a line."""
    assert pretty({"a": [1, {}], "b": None}) == '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": null\n}'
