"""The evidence of an order: for a bank to read, without the shop's own affairs; for staff who may have personal data."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from datetime import timedelta
from decimal import Decimal
from html import unescape
from typing import Any
from zipfile import ZipFile

import pytest
from django.contrib.auth.models import User
from django.test import Client

from checkout_integration.hooks import Hooks, Use
from checkout_integration.models import (
    Checkout,
    Grant,
    Order,
    OutboxMessage,
    ReceiverRun,
    StaffAct,
    Transition,
)
from checkout_integration.protocol.vocabulary import Event
from checkout_integration.testing.delivery import Deliver
from tests.support.admin import rows
from tests.support.admin.screens import page_address
from tests.support.admin.shown import labelled
from tests.support.protocol.sales import EVENTS, sale

pytestmark = pytest.mark.django_db
PERMISSIONS = ("view_order", "view_personal_data", "download_evidence")


def address(order: Order) -> str:
    """The address of an order's evidence."""
    return page_address("order", order).replace("/change/", "/evidence/")


def disputed(document: dict[str, Any] | None = None) -> Order:
    """A charged-back order with a checkout, a customer, a history and goods that were granted."""
    checkout = rows.make_checkout(description="500 gems")
    document = {"receipt_url": "https://service.example/receipts/R-1", **(document or {})}
    order = rows.make_order(
        checkout=checkout,
        user=rows.make_customer(),
        status="chargeback",
        document=document,
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
    """For the file; for its link the same, and then nothing is recorded."""
    client.force_login(rows.make_staff(*(each for each in PERMISSIONS if each != missing)))
    assert client.get(address(order)).status_code == 403
    assert address(order) not in client.get(page_address("order", order)).content.decode()
    assert not StaffAct.objects.exists()


def test_who_has_them_finds_the_link_and_is_recorded(client: Client, order: Order) -> None:
    """An act of staff about the order, so that its timeline shows the download."""
    client.force_login(rows.make_staff(*PERMISSIONS))
    assert f'href="{address(order)}"' in client.get(page_address("order", order)).content.decode()
    pack_of(client, order)
    act = StaffAct.objects.get()
    assert (act.act, str(act.actor), act.order) == ("evidence", "staff", order)
    assert "evidence downloaded" in client.get(page_address("order", order)).content.decode()


def test_it_is_a_download_and_nothing_else(admin_client: Client, order: Order) -> None:
    """It takes no POST, and there is none of an order that is not there."""
    assert admin_client.post(address(order)).status_code == 405
    assert admin_client.get(address(order).replace(str(order.pk), "999999")).status_code == 404


def texts_of(pack: ZipFile) -> str:
    """All files as one text."""
    return "\n".join(unescape(pack.read(name).decode("utf-8-sig")) for name in pack.namelist())


def test_the_page_answers_the_bank(admin_client: Client, order: Order) -> None:
    """What was sold, to whom, why it is genuine, when it was delivered, and that it was charged back."""
    page = unescape(pack_of(admin_client, order).read("summary.html").decode())
    for text in (
        *("Game", "9.99\N{NO-BREAK SPACE}USD", "Ada Lovelace"),
        "<dt>Charged back</dt><dd>9.20\N{NO-BREAK SPACE}EUR</dd>",
        *("E-mail address: ada@buyers.example.", "Country: DE.", "IP address 203.0.113.7", "ends in 4242"),
        *("The goods were delivered.", "10115, DE"),
        *(order.order_id, order.transaction, "2026-03-04 12:00:00 UTC"),
    ):
        assert text in page, text
    assert "Refunded" not in page and "Taken back" not in page


@pytest.mark.spec("MTH-07")
@pytest.mark.parametrize("stated", [True, False, None])
def test_3d_secure_is_a_sentence_where_it_was_used(admin_client: Client, stated: bool | None) -> None:
    """As the service states it; else nothing is said of it, which would help nobody but the customer."""
    order = rows.make_order(document={"method": {"card": {"last4": "4242", "secure3d": stated}}})
    page = pack_of(admin_client, order).read("summary.html").decode()
    assert ("authenticated with 3-D Secure" in page) == bool(stated)
    assert page.count("3-D Secure") == bool(stated)


def test_the_evidence_is_the_first_button_of_a_charged_back_order(admin_client: Client, order: Order) -> None:
    """Once; of any other order it is one of the others."""
    for one, classes in ((order, "button default"), (rows.make_order(), "button")):
        html = admin_client.get(page_address("order", one)).content.decode()
        first, *_others = re.findall(r'<a class="(button[^"]*)" href="([^"]*)"', html)
        assert (html.count(address(one)), f'<a class="{classes}" href="{address(one)}"' in html) == (1, True)
        assert (first[1] == address(one)) == (one is order)


@pytest.mark.spec(
    "USR-04", "USR-05", "USR-06", "USR-09", "USR-11", "MTH-01", "MTH-07", "MTH-08", "ORD-34", "ORD-12"
)
@pytest.mark.spec(
    "ORD-17", "ORD-18", "ORD-22", "ORD-23", "ORD-25", "ORD-39", "ORD-40", "ORD-45", "ORD-02", "ORD-14"
)
def test_a_bank_reads_what_the_service_stated(admin_client: Client, checkout_deliver: Deliver) -> None:
    """Of two sales that differ in it: by a card with 3-D Secure, and by a wallet."""
    pages = []
    for name in ("complete", "wallet"):
        document = sale(name)
        checkout_deliver(order=document, event=EVENTS.get(name, Event.PAYMENT_SUCCESS))
        pack = pack_of(admin_client, Order.objects.get(order_id=document["id"]))
        pages.append(unescape(pack.read("summary.html").decode()))
    verified, accepted = (
        "The e-mail address was verified.",
        "accepted the agreement with the payment, version: ",
    )
    space = "\N{NO-BREAK SPACE}"
    only_in = (
        (
            *("Seller: Example Games.", "Name: Ada Example.", "E-mail address: ada@mail.example.", verified),
            *(
                "Country: DE.",
                "paid with: Bank card.",
                "(VISA) ends in 0002",
                "authenticated with 3-D Secure",
            ),
            *(
                "IP address 192.0.2.7.",
                "given is: 94016, CA, US.",
                "10115, Berlin, DE-BE, DE.",
                f"{accepted}3.1.",
                "The customer accepted the agreement",
            ),
            *(
                "account of the wallet is ada-wallet.",
                f"59.99{space}EUR",
                f"64.12{space}USD",
                "tx-4711",
                "R-77",
            ),
        ),
        (
            *("Seller: Guild Games.", "Name: Wanda Wood.", "E-mail address: wanda@mail.example."),
            *("Country: FR.", "paid with: QuickPay.", "IP address 192.0.2.11.", "69001, Lyon, FR-ARA, FR."),
            *("account of the wallet is wanda@quickpay.example.", f"5.00{space}EUR", "wal-0001"),
        ),
    )
    for page, other, texts in zip(pages, reversed(pages), only_in, strict=True):
        assert [text for text in texts if text not in page] == []
        assert [text for text in texts if text in other] == []


@pytest.mark.spec("ORD-01", "ORD-02", "ORD-14", "ORD-22", "ORD-23", "ORD-39", "ORD-40", "ITM-03")
@pytest.mark.spec("ORD-04", "ORD-31", "RFD-01", "RFD-02", "STA-03", "STA-06")
def test_the_facts_of_a_payment_stand_under_their_names(
    admin_client: Client, checkout_deliver: Deliver
) -> None:
    """Of two sales that differ in each."""
    space, pages = "\N{NO-BREAK SPACE}", []
    for name in ("refunded", "key"):
        document = sale(name)
        checkout_deliver(order=document, event=EVENTS.get(name, Event.PAYMENT_SUCCESS))
        pack = pack_of(admin_client, Order.objects.get(order_id=document["id"]))
        pages.append(labelled(pack.read("summary.html").decode()))
    (refunded, key), order_id = pages, "a1000000-0000-4000-8000-00000000000"
    assert {name: text for name, text in refunded.items() if name != "Paid"} == {
        "Status": "refunded",
        "Sold": "Hat",
        "Price": f"10.00{space}USD",
        "Charged": f"187.50{space}MXN",
        "Refunded": f"187.50{space}MXN",
        "Transaction": "auth-666",
        "Order id": f"{order_id}6",
        "Receipt number": "R-6",
    }
    assert {name: text for name, text in key.items() if name != "Paid"} == {
        "Status": "paid",
        "Sold": "Space game",
        "Price": f"21.43{space}USD",
        "Charged": f"21.43{space}USD",
        "Transaction": "auth-333",
        "Order id": f"{order_id}3",
    }


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        pytest.param(
            {"user": {"name": "Ada"}, "receipt_email": "bills@buyers.example"},
            "E-mail address: bills@buyers.example.",
            marks=pytest.mark.spec("ORD-12"),
        ),
        pytest.param(
            {"user": {"email": "ada@mail.example"}, "receipt_email": "bills@buyers.example"},
            "E-mail address: ada@mail.example.",
            marks=pytest.mark.spec("USR-05"),
        ),
        pytest.param(
            {"user": {"address": {"country": "AT"}}}, "Country: FR.", marks=pytest.mark.spec("ORD-34")
        ),
        pytest.param(
            {"user": {"address": {"country": "AT"}}, "country": ""},
            "Country: AT.",
            marks=pytest.mark.spec("USR-11"),
        ),
        pytest.param(
            {"agreement_accepted": True, "agreement_version": None},
            "accepted the agreement with the payment, version: –.",
            marks=pytest.mark.spec("ORD-17", "ORD-18"),
        ),
    ],
)
def test_one_field_stands_in_for_another(
    admin_client: Client, document: dict[str, Any], sentence: str
) -> None:
    """Only where the first one is not stated."""
    order = rows.make_order(document=document, country=document.get("country", "FR"))
    assert sentence in unescape(pack_of(admin_client, order).read("summary.html").decode())


@pytest.mark.spec("ORD-06", "ORD-11", "RFD-01", "RFD-02", "STA-06", "STA-07")
def test_the_timeline_has_the_times_that_the_service_states(admin_client: Client) -> None:
    """Of the order and of each reversal, with its own amount."""
    order = rows.make_order(status="chargeback", created_at=rows.NOON - timedelta(days=3))
    rows.make_refund(order, amount="1.20", status="refunded", refunded_at=rows.NOON - timedelta(days=2))
    rows.make_refund(order, amount="300", currency="JPY", status="chargeback")
    space, lines = "\N{NO-BREAK SPACE}", table(pack_of(admin_client, order), "annex/timeline.csv")
    assert [(line["when"], line["what"]) for line in lines] == [
        ("2026-03-01T12:00:00+00:00", "The customer ordered."),
        ("2026-03-02T12:00:00+00:00", f"The shop refunded 1.20{space}EUR."),
        ("2026-03-04T12:00:00+00:00", f"The bank charged back 300{space}JPY."),
    ]


@pytest.mark.spec("ITM-02", "ITM-03", "ITM-08", "ORD-30")
def test_the_annex_has_the_items(admin_client: Client) -> None:
    """By name, SKU and platform: each of them differs from every other field."""
    order = rows.make_order()
    rows.add_item(order, item_id="id-1", name="Game", sku="sku-1", platform="gog", code="CODE-1")
    rows.add_item(order, item_id="id-2", name="Hat", sku="sku-2")
    assert [list(line.values()) for line in table(pack_of(admin_client, order), "annex/items.csv")] == [
        ["Game", "sku-1", "gog"],
        ["Hat", "sku-2", ""],
    ]


def test_a_bank_reads_nothing_of_how_the_shop_works(admin_client: Client) -> None:
    """No note, reason, member of staff, name of code, fee or net revenue, in any file."""
    hidden = {
        "fee": {"amount": Decimal("6.66"), "currency": "EUR"},
        "net_revenue": {"amount": Decimal("5.55")},
    }
    refund = {"amount": Decimal("9.20"), "currency": "EUR", "reason": "canary-refund"}
    order = disputed({**hidden, "refund": refund, "metadata": {"canary-metadata": "x"}})
    staff = rows.make_staff(name="canary-staff")
    rows.make_granting_run(order, receiver="canary.receivers.give", state="failed", error="CanaryError")
    for act in ("note", "accept", "mark_granted", "revoke", "restore", "bind"):
        change = {"order": order, "from_status": "processed", "to_status": "chargeback", "source": "staff"}
        Transition.objects.create(**change, act=act, staff=staff, reason=f"canary-{act}")
    StaffAct.objects.create(act="check", origin="admin", order=order, staff=staff, reason="canary-act")
    Order.objects.filter(pk=order.pk).update(
        fee_amount="6.66", net_revenue_amount="5.55", changed_at=rows.NOON
    )
    order.refunds.update(reason="canary-reason")
    text = texts_of(pack_of(admin_client, Order.objects.get(pk=order.pk))).lower()
    secret = (
        "canary",
        "6.66",
        "5.55",
        "shop.receivers",
        "by hand",
        "checkout_paid",
        "checkout_reversed",
        "payment.",
    )
    assert [
        each for each in (*secret, "bank_card", "mark_granted", "verdict", "receiver") if each in text
    ] == []


def test_the_page_stands_alone(admin_client: Client, order: Order) -> None:
    """No script, nothing that is loaded, no fields, and no link into the admin."""
    page = pack_of(admin_client, order).read("summary.html").decode()
    assert [
        each for each in ("<script", "src=", "<link", "/admin/", "<input", "<button") if each in page
    ] == []


def test_goods_without_a_receiver_are_not_called_delivered(admin_client: Client) -> None:
    """Nor those of a payment without a checkout: the shop's code learns of no goods."""
    bare, unbound = rows.make_order(), rows.make_order()
    rows.make_granting_run(unbound, state="done", finished_at=rows.NOON)
    for order in (bare, unbound):
        page = pack_of(admin_client, order).read("summary.html").decode()
        assert "were delivered." not in page and "record" not in page


def test_what_was_never_delivered_was_not_taken_back(admin_client: Client) -> None:
    """The payment was charged back before the shop's code ran: its runs ended as superseded."""
    order = rows.make_order(status="chargeback")
    granting = rows.make_granting_run(order, state="superseded", attempts=0, error="", finished_at=rows.NOON)
    Grant.objects.update(state="closed", closed_at=rows.NOON)
    revoking = rows.make_run(order, "checkout_reversed", state="superseded", attempts=0)
    OutboxMessage.objects.filter(runs=revoking).update(grant=granting.message.grant)
    assert "taken back" not in texts_of(pack_of(admin_client, order))
    ReceiverRun.objects.update(state="done")
    assert "The goods were taken back." in texts_of(pack_of(admin_client, order))


@pytest.mark.spec("ORD-02", "ORD-22", "ORD-23")
def test_earlier_undisputed_purchases_are_compared(admin_client: Client) -> None:
    """Those before it, paid and never charged back, with what both have in common."""
    customer = rows.make_customer()
    order = rows.make_order(user=customer, status="chargeback", created_at=rows.NOON)
    before, later = rows.NOON - timedelta(days=200), rows.NOON + timedelta(days=1)
    other = {"user": {**rows.DOCUMENT["user"], "ip": "198.51.100.1"}}
    known = rows.make_order(user=customer, created_at=before, document=other)
    rows.make_refund(rows.make_order(user=customer, created_at=before), status="chargeback")
    for columns in ({"created_at": later}, {"created_at": before, "status": "refunded"}):
        rows.make_order(user=customer, **columns)
    pack = pack_of(admin_client, order)
    (row,) = table(pack, "annex/earlier-purchases.csv")
    assert (row["transaction"], row["amount"], row["currency"], row["in common"]) == (
        known.transaction,
        "9.99",
        "USD",
        "card, e-mail",
    )
    assert "1 earlier purchase that was not disputed" in pack.read("summary.html").decode()


@pytest.mark.parametrize(
    ("part", "other", "common"),
    [
        pytest.param(
            "user", {"ip": "203.0.113.7", "email": "b@x"}, "IP address", marks=pytest.mark.spec("USR-09")
        ),
        pytest.param(
            "user", {"ip": "::1", "email": "ada@buyers.example"}, "e-mail", marks=pytest.mark.spec("USR-05")
        ),
        pytest.param(
            "method",
            {"card": {"first6": "411111", "last4": "4242"}},
            "card, IP address, e-mail",
            marks=pytest.mark.spec("MTH-07"),
        ),
        pytest.param(
            "method",
            {"card": {"first6": "555555", "last4": "4242"}},
            "IP address, e-mail",
            marks=pytest.mark.spec("MTH-07"),
        ),
        pytest.param(
            "method",
            {"card": {"first6": "411111", "last4": "1111"}},
            "IP address, e-mail",
            marks=pytest.mark.spec("MTH-07"),
        ),
    ],
)
def test_what_two_purchases_have_in_common(
    admin_client: Client, part: str, other: dict[str, Any], common: str
) -> None:
    """Both numbers of a card, the address of the network, and the e-mail address; each by its own field."""
    customer = rows.make_customer()
    earlier: dict[str, Any] = {"created_at": rows.NOON - timedelta(days=9), "user": customer}
    without_card: dict[str, Any] = {"method": {"title": "Wallet"}} if part == "user" else {}
    rows.make_order(document={**without_card, part: other}, **earlier)
    pack = pack_of(admin_client, rows.make_order(user=customer, status="chargeback"))
    assert [line["in common"] for line in table(pack, "annex/earlier-purchases.csv")] == [common]


class UsingHooks(Hooks):
    """A shop that knows when its goods were used."""

    def proof_of_use(self, order: Order) -> list[Use]:
        """Return one use."""
        return [Use(rows.NOON, f"First download of {order.order_id}")]


class FailingHooks(Hooks):
    """A shop whose code is broken."""

    def proof_of_use(self, order: Order) -> list[Use]:
        """Fail."""
        raise ValueError("canary")


def with_hooks(settings: Any, name: str) -> None:
    """Let the shop have these hooks."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "HOOKS": f"{__name__}.{name}"}


def test_the_shop_adds_proof_of_use(admin_client: Client, order: Order, settings: Any) -> None:
    """On the page and in the timeline."""
    with_hooks(settings, "UsingHooks")
    pack = pack_of(admin_client, order)
    assert (
        f"2026-03-04 12:00:00 UTC</span> – First download of {order.order_id}"
        in pack.read("summary.html").decode()
    )
    assert f"First download of {order.order_id}" in {row["what"] for row in table(pack, "annex/timeline.csv")}


def test_a_failing_hook_is_seen_by_staff_and_not_by_the_bank(
    admin_client: Client, order: Order, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The file is made all the same; the log has no message of the exception."""
    with_hooks(settings, "FailingHooks")
    assert "failed" not in texts_of(pack_of(admin_client, order))
    assert "no proof of use" in admin_client.get(page_address("order", order)).content.decode()
    assert "The hook proof_of_use failed: ValueError" in caplog.text and "canary" not in caplog.text


def test_the_sums_are_those_of_the_files(admin_client: Client, order: Order) -> None:
    """Whoever gets it can see that no file was changed."""
    pack = pack_of(admin_client, order)
    lines = pack.read("annex/checksums-sha256.txt").decode().splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    files = {name: hashlib.sha256(pack.read(name)).hexdigest() for name in pack.namelist()}
    assert sums == {name: value for name, value in files.items() if not name.endswith(".txt")}


def test_an_order_without_anything_has_evidence_too(admin_client: Client) -> None:
    """Of an order that is known by its list row alone: what is not known is not in it, and never 0."""
    empty = dict.fromkeys(
        ("amount", "currency", "user", "country", "billing_address", "method", "receipt_email")
    )
    order = rows.make_order(document=empty, amount=None, charge_amount=None, created_at=None)
    page = pack_of(admin_client, order).read("summary.html").decode()
    assert re.findall("known|–</dd>|0[.]00|Name|Who bought|genuine|arlier", page) == [
        "arlier"
    ]  # in the annex


def test_of_a_gift_a_bank_learns_that_it_was_one(admin_client: Client) -> None:
    """And nothing of whom it was for."""
    order = disputed()
    assert order.checkout is not None
    recipient = User.objects.create_user("juno", "juno@canary.example", first_name="Juno-Canary")
    Checkout.objects.filter(pk=order.checkout.pk).update(gift=True, recipient=recipient)
    with pack_of(admin_client, order) as pack:
        whole = "".join(pack.read(name).decode() for name in pack.namelist())
    assert "The customer bought it as a gift for another account of the shop" in whole
    assert "juno" not in whole.lower()
