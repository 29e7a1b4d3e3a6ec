"""Each field of an Order is read, is an attribute of its row, is shown to staff, and is exported, as it was sent.

Of seven sales that differ in them.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from django.test import Client

from checkout_integration.models import Order
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.vocabulary import Event
from checkout_integration.testing.delivery import Deliver
from tests.support.admin.shown import WAYS, exported, is_shown_as, shown
from tests.support.protocol.sales import EVENTS, SALES, moments, money, reach, sale

FIELDS = [
    # path, and what it is in each of SALES
    pytest.param(
        "id",
        (
            "0b8f8f0e-9d1c-4c6e-8f0b-1f7a2c3d4e5f",
            *(f"a1000000-0000-4000-8000-00000000000{number}" for number in range(1, 7)),
        ),
        marks=pytest.mark.spec("ORD-01"),
    ),
    pytest.param(
        "transaction",
        ("tx-4711", "wal-0001", "0xfeed", "auth-333", "sub-4", "", "auth-666"),
        marks=pytest.mark.spec("ORD-02"),
    ),
    pytest.param("object", ("order",) * 7, marks=pytest.mark.spec("ORD-03")),
    pytest.param(
        "status", ("refunded", *("processed",) * 4, "canceled", "refunded"), marks=pytest.mark.spec("ORD-04")
    ),
    pytest.param(
        "description",
        (
            "Two <maps> & one café skin",
            "Support for the guild",
            "500 gems",
            "Space game",
            "Season pass, month 2",
            "",
            "A hat",
        ),
        marks=pytest.mark.spec("ORD-05"),
    ),
    pytest.param(
        "created_at",
        moments(
            "2024-05-01T10:00:00.123456",
            "2025-01-02T03:04:05",
            "2025-02-03T03:05:06.500000",
            "2025-03-04T05:06:07",
            "2025-04-05T06:07:08",
            "2025-05-06T07:08:09",
            "2025-06-07T08:09:10",
        ),
        marks=pytest.mark.spec("ORD-06"),
    ),
    pytest.param(
        "canceled", (False, False, False, False, False, True, False), marks=pytest.mark.spec("ORD-07")
    ),
    pytest.param(
        "canceled_at",
        moments(None, None, None, None, None, "2025-05-06T07:18:09", None),
        marks=pytest.mark.spec("ORD-08"),
    ),
    pytest.param(
        "cancellation.code", ("02", None, None, None, None, "11", None), marks=pytest.mark.spec("ORD-09")
    ),
    pytest.param(
        "cancellation.reason",
        ("declined by the bank", None, None, None, None, "cancelled by the customer", None),
        marks=pytest.mark.spec("ORD-09"),
    ),
    pytest.param(
        "refunded", (True, False, False, False, False, False, True), marks=pytest.mark.spec("ORD-10")
    ),
    pytest.param(
        "refunded_at",
        moments("2024-05-03T10:30:00", None, None, None, None, None, "2025-06-09T10:11:12"),
        marks=pytest.mark.spec("ORD-11"),
    ),
    pytest.param(
        "receipt_email",
        (
            "ada@mail.example",
            "wanda@mail.example",
            "carl@mail.example",
            "kim@mail.example",
            "ria@mail.example",
            "",
            "finn@mail.example",
        ),
        marks=pytest.mark.spec("ORD-12"),
    ),
    pytest.param(
        "receipt_phone",
        ("+4930123456", "", "+81300000002", "+12025550103", "", "", ""),
        marks=pytest.mark.spec("ORD-13"),
    ),
    pytest.param("receipt_number", ("R-77", "", "", "", "", "", "R-6"), marks=pytest.mark.spec("ORD-14")),
    pytest.param(
        "receipt_url",
        (
            "https://receipts.example/R-77",
            "https://receipts.example/w-1",
            "https://receipts.example/c-2",
            "https://receipts.example/k-3",
            "https://receipts.example/r-4",
            "",
            "https://receipts.example/f-6",
        ),
        marks=pytest.mark.spec("ORD-15"),
    ),
    pytest.param(
        "receipt_id",
        ("rcpt-77", "rcpt-w-1", "rcpt-c-2", "rcpt-k-3", "rcpt-r-4", "", "rcpt-f-6"),
        marks=pytest.mark.spec("ORD-16"),
    ),
    pytest.param(
        "agreement_version", ("3.1", "1.0", "2.0", "2.1", "2.1", "", "2.1"), marks=pytest.mark.spec("ORD-17")
    ),
    pytest.param(
        "agreement_accepted", (True, False, True, True, True, False, True), marks=pytest.mark.spec("ORD-18")
    ),
    pytest.param(
        "notify_sale", (True, False, True, True, False, False, False), marks=pytest.mark.spec("ORD-19")
    ),
    pytest.param(
        "notify_sale_email",
        ("sale@mail.example", "", "carl-sales@mail.example", "kim@mail.example", "", "", ""),
        marks=pytest.mark.spec("ORD-20"),
    ),
    pytest.param(
        "issuer.url",
        (
            "https://shop.example/basket",
            "https://guild.example/",
            "https://gems.example/shop",
            None,
            "",
            None,
            None,
        ),
        marks=pytest.mark.spec("ORD-21"),
    ),
    pytest.param(
        "issuer.embedded", (True, False, True, None, False, None, None), marks=pytest.mark.spec("ORD-21")
    ),
    pytest.param(
        "issuer.reference",
        ("link-9", "link-w", "", None, "plan-4", None, None),
        marks=pytest.mark.spec("ORD-21"),
    ),
    pytest.param(
        "issuer.reference_type",
        ("payment_link", "payment_link", "", None, "plan", None, None),
        marks=pytest.mark.spec("ORD-21"),
    ),
    pytest.param(
        "issuer.utm_source",
        ("letter", "forum", "video", None, "", None, None),
        marks=pytest.mark.spec("ORD-21"),
    ),
    pytest.param(
        "issuer.utm_medium",
        ("email", "post", "banner", None, "", None, None),
        marks=pytest.mark.spec("ORD-21"),
    ),
    pytest.param(
        "issuer.utm_campaign",
        ("spring", "winter", "launch", None, "", None, None),
        marks=pytest.mark.spec("ORD-21"),
    ),
    pytest.param(
        "issuer.referrer_host",
        ("shop.example", "forum.example", "gems.example", None, "", None, None),
        marks=pytest.mark.spec("ORD-21"),
    ),
    pytest.param(
        "amount", money("59.99", "5", "1200", "21.43", "4.125", "2.5", "10"), marks=pytest.mark.spec("ORD-22")
    ),
    pytest.param(
        "currency", ("EUR", "EUR", "JPY", "USD", "KWD", "USD", "USD"), marks=pytest.mark.spec("ORD-23")
    ),
    pytest.param(
        "user.external_id",
        ("player-42", "wanda", "carl", "kim", "ria", "nico", "finn"),
        marks=pytest.mark.spec("ORD-24", "USR-03"),
    ),
    pytest.param(
        "billing_address.country",
        ("US", None, "JP", "US", None, None, None),
        marks=pytest.mark.spec("ORD-25"),
    ),
    pytest.param(
        "billing_address.state", ("CA", None, None, "NY", None, None, None), marks=pytest.mark.spec("ORD-25")
    ),
    pytest.param(
        "billing_address.zip",
        ("94016", None, None, "10001", None, None, None),
        marks=pytest.mark.spec("ORD-25"),
    ),
    pytest.param(
        "tax.type", ("vat", "vat", "", "sales_tax", None, None, None), marks=pytest.mark.spec("ORD-26")
    ),
    pytest.param(
        "tax.rate", money("0.19", "0.2", "0", "0.072", None, None, None), marks=pytest.mark.spec("ORD-26")
    ),
    pytest.param(
        "tax.amount", money("9.58", "0.83", "0", "1.44", None, None, None), marks=pytest.mark.spec("ORD-26")
    ),
    pytest.param(
        "tax.currency", ("EUR", "EUR", "JPY", "USD", None, None, None), marks=pytest.mark.spec("ORD-26")
    ),
    pytest.param(
        "net_revenue.amount",
        money("47.41", "3.92", "7.1", "18.9", "3.9", None, "8.8"),
        marks=pytest.mark.spec("ORD-27"),
    ),
    pytest.param(
        "net_revenue.currency",
        ("USD", "EUR", "USD", "USD", "KWD", None, "USD"),
        marks=pytest.mark.spec("ORD-27"),
    ),
    pytest.param(
        "fee.amount",
        money("3.0", "0.25", "0.9", "1.09", "0.225", None, "1.2"),
        marks=pytest.mark.spec("ORD-28"),
    ),
    pytest.param(
        "fee.currency", ("USD", "EUR", "USD", "USD", "KWD", None, "USD"), marks=pytest.mark.spec("ORD-28")
    ),
    pytest.param(
        "method.title",
        ("Bank card", "QuickPay", "Bitcoin", "Bank card", "Bank card", None, "Cash shop"),
        marks=pytest.mark.spec("ORD-29", "MTH-01"),
    ),
    pytest.param(
        "method.external_id",
        ("BANKCARD", "QUICKPAY", "BITCOIN", "BANKCARD", "BANKCARD", None, "CASH"),
        marks=pytest.mark.spec("MTH-02"),
    ),
    pytest.param(
        "method.payment_system_id",
        ("ps-5", "ps-wallet", "ps-chain", "ps-cards", "ps-renewals", None, "ps-cash"),
        marks=pytest.mark.spec("MTH-03"),
    ),
    pytest.param(
        "method.type",
        ("cards", "EWALLET", "CRYPTO", "BANKCARD", "BANKCARD", None, "OFFLINE"),
        marks=pytest.mark.spec("MTH-04"),
    ),
    pytest.param(
        "method.handler",
        ("acquirer-2", "wallets-1", "chain-7", "cards-3", "cards-4", None, "cash-6"),
        marks=pytest.mark.spec("MTH-05"),
    ),
    pytest.param(
        "method.saved", (True, False, False, True, True, None, False), marks=pytest.mark.spec("MTH-06")
    ),
    pytest.param(
        "method.card.first6",
        ("400000", None, None, "555555", "411111", None, None),
        marks=pytest.mark.spec("MTH-07"),
    ),
    pytest.param(
        "method.card.last4",
        ("0002", None, None, "4444", "1111", None, None),
        marks=pytest.mark.spec("MTH-07"),
    ),
    pytest.param(
        "method.card.masked",
        ("400000******0002", None, None, "555555******4444", "411111******1111", None, None),
        marks=pytest.mark.spec("MTH-07"),
    ),
    pytest.param(
        "method.card.expiry_month",
        ("07", None, None, "01", "12", None, None),
        marks=pytest.mark.spec("MTH-07"),
    ),
    pytest.param(
        "method.card.expiry_year",
        ("2031", None, None, "2033", "2029", None, None),
        marks=pytest.mark.spec("MTH-07"),
    ),
    pytest.param(
        "method.card.brand",
        ("VISA", None, None, "MASTERCARD", "VISA", None, None),
        marks=pytest.mark.spec("MTH-07"),
    ),
    pytest.param(
        "method.card.fingerprint",
        ("fp-abc", None, None, "fp-key", "fp-renewal", None, None),
        marks=pytest.mark.spec("MTH-07"),
    ),
    pytest.param(
        "method.card.secure3d", (True, None, None, False, True, None, None), marks=pytest.mark.spec("MTH-07")
    ),
    pytest.param(
        "method.wallet.brand",
        ("QuickPay", "PocketPay", None, None, None, None, None),
        marks=pytest.mark.spec("MTH-08"),
    ),
    pytest.param(
        "method.wallet.account",
        ("ada-wallet", "wanda@quickpay.example", None, None, None, None, None),
        marks=pytest.mark.spec("MTH-08"),
    ),
    pytest.param(
        "method.crypto_currency.brand",
        ("bitcoin", None, "litecoin", None, None, None, None),
        marks=pytest.mark.spec("MTH-09"),
    ),
    pytest.param(
        "method.crypto_currency.address",
        ("bc1qexample", None, "bc1qcarl", None, None, None, None),
        marks=pytest.mark.spec("MTH-09"),
    ),
    pytest.param(
        "method.refund_allowed", (True, True, False, True, True, None, True), marks=pytest.mark.spec("MTH-10")
    ),
    pytest.param(
        "method.recurring_allowed",
        (False, True, False, True, True, None, False),
        marks=pytest.mark.spec("MTH-11"),
    ),
    pytest.param(
        "items.0.id",
        ("item-1", None, None, "item-k", "item-r1", None, "item-f"),
        marks=pytest.mark.spec("ORD-30", "ITM-01"),
    ),
    pytest.param(
        "items.0.sku",
        ("map-pack", None, None, "space-game", "pass", None, "hat"),
        marks=pytest.mark.spec("ITM-02"),
    ),
    pytest.param(
        "items.0.name",
        ("Map pack", None, None, "Space game", "Season pass", None, "Hat"),
        marks=pytest.mark.spec("ITM-03"),
    ),
    pytest.param(
        "items.0.description",
        ("Two maps", None, None, "For one computer", "One month", None, "Felt"),
        marks=pytest.mark.spec("ITM-04"),
    ),
    pytest.param(
        "items.0.images",
        (
            ("https://img.example/1.png", "https://img.example/2.png"),
            None,
            None,
            ("https://img.example/space.png",),
            (),
            None,
            None,
        ),
        marks=pytest.mark.spec("ITM-05"),
    ),
    pytest.param(
        "items.0.metadata",
        ({"shelf": "a"}, None, None, {"genre": "space"}, {"months": "1"}, None, None),
        marks=pytest.mark.spec("ITM-06"),
    ),
    pytest.param(
        "items.0.code",
        ("AAAA-BBBB", None, None, "SPACE-0003", "", None, ""),
        marks=pytest.mark.spec("ITM-07"),
    ),
    pytest.param(
        "items.0.platform", ("steam", None, None, "gog", "", None, ""), marks=pytest.mark.spec("ITM-08")
    ),
    pytest.param(
        "items.1.id", ("item-2", None, None, None, "item-r2", None, None), marks=pytest.mark.spec("ORD-30")
    ),
    pytest.param(
        "refund.amount",
        money("64.12", None, None, None, None, None, "187.5"),
        marks=pytest.mark.spec("ORD-31", "RFD-01"),
    ),
    pytest.param(
        "refund.currency", ("USD", None, None, None, None, None, "MXN"), marks=pytest.mark.spec("RFD-02")
    ),
    pytest.param(
        "refund.reason",
        ("asked by the customer", None, None, None, None, None, "wrong size"),
        marks=pytest.mark.spec("RFD-03"),
    ),
    pytest.param(
        "refund.code", ("R1", None, None, None, None, None, "R-SIZE"), marks=pytest.mark.spec("RFD-04")
    ),
    pytest.param(
        "refund.receipt_number",
        ("RR-78", None, None, None, None, None, "RR-6"),
        marks=pytest.mark.spec("RFD-05"),
    ),
    pytest.param(
        "refund.receipt_url",
        ("https://receipts.example/RR-78", None, None, None, None, None, "https://receipts.example/refund-6"),
        marks=pytest.mark.spec("RFD-06"),
    ),
    pytest.param(
        "metadata",
        (
            {"reference": "ref-0001"},
            *(
                {"reference": f"ref-{name}"}
                for name in ("wallet", "crypto", "key", "renewal", "cancelled", "refunded")
            ),
        ),
        marks=pytest.mark.spec("ORD-32"),
    ),
    pytest.param(
        "original_amount",
        money("50.41", "4.17", "1200", "19.99", "4.125", "2.5", "10"),
        marks=pytest.mark.spec("ORD-33"),
    ),
    pytest.param("country", ("DE", "FR", "JP", "US", "KW", "GB", "MX"), marks=pytest.mark.spec("ORD-34")),
    pytest.param(
        "type",
        ("products", "simple", "virtual_currency", "key", "products", "simple", "product"),
        marks=pytest.mark.spec("ORD-35"),
    ),
    pytest.param("platform_id", ("gog", "", "", "gog", "", "", ""), marks=pytest.mark.spec("ORD-36")),
    pytest.param(
        "virtual_currency_amount",
        money("0", "0", "500.5", "0", "0", "0", "0"),
        marks=pytest.mark.spec("ORD-37"),
    ),
    pytest.param(
        "is_buy_for_virtual_currency",
        (False, False, True, False, False, False, False),
        marks=pytest.mark.spec("ORD-38"),
    ),
    pytest.param(
        "charge_currency", ("USD", "EUR", "EUR", "USD", "KWD", "", "MXN"), marks=pytest.mark.spec("ORD-39")
    ),
    pytest.param(
        "charge_amount",
        money("64.12", "5", "7.35", "21.43", "4.125", "0", "187.5"),
        marks=pytest.mark.spec("ORD-40"),
    ),
    pytest.param(
        "vat_payer",
        ("buyer", "seller", "nobody", "buyer", "nobody", "nobody", "nobody"),
        marks=pytest.mark.spec("ORD-41"),
    ),
    pytest.param(
        "is_production", (True, True, True, True, True, True, False), marks=pytest.mark.spec("ORD-42")
    ),
    pytest.param(
        "form_mode",
        ("iframe", "standalone", "embed", "iframe", "embed", "iframe", "standalone"),
        marks=pytest.mark.spec("ORD-44"),
    ),
    pytest.param(
        "merchant_info.company_name",
        ("Example Games", "Guild Games", "Gem Works", "Space Company", "Pass Makers", None, None),
        marks=pytest.mark.spec("ORD-45"),
    ),
    pytest.param(
        "merchant_info.agreement_number",
        ("A-12", "G-1", "W-2", "S-3", "P-4", None, None),
        marks=pytest.mark.spec("ORD-45"),
    ),
    pytest.param(
        "recurring", (True, False, False, False, True, False, False), marks=pytest.mark.spec("ORD-46")
    ),
    pytest.param("recurring_id", ("rec-3", "", "", "", "rec-4", "", ""), marks=pytest.mark.spec("ORD-47")),
    pytest.param(
        "user.id",
        ("usr-1", "usr-w", "usr-c", "usr-k", "usr-r", "usr-n", "usr-f"),
        marks=pytest.mark.spec("USR-01"),
    ),
    pytest.param("user.object", ("user",) * 7, marks=pytest.mark.spec("USR-02")),
    pytest.param(
        "user.name",
        ("Ada Example", "Wanda Wood", "Carl Coin", "Kim Key", "Ria Renew", "", "Finn Full"),
        marks=pytest.mark.spec("USR-04"),
    ),
    pytest.param(
        "user.email",
        (
            "ada@mail.example",
            "wanda@mail.example",
            "carl@mail.example",
            "kim@mail.example",
            "ria@mail.example",
            "",
            "finn@mail.example",
        ),
        marks=pytest.mark.spec("USR-05"),
    ),
    pytest.param(
        "user.email_verified", (True, False, True, True, True, False, False), marks=pytest.mark.spec("USR-06")
    ),
    pytest.param(
        "user.phone",
        ("+4930123456", "+33100000001", "+81300000002", "+12025550103", "", "", ""),
        marks=pytest.mark.spec("USR-07"),
    ),
    pytest.param(
        "user.phone_verified",
        (False, True, False, True, False, False, False),
        marks=pytest.mark.spec("USR-08"),
    ),
    pytest.param(
        "user.ip",
        (
            "192.0.2.7",
            "192.0.2.11",
            "2001:db8::2",
            "198.51.100.3",
            "203.0.113.4",
            "203.0.113.5",
            "203.0.113.6",
        ),
        marks=pytest.mark.spec("USR-09"),
    ),
    pytest.param(
        "user.locale",
        ("de-DE", "fr-FR", "ja-JP", "en-US", "ar-KW", "en-GB", "es-MX"),
        marks=pytest.mark.spec("USR-10"),
    ),
    pytest.param(
        "user.address.country", ("DE", "FR", "JP", "US", "KW", None, None), marks=pytest.mark.spec("USR-11")
    ),
    pytest.param(
        "user.address.city",
        ("Berlin", "Lyon", "Kyoto", "Oakland", "Kuwait City", None, None),
        marks=pytest.mark.spec("USR-11"),
    ),
    pytest.param(
        "user.address.postal_code",
        ("10115", "69001", "600-8216", "94607", "13001", None, None),
        marks=pytest.mark.spec("USR-11"),
    ),
    pytest.param(
        "user.address.state",
        ("DE-BE", "FR-ARA", "JP-26", "US-CA", "KW-KU", None, None),
        marks=pytest.mark.spec("USR-11"),
    ),
    pytest.param(
        "user.metadata",
        ({"level": "7"}, {"guild": "north"}, {"rank": "gold"}, {}, {"plan": "month"}, None, None),
        marks=pytest.mark.spec("USR-12"),
    ),
    pytest.param(
        "user.notify_new_region",
        (True, False, True, False, False, False, False),
        marks=pytest.mark.spec("USR-13"),
    ),
    pytest.param(
        "user.notify_new_region_email",
        ("region@mail.example", "", "carl-regions@mail.example", "", "", "", ""),
        marks=pytest.mark.spec("USR-14"),
    ),
]
ALWAYS = {"object", "user.object"}
"""What the specification says is always the same."""
OF_ROWS: dict[str, tuple[Any, Any]] = {
    "type": ("products", "product"),
}
"""Rows have one word where an Order and its creation have two (docs/open-questions.md)."""
NOT_OF_ONE_FIELD = {"id", "refund.amount", "refund.currency"}
"""Without an id there is no row; what was refunded is added up of all refunds."""
DERIVED = {"method.card.masked": ("first6", "last4"), "items.0.platform": ("platform",)}
"""What is read from other fields, by the names under which it is sent."""
OF_THE_SNAPSHOT = {*ALWAYS, "status"}
"""What rows do not have under these names: the status of a row is computed from all observations."""


@pytest.mark.parametrize("name", SALES)
def test_a_sale_is_sound(name: str) -> None:
    """Nothing in it is a problem."""
    assert parse_order(sale(name)).problems == ()


@pytest.mark.parametrize(("path", "values"), FIELDS)
def test_no_field_is_the_same_in_all_sales(path: str, values: tuple[Any, ...]) -> None:
    """Or its test would not notice a field that is read from another one."""
    assert len(values) == len(SALES)
    different = {repr(value) for value in values if value is not None}
    assert len(different) > 1 or path in {*ALWAYS, "canceled_at"}


@pytest.mark.parametrize(("path", "values"), FIELDS)
def test_each_field_has_the_value_of_its_sale(path: str, values: tuple[Any, ...]) -> None:
    """Under its own name, with its own type: exact numbers, moments in UTC."""
    found = [reach(parse_order(sale(name)), path) for name in SALES]
    assert found == list(values)
    assert [type(value) for value in found] == [type(value) for value in values]


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "values"), FIELDS)
def test_a_row_has_the_value_of_its_sale(
    checkout_deliver: Deliver, path: str, values: tuple[Any, ...]
) -> None:
    """Two sales that differ in it. Under the specification's name; ``id`` is ``order_id``, ``user_id`` and ``item_id``."""
    other = next((place for place, value in enumerate(values) if value not in (values[0], None)), 1)
    for place in (0, other):
        document = sale(SALES[place])
        checkout_deliver(order=document, event=EVENTS.get(SALES[place], Event.PAYMENT_SUCCESS))
        found = attribute(Order.objects.get(order_id=document["id"]), path)
        sent, shown = OF_ROWS.get(path, (None, None))
        assert comparable(found) == comparable(shown if values[place] == sent else values[place])


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "values"), FIELDS)
def test_what_a_sale_does_not_state_is_none(
    checkout_deliver: Deliver, path: str, values: tuple[Any, ...]
) -> None:
    """It is read from no other field, neither by the snapshot nor by the row."""
    document = without(sale("complete"), path)
    assert reach(parse_order(document), path) is None
    if path in NOT_OF_ONE_FIELD:
        return
    checkout_deliver(order=document, event=EVENTS["complete"])
    assert comparable(attribute(Order.objects.get(order_id=document["id"]), path)) is None


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "values"), FIELDS)
def test_staff_see_the_value_of_its_sale(
    admin_client: Client, checkout_deliver: Deliver, path: str, values: tuple[Any, ...]
) -> None:
    """On the page of the order and of its customer, in the file of orders and in the evidence: wherever it has a place."""
    seen = {name: shown(name, admin_client, checkout_deliver) for name in SALES}
    places = [way for way, fields in WAYS.items() if path in fields]
    assert places or path in DERIVED
    sent, of_row = OF_ROWS.get(path, (None, None))
    for name, value in zip(SALES, values, strict=True):
        for way in places:
            expected = of_row if way == "file" and value == sent else value
            assert is_shown_as(seen[name][way].get(path), expected), (name, way)


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "values"), FIELDS)
def test_an_export_has_the_value_of_its_sale(
    checkout_deliver: Deliver, path: str, values: tuple[Any, ...]
) -> None:
    """Personal fields, too: the document of the order in the export of its customer."""
    found = [reach(exported(name, checkout_deliver), path) for name in SALES]
    assert [comparable(value) for value in found] == [comparable(value) for value in values]


def without(document: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the document without one field, which was in it."""
    *rooms, name = path.split(".")
    left: dict[str, Any] = copy.deepcopy(document)
    room: Any = left
    for step in rooms:
        room = room[int(step)] if step.isdigit() else room[step]
    for each in DERIVED.get(path, (name,)):
        del room[each]
    return left


def attribute(order: Order, path: str) -> Any:
    """Return a field as a shop reads it from the row, its customer, or one of its items."""
    room, _, rest = path.partition(".")
    if path in OF_THE_SNAPSHOT:
        return reach(order.snapshot, path)
    if room == "user":
        return reach(order.user, "user_id" if rest == "id" else rest)
    if room == "items":
        position, _, field = rest.partition(".")
        item = order.items.filter(position=position).first()
        return reach(item, "item_id" if field == "id" else field)
    return reach(order, "order_id" if path == "id" else path)


def comparable(value: Any) -> Any:
    """Columns have "" for what was not stated, tuples are lists in JSON."""
    return (
        list(value) or None if isinstance(value, (tuple, list)) else value or None if value == "" else value
    )
