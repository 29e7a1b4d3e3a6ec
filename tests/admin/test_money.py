"""The page about money, its file, and the money on the app's page of the admin's index."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from checkout_integration.models import Order
from checkout_integration.testing.factories import CheckoutFactory
from tests.support.admin import rows

pytestmark = pytest.mark.django_db
PAGE = "/admin/checkout_integration/money/"
INDEX = "/admin/checkout_integration/"
OF_THE_FILE = [
    "mode",
    "contradicted",
    *(f"{name}_unstated" for name in ("gross", "charged", "tax", "fee", "net", "refunded", "charged_back")),
]
EVERYTHING = "?first=2026-03-01&last=2026-03-31&mode=test&by=day&by=method&by=country&by=vat"


def html_of(client: Client, address: str = PAGE) -> str:
    """The page as text."""
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def file_of(client: Client, query: str) -> list[list[str]]:
    """The rows of the file, header included."""
    answer = client.get(f"{PAGE}csv/{query}")
    assert answer.status_code == 200
    text = b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    return list(csv.reader(io.StringIO(text, newline="")))


LABELS = {
    "payment method": "method_type",
    "of them in review": "in_review",
    "rate of vat": "tax_rate",
    "vat paid by": "vat_payer",
    "payments refunded": "refunds",
    "refunds": "refunded",
    "payments charged back": "chargebacks",
    "chargebacks": "charged_back",
    "refund rate, %": "refund_rate",
    "chargeback rate, %": "chargeback_rate",
    "source": "utm_source",
    "host": "referrer_host",
}
"""The names that columns have in the file, where the page has another one."""
VAT_PAYERS = {"the shop": "seller", "the customer": "buyer", "nobody": "nobody"}
"""The words of the file for those of the page."""
CELL = re.compile(r'<td data-label="([^"]*)"[^>]*>(.*?)</td>')


def shown_rows(html: str) -> list[dict[str, str]]:
    """The rows of all tables of the page, each with the currency of its table, by the names of the file."""
    found = []
    for section in re.findall(r"<section.*?</section>", html, re.DOTALL):
        (currency,) = re.findall(r"<h2[^>]*>(.*?)</h2>", section)
        (body,) = re.findall(r"<tbody>(.*?)</tbody>", section, re.DOTALL)
        for line in re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL):
            cells = {
                LABELS.get(name.lower(), name.lower()): unescape(re.sub("</?a[^>]*>", "", cell))
                for name, cell in CELL.findall(line)
            }
            if "vat_payer" in cells:
                cells["vat_payer"] = VAT_PAYERS.get(cells["vat_payer"], cells["vat_payer"])
            found.append({"currency": currency, **cells})
    return found


def sell(day: int = 4, **columns: Any) -> Order:
    """A payment in March."""
    given = {
        "created_at": datetime(2026, 3, day, 12, tzinfo=UTC),
        "country": "DE",
        "method_type": "BANKCARD",
        "tax_amount": Decimal("1.60"),
        "tax_currency": "USD",
        "tax_rate": Decimal("0.19"),
        "vat_payer": "seller",
    }
    return rows.make_order(**{**given, **columns})


def make_history() -> None:
    """Payments of several currencies, countries and methods, some of them reversed."""
    sell()
    sell(day=5, country="FR", tax_rate=Decimal("0.2"), vat_payer="buyer")
    sell(day=5, currency="JPY", amount=Decimal(1500), tax_currency="JPY", tax_amount=Decimal(136))
    sell(day=6, method_type="", country="", tax_rate=None, vat_payer="", net_revenue_amount=Decimal("-0.30"))
    refunded = sell(day=6, status="refunded")
    rows.make_refund(refunded, amount="2.00", status="refunded")
    rows.make_refund(sell(day=7, status="chargeback"), status="chargeback")


def test_the_page_needs_its_permission(client: Client) -> None:
    """Page, file and the part of the index."""
    client.force_login(rows.make_staff("view_order", "view_health", "view_refund"))
    assert [client.get(address).status_code for address in (PAGE, f"{PAGE}csv/")] == [403, 403]
    assert "ci-money" not in html_of(client, INDEX)
    client.force_login(rows.make_staff("view_money", name="accountant"))
    assert [client.get(address).status_code for address in (PAGE, f"{PAGE}csv/")] == [200, 200]
    assert "ci-money" in html_of(client, INDEX)
    assert f'<a href="{PAGE}">Money</a>' in html_of(client, "/admin/")


def test_it_is_only_read(admin_client: Client) -> None:
    """It has no other address, and takes no POST."""
    assert [admin_client.post(address).status_code for address in (PAGE, f"{PAGE}csv/")] == [405, 405]
    for address in (f"{PAGE}add/", f"{PAGE}1/change/", f"{PAGE}1/delete/"):
        assert admin_client.get(address).status_code == 404


@pytest.mark.parametrize(
    "by",
    [
        *("", "&by=day", "&by=method&by=country", "&by=vat&by=country", "&by=product&by=origin"),
        "&by=day&by=method&by=country&by=vat",
    ],
)
@pytest.mark.parametrize("reversals", ["", "payment"])
def test_the_file_has_the_rows_of_the_page(admin_client: Client, by: str, reversals: str) -> None:
    """Cell by cell."""
    make_history()
    query = f"?first=2026-03-01&last=2026-03-31&mode=test&reversals={reversals}{by}"
    header, *lines = file_of(admin_client, query)
    assert header[0] == "currency" and header[-len(OF_THE_FILE) :] == OF_THE_FILE
    shown = shown_rows(html_of(admin_client, PAGE + query))
    assert len(lines) == len(shown) >= 3
    columns = header[: -len(OF_THE_FILE)]
    for line, cells in zip(lines, shown, strict=True):
        for name, cell in zip(columns, line, strict=False):
            # A column without anything in it is on no table of the currency.
            assert cells.get(name, cell if cell in ("", "0", "0.00") else "").replace(",", "") == (
                cell or "–" if name in cells else cell
            )


@pytest.mark.spec(
    "ORD-21", "ORD-22", "ORD-23", "ORD-26", "ORD-27", "ORD-28", "ORD-34", "ORD-39", "ORD-40", "ORD-41"
)
@pytest.mark.spec("ITM-03", "MTH-04", "RFD-01", "RFD-02", "STA-06", "STA-07")
def test_each_field_has_a_column_of_its_own(admin_client: Client) -> None:
    """On the page and in the file: of one payment whose fields all differ, the charge in another currency."""
    amounts = {"amount": "14.99", "charge_amount": "13.50", "tax_amount": "2.01", "fee_amount": "0.40"}
    currencies = {f"{part}_currency": "USD" for part in ("tax", "fee", "net_revenue")}
    origin = {
        "utm_source": "letter",
        "utm_medium": "email",
        "utm_campaign": "spring",
        "referrer_host": "forum.example",
    }
    given: dict[str, Any] = {name: Decimal(text) for name, text in amounts.items()}
    given |= {**currencies, **origin, "charge_currency": "EUR", "net_revenue_amount": Decimal("12.30")}
    order = sell(**given, status="chargeback", product="Game")
    rows.make_refund(order, amount="1.20", currency="USD", status="refunded")
    rows.make_refund(order, amount="3.45", currency="USD", status="chargeback")
    query = "?first=2026-03-01&last=2026-03-31&mode=test&by=method&by=country&by=product&by=origin&by=vat"
    (shown, charged) = re.findall(r"<section.*?</section>", html_of(admin_client, PAGE + query), re.DOTALL)
    by = ["BANKCARD", "DE", "Game", "letter", "forum.example", "0.19"]
    of_usd = ["1", "14.99", "2.01", "0.40", "12.30", "1", "1.20", "1", "3.45", "100.00", "100.00"]
    headings = (
        *("Payment method", "Country", "Product", "Source", "Host", "Rate of VAT", "VAT paid by"),
        *("Payments", "Gross", "Tax", "Fee", "Net", "Payments refunded", "Refunds"),
        *("Payments charged back", "Chargebacks", "Refund rate, %", "Chargeback rate, %"),
    )
    assert cells_of(shown) == dict(zip(headings, [*by, "the shop", *of_usd], strict=True))
    by.append("seller")
    assert cells_of(charged)["Charged"] == "13.50"
    names, *lines = file_of(admin_client, query)
    in_file = {line[0]: dict(zip(names, line, strict=True)) for line in lines}
    columns = (
        *("method_type", "country", "product", "utm_source", "referrer_host", "tax_rate", "vat_payer"),
        *("payments", "gross", "tax", "fee", "net", "refunds", "refunded", "chargebacks", "charged_back"),
        *("refund_rate", "chargeback_rate"),
    )
    assert [in_file["USD"][name] for name in columns] == by + of_usd
    assert (in_file["USD"]["charged"], in_file["EUR"]["charged"]) == ("", "13.50")


def cells_of(section: str) -> dict[str, str]:
    """The cells of a table's last row, by their headings."""
    last = section.rpartition("<tbody>")[2]
    return {name: re.sub("<[^>]*>", "", cell) for name, cell in CELL.findall(last)}


@pytest.mark.spec("ORD-27", "ORD-28")
def test_a_sum_says_of_how_many_payments_it_is(admin_client: Client) -> None:
    """In its cell, in those of the totals, and in the file; a sum without any amount is a dash, and empty in the file."""
    sell(net_revenue_amount=Decimal("8.10"), net_revenue_currency="USD")
    sell(day=5, net_revenue_amount=None, net_revenue_currency="", fee_amount=None, fee_currency="")
    sell(day=5, net_revenue_amount=Decimal("7.90"), net_revenue_currency="USD")
    days = "?first=2026-03-01&last=2026-03-31&mode=test&currency=USD"
    header, line = file_of(admin_client, days)
    row = dict(zip(header, line, strict=True))
    assert (row["net"], row["net_unstated"], row["gross_unstated"]) == ("16.00", "1", "0")
    (shown,) = shown_rows(html_of(admin_client, PAGE + days))
    assert shown["net"] == '16.00 <span class="ci-of">2 of 3</span>'
    note = "2 of 3” beside a sum"
    assert note in html_of(admin_client, PAGE + days)
    assert note not in html_of(admin_client, PAGE + days.replace("-31&", "-04&"))
    (day,) = [row for row in shown_rows(html_of(admin_client, f"{PAGE}{days}&by=day")) if "05" in row["day"]]
    assert day["net"] == '7.90 <span class="ci-of">1 of 2</span>'
    assert (row["fee"], row["fee_unstated"]) == ("", "1")
    assert shown["fee"] == '– <span class="ci-of">0 of 1</span>'


@pytest.mark.spec("ORD-26", "ORD-27", "ORD-28", "ORD-40", "RFD-01")
def test_unknown_is_never_zero(admin_client: Client) -> None:
    """Of payments from the list of deployed services: not on the page, in the file, or on the app's page."""
    unknown: dict[str, Any] = {
        f"{name}_{part}": value
        for name in ("net_revenue", "fee", "tax", "charge")
        for part, value in (("amount", None), ("currency", ""))
    }
    sell(created_at=datetime.now(UTC), tax_rate=None, **unknown)
    refunded = sell(created_at=datetime.now(UTC), tax_rate=None, status="refunded", **unknown)
    rows.make_refund(refunded, amount=None, currency="", refunded_at=datetime.now(UTC))
    for by in ("", "?by=day", "?by=vat&by=country"):
        header, *lines = file_of(admin_client, by)
        amounts = [header.index(name) for name in ("charged", "tax", "fee", "net", "refunded")]
        assert {line[place] for line in lines for place in amounts} == {""}
        shown = shown_rows(html_of(admin_client, PAGE + by))
        cells = {row[header[place]] for row in shown for place in amounts}
        assert cells <= {f'– <span class="ci-of">0 of {number}</span>' for number in (1, 2)}, cells
    net = '<td data-label="Net" class="ci-amount">– <span class="ci-of">0 of 2</span></td>'
    html = html_of(admin_client, INDEX)
    assert net in html and "2 of 3” beside a sum" in html


def test_fee_and_net_always_have_a_column(admin_client: Client) -> None:
    """Also where there is no payment; of what was not charged or taxed there is none."""
    order = sell(
        status="refunded", fee_amount=None, fee_currency="", net_revenue_amount=None, net_revenue_currency=""
    )
    rows.make_refund(order, amount="1.00", currency="CHF")
    days = "?first=2026-03-01&last=2026-03-31&mode=test"
    (chf,) = [row for row in shown_rows(html_of(admin_client, PAGE + days)) if row["currency"] == "CHF"]
    assert (chf["fee"], chf["net"]) == ("–", "–") and "tax" not in chf


@pytest.mark.spec("ORD-22", "ORD-23")
def test_amounts_have_the_places_of_their_currency(admin_client: Client) -> None:
    """In the file and on the page."""
    sell(currency="JPY", amount=Decimal(1500))
    sell(currency="KWD", amount=Decimal("3.333"))
    sell(amount=Decimal("14.9"))
    _header, *lines = file_of(admin_client, "?first=2026-03-01&last=2026-03-31&mode=test")
    gross = {line[0]: line[3] for line in lines}
    assert gross == {"EUR": "", "JPY": "1500", "KWD": "3.333", "USD": "14.90"}


@pytest.mark.spec("STA-03", "STA-04")
def test_a_payment_that_was_canceled_later_is_counted_and_named(admin_client: Client) -> None:
    """Its goods are granted: the sums have it, and a line says how many there are."""
    slots: dict[str, Any] = {"processed/notification": {}, "canceled/notification": {}}
    days = "?first=2026-03-01&last=2026-03-31&mode=test&currency=USD"
    sell()
    assert "although" not in html_of(admin_client, PAGE + days)
    sell(status="canceled", facts={"slots": slots})
    sell(status="canceled", facts={"slots": {"canceled/notification": {}}})
    header, line = file_of(admin_client, days)
    row = dict(zip(header, line, strict=True))
    assert (row["payments"], row["gross"], row["contradicted"]) == ("2", "19.98", "1")
    assert "1 payment is in these sums although its order is canceled" in html_of(admin_client, PAGE + days)


@pytest.mark.spec("ORD-22", "ORD-23", "ORD-27", "ORD-28", "ORD-39", "ORD-40")
def test_currencies_are_never_added(admin_client: Client) -> None:
    """Each amount is in the row of its own currency, and a payment counts in that of its price."""
    sell(fee_amount=Decimal("0.40"), fee_currency="USD", net_revenue_amount=Decimal("8.10"))
    header, *lines = file_of(admin_client, "?first=2026-03-01&last=2026-03-31&mode=test")
    found = {line[0]: dict(zip(header, line, strict=True)) for line in lines}
    assert set(found) == {"EUR", "USD"}
    assert [found["USD"][name] for name in ("payments", "gross", "fee", "net")] == [
        "1",
        "9.99",
        "0.40",
        "",
    ]
    assert [found["EUR"][name] for name in ("payments", "charged", "net")] == ["0", "9.20", "8.10"]
    assert {found[currency]["net_unstated"] for currency in found} == {"0"}


def test_numbers_stay_numbers(admin_client: Client) -> None:
    """A negative one too: it is no formula."""
    make_history()
    header, *lines = file_of(admin_client, EVERYTHING)
    (loss,) = [line for line in lines if line[header.index("net")] == "-0.30"]
    assert Decimal(loss[header.index("net")]) == Decimal("-0.3")


@pytest.mark.parametrize(
    ("by", "names", "values"),
    [
        pytest.param("method", ["method_type"], ["BANKCARD"], marks=pytest.mark.spec("MTH-04")),
        pytest.param("country", ["country"], ["DE"], marks=pytest.mark.spec("ORD-34")),
        pytest.param(
            "origin",
            ["utm_source", "referrer_host"],
            ["letter", "forum.example"],
            marks=pytest.mark.spec("ORD-21"),
        ),
        pytest.param("vat", ["tax_rate", "vat_payer"], ["0.19", "seller"], marks=pytest.mark.spec("ORD-41")),
    ],
)
def test_sums_by_one_thing_name_it(
    admin_client: Client, by: str, names: list[str], values: list[str]
) -> None:
    """Alone, so that no other column can have its values."""
    origin: dict[str, Any] = {"utm_source": "letter", "referrer_host": "forum.example"}
    sell(method_type="BANKCARD", country="DE", tax_rate=Decimal("0.19"), vat_payer="seller", **origin)
    columns, line = file_of(admin_client, f"?first=2026-03-01&last=2026-03-31&mode=test&by={by}")[:2]
    row = dict(zip(columns, line, strict=True))
    assert [row.get(name) for name in names] == values
    assert not {"method_type", "country", "utm_source", "tax_rate"} - set(names) & set(columns)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", " =1"])
def test_text_is_no_formula(admin_client: Client, text: str) -> None:
    """The service's texts are not evaluated by a spreadsheet."""
    sell(method_type=text)
    _header, line = file_of(admin_client, "?first=2026-03-01&last=2026-03-31&mode=test&by=method")[:2]
    assert line[1].startswith("'")
    assert line[1].replace("'", "") == text


@pytest.mark.spec("ORD-42", "WHK-04")
def test_tests_are_not_added_to_real_money(admin_client: Client) -> None:
    """A mode at a time."""
    sell(amount=Decimal(1))
    sell(amount=Decimal(2), is_production=True, live=True)
    sell(amount=Decimal(4), is_production=None, live=None)
    sell(amount=Decimal(8), is_production=True, live=False)
    days = "?first=2026-03-01&last=2026-03-31&mode="
    assert [file_of(admin_client, f"{days}{mode}")[1][3] for mode in ("live", "test", "unknown")] == [
        "2.00",
        "9.00",
        "4.00",
    ]
    titles = [html_of(admin_client, f"{PAGE}{days}{mode}") for mode in ("live", "test", "unknown")]
    assert [re.search("<h1>(.*?)</h1>", html)[1] for html in titles] == [  # type: ignore[index]
        "Money",
        "Money of tests: no real money",
        "Money, mode unknown",
    ]
    answer = admin_client.get(f"{PAGE}csv/{days}test")
    assert answer["Content-Disposition"] == 'attachment; filename="money-test-2026-03-01-2026-03-31.csv"'
    header, line = file_of(admin_client, f"{days}test&currency=USD")
    assert line[header.index("mode")] == "test"


def test_payments_in_review_are_counted_apart(admin_client: Client) -> None:
    """Their money is in the sums; their number leads to them."""
    days = "?first=2026-03-01&last=2026-03-31&mode=test&currency=USD"
    sell()
    assert "in review" not in html_of(admin_client, PAGE + days).partition("<thead>")[2]
    sell(verdict="review")
    sell(verdict="review", status="refunded")  # nothing waits for staff
    header, line = file_of(admin_client, days)
    row = dict(zip(header, line, strict=True))
    assert (row["payments"], row["in_review"], row["gross"]) == ("3", "1", "29.97")
    assert shown_rows(html_of(admin_client, PAGE + days))[0]["in_review"] == "1"
    orders = re.findall(
        r'href="([^"]*&amp;queue=review[^"]*)"', html_of(admin_client, f"{PAGE}{days}&by=month")
    )
    assert {admin_client.get(unescape(each)).context["cl"].result_count for each in orders} == {1}


def test_the_currency_with_most_payments_comes_first(admin_client: Client) -> None:
    """On the page, and on the app's page."""
    sell(created_at=datetime.now(UTC), currency="AAA")
    for _number in range(2):
        sell(created_at=datetime.now(UTC), currency="USD")
    shown = [row["currency"] for row in shown_rows(html_of(admin_client, f"{PAGE}?mode=test"))]
    assert list(dict.fromkeys(shown))[:2] == ["USD", "AAA"]
    table = html_of(admin_client, INDEX).partition('id="ci-money"')[2]
    assert table.index("USD today") < table.index("AAA today")


def test_a_project_and_a_currency_can_be_chosen(admin_client: Client, settings: Any) -> None:
    """In lower case too."""
    own = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]
    projects = {
        "default": own,
        "other": {"PROJECT_ID": "other-project", "SECRET_KEY": "sandbox_other_secret"},
    }
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    sell()
    other = sell(amount=Decimal(5))
    Order.objects.filter(pk=other.pk).update(project="other")
    days = "?first=2026-03-01&last=2026-03-31&mode=test&currency=usd"
    assert file_of(admin_client, days)[1:][0][:3] == ["USD", "2", "0"]
    assert file_of(admin_client, f"{days}&project=other")[1:][0][:3] == ["USD", "1", "0"]
    assert len(file_of(admin_client, days)) == 2


@pytest.mark.parametrize(
    "query",
    [
        "?first=2026-03-05&last=2026-03-01",
        "?first=2020-01-01&last=2026-03-01",
        "?first=0001-01-01&last=0001-01-02",
        "?first=9999-12-31&last=9999-12-31",
        "?first=never",
        "?mode=real",
        "?by=customer",
        "?project=nobody",
    ],
)
def test_what_cannot_be_summed_is_said(admin_client: Client, query: str) -> None:
    """On the page; there is no file, since an empty one would say that there is no money."""
    assert "errornote" in html_of(admin_client, PAGE + query)
    assert admin_client.get(f"{PAGE}csv/{query}").status_code == 400


def test_without_money_it_says_how_to_make_some(admin_client: Client) -> None:
    """An empty page teaches."""
    assert "python -m checkout_integration.sandbox" in html_of(admin_client)


def test_the_usual_page_shows_the_last_thirty_days(admin_client: Client) -> None:
    """By day, of tests where all projects take tests."""
    sell(created_at=datetime.now(UTC) - timedelta(days=20))
    sell(created_at=datetime.now(UTC) - timedelta(days=40))
    (row,) = [row for row in shown_rows(html_of(admin_client)) if row["currency"] == "USD"]
    assert row["payments"] == "1"


def test_a_chart_has_a_bar_for_each_row(admin_client: Client) -> None:
    """Where one column divides them; the table has the numbers."""
    make_history()
    days = "?first=2026-03-01&last=2026-03-31&mode=test"
    html = html_of(admin_client, f"{PAGE}{days}&by=day&currency=USD")
    assert html.count('class="ci-up"') == len(shown_rows(html)) > 2
    assert "ci-chart" not in html_of(admin_client, f"{PAGE}{days}&by=day&by=country")
    sell(day=9, amount=None, tax_amount=None, charge_amount=None)
    assert "ci-chart" not in html_of(
        admin_client, PAGE + "?first=2026-03-09&last=2026-03-10&mode=test&by=day"
    )


def test_the_index_shows_the_money_of_the_last_days(admin_client: Client) -> None:
    """Today, yesterday and seven days of each currency with money, each with a link to the orders of these days."""
    now = datetime.now(UTC)
    sell(created_at=now)
    sell(created_at=now, amount=Decimal("0.01"))
    sell(created_at=now - timedelta(days=1), amount=Decimal("2.00"))
    sell(created_at=now - timedelta(days=6), amount=Decimal("3.00"))
    sell(created_at=now - timedelta(days=6), amount=Decimal(1500), currency="JPY")
    sell(created_at=now, status="created")
    html = html_of(admin_client, INDEX)
    table = html.partition('id="ci-money"')[2].partition("</table>")[0]
    found = {
        name: (link, re.sub("<[^>]+>", " ", cells).split()[:2])
        for link, name, cells in re.findall(r'<a href="([^"]*)">(\w+ [\w ]+)</a></th>(.*?)</tr>', table)
    }
    assert {name: sums for name, (_link, sums) in found.items() if name[:3] in ("USD", "JPY")} == {
        "JPY today": ["0", "–"],
        "JPY yesterday": ["0", "–"],
        "JPY seven days": ["1", "1,500"],
        "USD today": ["2", "10.00"],
        "USD yesterday": ["1", "2.00"],
        "USD seven days": ["4", "15.00"],
    }
    for name, number in (("USD today", 2), ("USD seven days", 4), ("JPY seven days", 1)):
        listed = admin_client.get(found[name][0].replace("&amp;", "&"))
        assert listed.context["cl"].result_count == number
    assert "beside a sum" not in html


def statements(client: Client, addresses: Sequence[str]) -> int:
    """How many statements the pages take."""
    with CaptureQueriesContext(connection) as seen:
        for address in addresses:
            html_of(client, address)
    return len(seen)


def test_the_pages_cost_the_same_for_any_number_of_rows(admin_client: Client) -> None:
    """Two grouped statements, beside those of every page."""
    addresses = (PAGE + EVERYTHING, INDEX)
    statements(admin_client, addresses)
    few = statements(admin_client, addresses)
    for _ in range(3):
        make_history()
    assert statements(admin_client, addresses) == few


def test_nothing_on_it_needs_a_script_or_a_style_of_its_own(admin_client: Client) -> None:
    """A strict content policy allows all of it."""
    make_history()
    html = html_of(admin_client, PAGE + "?first=2026-03-01&last=2026-03-31&mode=test&by=day")
    content = html[html.index('id="content-main"') : html.rindex("</section>")]
    assert [each for each in ("<script", "<style", " style=", " onclick=") if each in content] == []


def test_a_number_of_payments_leads_to_them(admin_client: Client) -> None:
    """Each row's, and that of all rows, by every column that the list can filter: as many as the sum counts."""
    make_history()
    rows.add_item(sell(day=9), name="Tin raven", sku="raven")
    described = CheckoutFactory(description="1,200 gems")
    rows.add_item(sell(day=9, checkout=described), name="Tin raven")
    rows.add_item(sell(day=9, checkout=described), name="")
    sell(day=9, checkout=described)
    sell(day=9, status="created", checkout=described)
    address = re.compile(r'<a href="([^"]+\?paid=yes[^"]*)">([\d,]+)</a>')
    for by in ("", "&by=day", "&by=month", "&by=method", "&by=country", "&by=product", "&by=day&by=country"):
        html = html_of(admin_client, f"{PAGE}?first=2026-03-01&last=2026-03-31&mode=test{by}")
        links = address.findall(html)
        assert len(links) >= 2, by
        for link, number in links:
            listed = admin_client.get(unescape(link))
            assert listed.context["cl"].result_count == int(number), link


def test_refunds_and_chargebacks_lead_to_their_rows(client: Client) -> None:
    """Of these days, in this currency and mode; only by day or month, and for those who may view them."""
    query = "?first=2026-03-01&last=2026-03-31&mode=test"
    for currency, status, day in (("USD", "refunded", 6), ("USD", "chargeback", 7), ("JPY", "refunded", 6)):
        order = sell(status=status, currency=currency, day=day)
        rows.make_refund(order, status=status, refunded_at=datetime(2026, 3, day, 13, tzinfo=UTC))
    client.force_login(rows.make_staff("view_money", "view_refund"))
    html = html_of(client, f"{PAGE}{query}&by=day&currency=USD")
    links = re.findall(r'<a href="([^"]*/refund/[^"]*)">1</a>', html)
    assert len(links) == 4  # of the day, and of all rows
    assert [client.get(unescape(each)).context["cl"].result_count for each in links] == [1, 1, 1, 1]
    for other in ("&by=country", "&by=day&reversals=payment"):
        html = re.sub('(?s)<tbody class="ci-total">.*?</tbody>', "", html_of(client, f"{PAGE}{query}{other}"))
        assert "/refund/" not in html.partition('id="content-main"')[2]
    client.force_login(rows.make_staff("view_money", name="accountant"))
    assert "/refund/" not in html_of(client, f"{PAGE}{query}&by=day").partition('id="content-main"')[2]


def test_a_sum_by_tax_or_origin_leads_nowhere(admin_client: Client, client: Client) -> None:
    """The list has no such filter; and none for those who may not see orders."""
    make_history()
    days = "?first=2026-03-01&last=2026-03-31&mode=test"
    for by in ("vat", "origin", "day&by=vat"):
        html = html_of(admin_client, f"{PAGE}{days}&by={by}")
        assert "paid=yes" in html
        assert not [body for body in re.findall(r"<tbody>.*?</tbody>", html, re.DOTALL) if "paid=yes" in body]
    client.force_login(rows.make_staff("view_money", name="accountant"))
    assert "paid=yes" not in html_of(client, f"{PAGE}{days}&by=day")


PERIODS = {
    "This month": 1,
    "Last month": 1,
    "This quarter": 3,
    "Last quarter": 3,
    "This year": 12,
    "Last year": 12,
}


@pytest.mark.parametrize("today", ["2026-01-01", "2026-02-28", "2026-05-31", "2026-12-31", "2028-02-29"])
def test_the_periods_of_accountants_are_links(client: Client, today: str) -> None:
    """Months are whole, a quarter has three of them; they keep the currency, and the chosen one is marked."""
    with time_machine.travel(f"{today}T12:00:00Z", tick=False):
        client.force_login(rows.make_staff("view_money", name="accountant"))
        html = html_of(client, f"{PAGE}?currency=USD")
        links = {
            name: dict(parse_qsl(unescape(query)))
            for query, name in re.findall(r'<a href="\?([^"]+)"[^>]*>([A-Z][a-z0-9 ]+)</a>', html)
        }
        day = date.fromisoformat(today)
        for name, months in PERIODS.items():
            first, last = (date.fromisoformat(links[name][end]) for end in ("first", "last"))
            following = last + timedelta(days=1)
            assert first.day == following.day == 1
            assert (following.year - first.year) * 12 + following.month - first.month == months
            assert (first.month - 1) % months == 0
            assert first <= day <= last if name.startswith("This") else last < day
            assert links[name]["by"] == ("day" if months == 1 else "month")
            assert links[name]["currency"] == "USD"
        chosen = html_of(client, f"{PAGE}?{urlencode(links['Last quarter'])}")
        assert re.findall(r'aria-current="true">([^<]+)<', chosen) == ["Last quarter"]
