"""Amounts, numbers and dates on pages are written as the language does; files, JSON and attributes are for programs."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import translation

from checkout_integration.admin.site.values import moment, money
from checkout_integration.display import amount_text, shown_amount, shown_day, shown_number
from checkout_integration.flows.monitoring import span
from checkout_integration.testing.factories import CheckoutFactory
from checkout_integration.views.returning import return_link
from tests.support.admin import rows

NBSP = "\N{NO-BREAK SPACE}"
MONEY = "/admin/checkout_integration/money/"
MARCH = "?first=2026-03-01&last=2026-03-31&mode=test&by=day&by=vat"


@pytest.mark.parametrize(
    ("language", "amount", "day", "number"),
    [
        ("en", f"1,234.50{NBSP}EUR", "2026-03-04", "1,000,000"),
        ("en-gb", f"1,234.50{NBSP}EUR", "2026-03-04", "1,000,000"),
        ("de", f"1.234,50{NBSP}EUR", "04.03.2026", "1.000.000"),
        ("es", f"1{NBSP}234,50{NBSP}EUR", "04/03/2026", f"1{NBSP}000{NBSP}000"),
    ],
)
def test_values_are_written_as_the_language_does(language: str, amount: str, day: str, number: str) -> None:
    """Separators of thousands and decimals, and the sequence of day and month."""
    with translation.override(language):
        assert money(Decimal("1234.5000"), "EUR") == amount
        assert shown_day(date(2026, 3, 4)) == day
        assert shown_number(1_000_000) == number
        assert f"<span>{day}</span> <span>12:30:05</span>" in moment(
            datetime(2026, 3, 4, 12, 30, 5, tzinfo=UTC)
        )


@pytest.mark.parametrize("language", ["en", "de", "es"])
def test_no_digit_is_lost(language: str) -> None:
    """Where an amount has more decimal places than its currency, and where it is large."""
    for text in ("0.123456789012345678901", "123456789012345678901234567890.01", "-5"):
        with translation.override(language):
            shown = shown_amount(Decimal(text), "USD")
            digits = "".join(filter(str.isdigit, amount_text(Decimal(text), "USD")))
            assert "".join(filter(str.isdigit, shown)) == digits
            assert shown.startswith("-") == text.startswith("-")


def test_attributes_are_for_programs() -> None:
    """The time of a moment is ISO 8601 in each language."""
    with translation.override("de"):
        assert 'datetime="2026-03-04T12:30:05+00:00"' in moment(datetime(2026, 3, 4, 12, 30, 5, tzinfo=UTC))


@pytest.mark.parametrize(
    ("language", "texts"),
    [("en", ["3 days", "5 h", "90 min", "7 s"]), ("de", ["3 Tagen", "5 h", "90 min", "7 s"])],
)
def test_lengths_of_time_are_translated(language: str, texts: list[str]) -> None:
    """In the largest unit of which there are two or more."""
    with translation.override(language):
        assert [span(seconds) for seconds in (3 * 86_400, 5 * 3_600, 5_400, 7)] == texts


@pytest.mark.django_db
def test_the_money_page_is_in_the_language_and_its_file_for_programs(admin_client: Client) -> None:
    """Amounts, days and rates in German on the page; plain digits and ISO dates in the file and in fields."""
    rows.make_order(amount=Decimal("1234.50"), tax_rate=Decimal("19.5"), tax_amount=Decimal("201.44"))
    with translation.override("de"):
        html = admin_client.get(MONEY + MARCH).content.decode()
        file = b"".join(admin_client.get(f"{MONEY}csv/{MARCH}").streaming_content)  # type: ignore[attr-defined]
    for text in (">1.234,50<", ">04.03.2026<", ">19,5<", ">0<", ">Alle Zeilen<", 'value="2026-03-01"'):
        assert text in html, text
    lines = list(csv.DictReader(io.StringIO(file.decode("utf-8-sig"))))
    (values,) = [line for line in lines if line["currency"] == "USD"]
    assert [values[name] for name in ("day", "tax_rate", "gross", "payments")] == [
        "2026-03-04",
        "19.5",
        "1234.50",
        "1",
    ]


@pytest.mark.django_db
def test_pages_of_orders_and_customers_are_in_the_language(admin_client: Client) -> None:
    """The order's page and list, and the return page."""
    order = rows.make_order(amount=Decimal("1234.50"), charge_amount=None, charge_currency="")
    checkout = CheckoutFactory(expected_amount=Decimal("1234.50"), currency="EUR")
    with translation.override("de"):
        page = admin_client.get(f"/admin/checkout_integration/order/{order.pk}/change/").content.decode()
        orders = admin_client.get("/admin/checkout_integration/order/").content.decode()
        returned = admin_client.get(return_link(checkout)).content.decode()
    assert f"1.234,50{NBSP}USD" in page and f"1.234,50{NBSP}USD" in orders
    assert "1.234,50 EUR" in returned and "04.03.2026" in page


@pytest.mark.django_db
def test_a_form_takes_the_digits_of_programs(admin_client: Client) -> None:
    """The price of a checkout that staff describe is a number field, whose value has a point in each language."""
    order = rows.make_order(verdict="review", verdict_reason="unbound")
    with translation.override("de"):
        html = admin_client.get(f"/admin/checkout_integration/order/{order.pk}/bind/").content.decode()
    assert '<input type="number" name="amount"' in html
