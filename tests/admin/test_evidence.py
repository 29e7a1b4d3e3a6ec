"""The evidence of an order: complete, readable, logged, and for those alone who may have personal data."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from zipfile import ZipFile

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils.timezone import get_current_timezone_name

from checkout_integration.models import Order, Transition
from tests.support.admin import rows
from tests.support.admin.screens import page_address

pytestmark = pytest.mark.django_db
PERMISSIONS = ("view_order", "view_personal_data", "download_evidence")


def address(order: Order) -> str:
    """The address of an order's evidence."""
    return page_address("order", order).replace("/change/", "/evidence/")


def disputed() -> Order:
    """A charged-back order with a checkout, a customer, a history and goods that were granted."""
    checkout = rows.make_checkout(description="500 gems")
    receipt = "https://service.example/receipts/R-1"
    order = rows.make_order(
        checkout=checkout, user=rows.make_customer(), status="chargeback", document={"receipt_url": receipt}
    )
    rows.make_history(order)
    rows.make_granting_run(order, state="done", finished_at=rows.NOON)
    order.grants.update(completed=["by hand"])
    rows.make_refund(order, status="chargeback")
    return order


@pytest.fixture
def order() -> Order:
    """Give a charged-back order."""
    return disputed()


def pack_of(client: Client, order: Order) -> ZipFile:
    """The evidence, as the admin sends it."""
    answer = client.get(address(order))
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/zip")
    assert f'filename="evidence-{order.order_id}.zip"' in answer["Content-Disposition"]
    return ZipFile(io.BytesIO(b"".join(answer.streaming_content)))  # type: ignore[attr-defined]


def table(pack: ZipFile, name: str) -> list[dict[str, str]]:
    """The rows of a CSV file in it."""
    return list(csv.DictReader(io.StringIO(pack.read(name).decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize("missing", PERMISSIONS)
def test_each_of_three_permissions_is_needed(client: Client, order: Order, missing: str) -> None:
    """For the file; for its link the same, and then nothing is logged."""
    client.force_login(rows.make_staff(*(each for each in PERMISSIONS if each != missing)))
    assert client.get(address(order)).status_code == 403
    assert address(order) not in client.get(page_address("order", order)).content.decode()
    assert not LogEntry.objects.exists()


def test_who_has_them_finds_the_link_and_is_logged(client: Client, order: Order) -> None:
    """The order's own log, so that its timeline shows the download."""
    client.force_login(rows.make_staff(*PERMISSIONS))
    assert f'href="{address(order)}"' in client.get(page_address("order", order)).content.decode()
    pack_of(client, order)
    entry = LogEntry.objects.get()
    assert (str(entry.user), entry.object_id) == ("staff", str(order.pk))
    assert "Evidence downloaded" in client.get(page_address("order", order)).content.decode()


def test_it_is_a_download_and_nothing_else(admin_client: Client, order: Order) -> None:
    """It takes no POST, and there is none of an order that is not there."""
    assert admin_client.post(address(order)).status_code == 405
    assert admin_client.get(address(order).replace(str(order.pk), "999999")).status_code == 404


def test_it_has_all_that_is_known(admin_client: Client, order: Order) -> None:
    """The document, the sale, the notifications as they came, the times of the goods."""
    pack = pack_of(admin_client, order)
    assert json.loads(pack.read("order.json"))["receipt_email"] == "ada@buyers.example"
    sold = json.loads(pack.read("checkout.json"))
    assert order.checkout is not None
    assert (sold["reference"], sold["expected_amount"]) == (order.checkout.reference, 9.99)
    notification = order.transitions.get().notification
    assert notification is not None
    assert pack.read("notifications/001.json") == notification.body
    assert [row["notification_id"] for row in table(pack, "notifications.csv")] == [
        notification.notification_id
    ]
    goods = table(pack, "goods.csv")
    assert [(row["receiver"], row["granted_at"]) for row in goods] == [
        ("by hand", ""),
        ("shop.receivers.grant", "2026-03-04T12:00:00+00:00"),
    ]
    assert {row["state"] for row in table(pack, "receivers.csv")} == {"done"}
    timeline = table(pack, "timeline.csv")
    assert {"notification", "status", "signal", "receiver", "incident"} <= {row["source"] for row in timeline}
    assert [row["at"] for row in timeline] == sorted(row["at"] for row in timeline)
    assert not any("<" in row["what"] for row in timeline)


def test_its_page_stands_alone(admin_client: Client, order: Order) -> None:
    """Customer, receipt and product on it; no script, nothing that is loaded, and no link into the admin."""
    page = pack_of(admin_client, order).read("summary.html").decode()
    for text in (
        "Ada Lovelace",
        "https://service.example/receipts/R-1",
        "chargeback",
        "shop.receivers.grant",
    ):
        assert text in page
    assert [each for each in ("<script", "src=", "<link", "/admin/") if each in page] == []


def test_the_notes_of_colleagues_stay_with_them(admin_client: Client, order: Order) -> None:
    """The file goes to a bank, and perhaps to the customer."""
    Transition.objects.create(
        order=order,
        from_status="chargeback",
        to_status="chargeback",
        source="staff",
        act=Transition.Act.NOTE,
        reason="we think that this one is a fraudster",
    )
    assert "fraudster" in admin_client.get(page_address("order", order)).content.decode()
    pack = pack_of(admin_client, order)
    assert [name for name in pack.namelist() if b"fraudster" in pack.read(name)] == []


def test_its_page_can_be_printed(admin_client: Client, order: Order) -> None:
    """Identifiers are whole texts and no fields, times have their zone, and a chargeback is called one."""
    page = pack_of(admin_client, order).read("summary.html").decode()
    assert "<input" not in page and "<button" not in page
    assert f"<dd>{order.order_id}</dd>" in page and f"<dd>{order.transaction}</dd>" in page
    assert f"time zone {get_current_timezone_name()}" in page
    assert "charged back: 9.20\N{NO-BREAK SPACE}EUR" in page and "refunded: " not in page


def test_the_sums_are_those_of_the_files(admin_client: Client, order: Order) -> None:
    """Whoever gets it can see that no file was changed."""
    pack = pack_of(admin_client, order)
    lines = pack.read("SHA256SUMS").decode().splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    files = {name: hashlib.sha256(pack.read(name)).hexdigest() for name in pack.namelist()}
    assert sums == {name: value for name, value in files.items() if name != "SHA256SUMS"}


def test_an_order_without_anything_has_evidence_too(admin_client: Client) -> None:
    """Of an order that is known by its list row alone, and of one whose customer was erased."""
    order = rows.make_order(document={"receipt_url": ""})
    rows.make_notification(order.order_id, body=None)
    pack = pack_of(admin_client, order)
    assert "checkout.json" not in pack.namelist()
    assert not any(name.startswith("notifications/") for name in pack.namelist())


def test_another_customers_request_is_not_evidence(admin_client: Client) -> None:
    """The id of the customer of a user.validate is equal to the order's."""
    order = rows.make_order("4711")
    rows.make_notification("4711", event="user.validate", body=b'{"user": {"email": "victim@other.example"}}')
    pack = pack_of(admin_client, order)
    assert not any(b"victim" in pack.read(name) for name in pack.namelist())
    assert "victim" not in admin_client.get(page_address("order", order)).content.decode()
