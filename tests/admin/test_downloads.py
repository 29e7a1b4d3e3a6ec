"""The filtered lists as CSV files: all rows, masked like the page, harmless for spreadsheets, and in bounded memory."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any, cast
from zipfile import ZipFile

import pytest
from asgiref.sync import sync_to_async
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import get_fields_from_path
from django.contrib.auth.models import User
from django.db import connection, connections
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext

from checkout_integration.admin.site.downloads import CHUNK, CsvAdmin, cell, rows_in_chunks
from checkout_integration.flows import privacy
from checkout_integration.models import Incident, Order, StaffAct
from checkout_integration.models.columns import MoneyField
from tests.support.admin import rows
from tests.support.admin.screens import SCREENS, make_row

pytestmark = pytest.mark.django_db
COMPUTED = {"product", "paid_at"}
FILES = ["order", "refund"]


def address(screen: str, query: str = "") -> str:
    """The address of a list's file."""
    return f"/admin/checkout_integration/{screen}/csv/{query}"


def parsed(content: bytes) -> list[dict[str, str]]:
    """The rows of a file by the names of its columns."""
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def downloaded(client: Client, screen: str, query: str = "") -> list[dict[str, str]]:
    """The rows of a list's file."""
    answer = client.get(address(screen, query))
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/csv; charset=utf-8")
    assert f'filename="{screen}s.csv"' in answer["Content-Disposition"]
    return parsed(b"".join(answer.streaming_content))  # type: ignore[attr-defined]


@pytest.mark.parametrize("screen", FILES)
def test_a_list_can_be_downloaded(admin_client: Client, screen: str) -> None:
    """With its own columns, from a link of the list."""
    make_row(screen)
    (model,) = [model for model in admin.site._registry if model._meta.model_name == screen]
    found = downloaded(admin_client, screen)
    assert len(found) == model._default_manager.count()
    assert list(found[0]) == list(cast("CsvAdmin", admin.site._registry[model]).csv_columns)
    assert 'href="csv/' in admin_client.get(f"/admin/checkout_integration/{screen}/").content.decode()


def test_the_filters_and_the_search_of_the_list_count(admin_client: Client) -> None:
    """The link of the list has them."""
    refunded, paid = rows.make_order(status="refunded"), rows.make_order()
    html = admin_client.get("/admin/checkout_integration/order/?status=refunded").content.decode()
    assert 'href="csv/?status=refunded"' in html
    found = downloaded(admin_client, "order", "?status=refunded")
    assert [row["order_id"] for row in found] == [refunded.order_id]
    found = downloaded(admin_client, "order", f"?q={paid.order_id}")
    assert [row["order_id"] for row in found] == [paid.order_id]


def test_a_file_has_all_rows_and_not_one_page(admin_client: Client) -> None:
    """Newest first, whatever page the link was on."""
    made = [rows.make_order().order_id for _ in range(60)]
    assert [row["order_id"] for row in downloaded(admin_client, "order", "?p=2")] == made[::-1]


@pytest.mark.parametrize("screen", sorted(set(SCREENS) - set(FILES)))
def test_other_lists_are_no_files(admin_client: Client, screen: str) -> None:
    """They have no link either."""
    make_row(screen)
    assert admin_client.get(address(screen)).status_code in (302, 404)
    assert "csv/" not in admin_client.get(f"/admin/checkout_integration/{screen}/").content.decode()


@pytest.mark.parametrize("screen", FILES)
def test_each_amount_of_a_file_stands_beside_its_currency(screen: str) -> None:
    """So that it is written with the places of that currency, and of no other."""
    model = apps.get_model("checkout_integration", screen)
    columns = getattr(admin.site._registry[model], "csv_columns", ())
    fields = {name: get_fields_from_path(model, name)[-1] for name in columns if name not in COMPUTED}
    currencies = {
        f"{name.removesuffix(each.name)}{each.currency}"
        for name, each in fields.items()
        if isinstance(each, MoneyField)
    }
    assert currencies <= set(columns)


@pytest.mark.spec("ORD-22", "ORD-23", "RFD-01", "RFD-02")
@pytest.mark.parametrize(
    ("currency", "amount", "written"),
    [("USD", "14.9", "14.90"), ("JPY", "1500", "1500"), ("KWD", "3.333", "3.333"), ("", "14.9", "14.9")],
)
def test_amounts_have_the_places_of_their_currency(
    admin_client: Client, currency: str, amount: str, written: str
) -> None:
    """In the files of orders and refunds, and in the export of a customer."""
    customer = rows.make_customer("player-places")
    checkout = rows.make_checkout(expected_amount=amount, currency=currency, virtual_currency_amount="1200")
    order = rows.make_order(amount=amount, currency=currency, checkout=checkout, user=customer)
    rows.make_refund(order, amount=amount, currency=currency)
    assert [row["amount"] for row in downloaded(admin_client, "order")] == [written]
    refunds = downloaded(admin_client, "refund")
    assert [(row["amount"], row["order__amount"]) for row in refunds] == [(written, written)]
    request = privacy.PrivacyRequest(reason="asked")
    person = privacy.find_persons(external_id="player-places")
    exported = json.loads("".join(privacy.export_customer(person, request)), parse_float=str, parse_int=str)
    (order_row,) = exported["projects"][0]["orders"]
    assert (order_row["amount"], order_row["refunds"][0]["amount"]) == (written, written)


@pytest.mark.spec("ORD-05", "STA-03", "EVT-03")
def test_a_file_says_what_was_bought_and_when_it_was_paid(admin_client: Client) -> None:
    """As the list does; the time is the service's."""
    slots = {"processed/notification": {"at": "2026-03-04T12:00:07.000000Z"}, "processed/list": {}}
    rows.make_order(checkout=rows.make_checkout(description="1,200 gems"), facts={"slots": slots})
    rows.make_order(document={"description": "500 gems by phone"}, virtual_currency_amount="0")
    rows.make_order(document={"description": ""}, status="created")
    found = [(row["product"], row["paid_at"]) for row in downloaded(admin_client, "order")]
    assert found == [("", ""), ("500 gems by phone", ""), ("1,200 gems", "2026-03-04T12:00:07+00:00")]


@pytest.mark.spec("ORD-01", "ORD-06", "ORD-22", "ORD-26", "ORD-42")
def test_values_are_those_of_the_row(admin_client: Client) -> None:
    """Numbers as numbers, times with their offset, nothing for the unknown."""
    order = rows.make_order(created_at=rows.NOON, tax_rate="0.19", refund_amount="-0.5")
    (row,) = downloaded(admin_client, "order")
    assert (row["amount"], row["tax_rate"], row["refund_amount"]) == ("9.99", "0.19", "-0.5")
    assert row["created_at"] == "2026-03-04T12:00:00+00:00"
    assert (row["refunded_at"], row["is_production"], row["order_id"]) == ("", "no", order.order_id)


FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(1)",
    "\uff1d1+1",
    "\uff0b1",
    "\uff0d1",
    "\uff20SUM(1)",
    '=HYPERLINK("x")',
]
UNSEEN = [
    "",
    " ",
    "\u3000",
    "\u00a0",
    "\u200b",
    "\ufeff",
    "\u2060",
    "\u00ad",
    "\u202e",
    "\x0b",
    "\u200b \u2060",
]


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("before", UNSEEN)
def test_text_is_no_formula(formula: str, before: str) -> None:
    """Whatever the service, a customer or a hook wrote, in full width or behind characters that nobody sees."""
    assert cell(before + formula) == f"'{before}{formula}"


@pytest.mark.parametrize("text", ["\tx", "\rx", "\nx", "\r\nx"])
def test_text_does_not_begin_with_what_ends_a_cell(text: str) -> None:
    """A tab or a line break."""
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("end", [";", "\t", "\n", "\r\n", "; \u200b"])
def test_text_is_no_formula_where_a_spreadsheet_ends_the_cell_within_it(end: str) -> None:
    """One of a language in which cells are separated by semicolons reads the rest as a cell of its own."""
    text = f"gems{end}=1+1"
    assert f"{end}=" not in cell(text)
    assert cell(text).replace("'", "") == text


def test_a_file_has_no_formula(admin_client: Client) -> None:
    """Each text of a file is treated so."""
    rows.make_refund(rows.make_order(), reason="\u200b=1+1")
    (row,) = downloaded(admin_client, "refund")
    assert row["reason"] == "'\u200b=1+1"


@pytest.mark.parametrize("text", ['a "b", c; d', "two\nlines", "ä–漢", ""])
def test_other_text_is_read_again_as_it_was(admin_client: Client, text: str) -> None:
    """Quotes, separators, lines and letters."""
    rows.make_refund(rows.make_order(), reason=text)
    assert downloaded(admin_client, "refund")[0]["reason"] == text


def test_personal_data_is_masked(client: Client) -> None:
    """Without the permission for it, and then nothing is recorded."""
    rows.make_order()
    client.force_login(rows.make_staff("view_order"))
    (row,) = downloaded(client, "order")
    assert (row["personal_data__email"], row["personal_data__last4"]) == ("hidden", "hidden")
    assert not StaffAct.objects.exists()


def test_a_download_of_personal_data_is_an_act_of_staff(client: Client) -> None:
    """With the names of the filters, but not with their values, which may be personal data."""
    rows.make_order()
    client.force_login(rows.make_staff("view_order", "view_personal_data"))
    (row,) = downloaded(client, "order", "?status=processed&q=ada@buyers.example")
    assert (row["personal_data__email"], row["personal_data__last4"]) == ("ada@buyers.example", "4242")
    act = StaffAct.objects.get()
    assert (act.act, act.origin, str(act.actor)) == ("download", "admin", "staff")
    assert act.detail == "orders: status, search"


def test_a_file_without_personal_data_is_none(admin_client: Client) -> None:
    """Nor is a look at its headers."""
    make_row("refund")
    downloaded(admin_client, "refund")
    admin_client.head(address("order"))
    assert not StaffAct.objects.exists()


def test_personal_data_are_searched_only_with_the_permission(client: Client) -> None:
    """A file would confirm a guess as well as the page."""
    rows.make_order()
    client.force_login(rows.make_staff("view_order"))
    assert downloaded(client, "order", "?q=ada@buyers.example") == []


WRONG = [
    *("ordered_at__gte=never", "document__contains=x", "personal_data__email__startswith=a"),
    *("status=gone", "queue=gone", "project=gone", "mode=%00", "origin=a%00", "q=a%00", "q=%00"),
]


@pytest.mark.parametrize("query", WRONG)
def test_a_filter_that_cannot_be_used_gives_no_file(admin_client: Client, query: str) -> None:
    """A file of all rows would be taken for that of the filter."""
    rows.make_order()
    assert admin_client.get(address("order", f"?{query}")).status_code == 400


@pytest.mark.parametrize("query", ["status=gone", "project=gone", "origin=a%00", "ordered_at__gte=never"])
def test_a_filter_that_cannot_be_used_leads_back_to_the_list(admin_client: Client, query: str) -> None:
    """As Django does it: the page then shows that nothing is filtered."""
    response = admin_client.get(f"/admin/checkout_integration/order/?{query}")
    assert (response.status_code, response["Location"]) == (302, "/admin/checkout_integration/order/?e=1")


def test_the_one_project_is_a_filter_too(admin_client: Client) -> None:
    """Pages link lists by it. Rows of a project that is gone from the settings are not in the file."""
    present, gone = rows.make_order(), rows.make_order()
    Order.objects.filter(pk=gone.pk).update(project="gone")
    assert [row["order_id"] for row in downloaded(admin_client, "order", "?project=default")] == [
        present.order_id
    ]
    assert 'data-filter-title="project"' not in admin_client.get("/admin/checkout_integration/order/").text


@pytest.mark.parametrize("screen", ["staffact", "syncrun"])
def test_a_list_without_a_search_box_finds_nothing(admin_client: Client, screen: str) -> None:
    """By its address; it would otherwise show all rows."""
    make_row(screen)
    page = admin_client.get(f"/admin/checkout_integration/{screen}/?q=recent")
    assert list(page.context["cl"].result_list) == []


def test_rows_are_read_in_chunks() -> None:
    """Each chunk begins where the last one ended; no more rows are in memory."""
    Incident.objects.bulk_create(
        Incident(key=f"{number:032}", kind="seen", project="default") for number in range(2 * CHUNK + 1)
    )
    with CaptureQueriesContext(connection) as seen:
        found = list(rows_in_chunks(Incident.objects.all(), ["key"]))
    assert [key for (key,) in found] == [f"{number:032}" for number in reversed(range(2 * CHUNK + 1))]
    assert len(seen) == 4
    assert all("LIMIT" in query["sql"] for query in seen.captured_queries)


def test_rows_that_come_meanwhile_change_nothing() -> None:
    """No row twice, none left out."""
    orders = [rows.make_order().order_id for _ in range(3)]
    reading = rows_in_chunks(cast("QuerySet[Any]", Order.objects.all()), ["order_id"])
    first = next(reading)
    rows.make_order(created_at=rows.NOON + timedelta(days=1))
    assert [order_id for (order_id,) in [first, *reading]] == orders[::-1]


async def received(staff: User, send: Callable[[AsyncClient], Any]) -> bytes:
    """What an ASGI server gets to send, piece by piece from an iterator that it can await."""
    client = AsyncClient()
    await client.aforce_login(staff)
    response = cast("StreamingHttpResponse", await send(client))
    assert response.is_async
    content = cast("AsyncIterator[bytes]", response.streaming_content)
    pieces = [piece async for piece in content]
    await sync_to_async(response.close)()
    await sync_to_async(connections.close_all)()  # of the thread in which views run
    return b"".join(pieces)


@pytest.mark.django_db(transaction=True)
def test_an_asgi_server_gets_a_list_piece_by_piece() -> None:
    """It would otherwise read the whole file before it sends any of it."""
    rows.make_order()
    staff = rows.make_staff("view_order")
    assert len(parsed(asyncio.run(received(staff, lambda client: client.get(address("order")))))) == 1


@pytest.mark.django_db(transaction=True)
def test_an_asgi_server_gets_an_export_and_the_evidence_piece_by_piece() -> None:
    """The JSON of a button, and a file of a page."""
    order = rows.make_order(user=rows.make_customer())
    staff = rows.make_staff("view_order", "view_personal_data", "export_customer", "download_evidence")
    page = f"/admin/checkout_integration/order/{order.pk}"
    reason = {"reason": "request 4711"}
    export = asyncio.run(received(staff, lambda client: client.post(f"{page}/export/", reason)))
    assert json.loads(export)["projects"][0]["orders"][0]["order_id"] == order.order_id
    evidence = asyncio.run(received(staff, lambda client: client.get(f"{page}/evidence/")))
    assert "summary.html" in ZipFile(io.BytesIO(evidence)).namelist()
