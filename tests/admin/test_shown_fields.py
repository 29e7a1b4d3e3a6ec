"""What a page of the admin says of a notification, a checkout, a refund and a decision: of two rows that differ in it."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import Model
from django.test import Client

from checkout_integration.models import OrderItem, PersonalData
from tests.support.admin import rows
from tests.support.admin.screens import page_address
from tests.support.admin.shown import labelled, text_of

pytestmark = pytest.mark.django_db
SPACE = "\N{NO-BREAK SPACE}"
OTHER_DAY = rows.NOON + timedelta(days=1)


def pages(client: Client, screen: str, *both: Model) -> list[dict[str, str]]:
    """The values of two pages, by their labels."""
    return [labelled(client.get(page_address(screen, row)).content.decode()) for row in both]


NOTIFICATION = [
    pytest.param("Event", ("payment.success", "payment.refund"), marks=pytest.mark.spec("WHK-03", "EVT-08")),
    pytest.param("Id", ("n-1", "n-2"), marks=pytest.mark.spec("WHK-01")),
    pytest.param("Order or customer", ("order-1", "order-2"), marks=pytest.mark.spec("WHK-08", "ORD-01")),
    pytest.param("Order", ("order-1", "–"), marks=pytest.mark.spec("EVT-08")),
    pytest.param("Live", ("yes", "no"), marks=pytest.mark.spec("WHK-04")),
    pytest.param("Delivery attempt", ("3", "0"), marks=pytest.mark.spec("WHK-07", "EVT-10")),
    pytest.param(
        "Created",
        ("2026-03-04T12:00:00+00:00", "2026-03-05T12:00:00+00:00"),
        marks=pytest.mark.spec("WHK-05"),
    ),
    pytest.param(
        "Delivery attempts end",
        ("2026-03-05T12:00:00+00:00", "–"),
        marks=pytest.mark.spec("WHK-06", "EVT-10"),
    ),
    pytest.param("Body", ('{\n  "a": 1\n}', '{\n  "b": 2\n}'), marks=pytest.mark.spec("WHK-08")),
]


@pytest.mark.parametrize(("label", "values"), NOTIFICATION)
def test_a_notification_shows_what_was_sent(
    admin_client: Client, label: str, values: tuple[str, str]
) -> None:
    """The envelope and the body."""
    rows.make_order("order-1")
    first = rows.make_notification(
        "order-1", notification_id="n-1", live=True, delivery_try=3, expires_at=OTHER_DAY, body=b'{"a":1}'
    )
    second = rows.make_notification(
        "order-2", "payment.refund", notification_id="n-2", live=False, created_at=OTHER_DAY, body=b'{"b":2}'
    )
    assert tuple(page[label] for page in pages(admin_client, "notification", first, second)) == values


@pytest.mark.spec("WHK-07", "EVT-10", "WHK-03")
def test_the_log_shows_events_and_attempts(admin_client: Client) -> None:
    """The number of the attempt, and how often its body came where that was more than once."""
    rows.make_notification("order-1", delivery_try=3)
    rows.make_notification("order-2", "payment.refund", delivery_try=5, receipts=2)
    html = admin_client.get("/admin/checkout_integration/notification/").content.decode()
    assert "Attempt: </span>3<" in html and "Attempt: </span>5 (2×)<" in html
    assert "payment.success" in html and "payment.refund" in html


@pytest.mark.spec("WHK-06", "EVT-10")
@pytest.mark.parametrize(("seconds", "late"), [(3, True), (4, False), (None, False)])
def test_a_notification_that_first_came_after_its_end_is_marked(
    admin_client: Client, seconds: int | None, late: bool
) -> None:
    """On its page, and in the timeline of its order: the service has sent it later than it said it would."""
    order = rows.make_order(checkout=rows.make_checkout())
    end = None if seconds is None else rows.NOON + timedelta(seconds=seconds)
    row = rows.make_notification(order.order_id, expires_at=end)
    for page in (page_address("notification", row), page_address("order", order)):
        assert ("later than the service announced" in admin_client.get(page).content.decode()) == late


CHECKOUT = [
    pytest.param(
        "Price",
        (f"19.99{SPACE}USD", f"1,500{SPACE}JPY"),
        marks=pytest.mark.spec("EP1-14", "EP1-15", "EP2-04", "EP2-05"),
    ),
    pytest.param("Type", ("key", "virtual_currency"), marks=pytest.mark.spec("EP1-19", "EP2-15", "SVC-03")),
    pytest.param("Description", ("A game", "Gems"), marks=pytest.mark.spec("EP1-16", "EP2-07")),
    pytest.param("Products", ("game-1", "–"), marks=pytest.mark.spec("EP1-17", "EP2-11")),
    pytest.param("Virtual currency", ("–", "1,200.5"), marks=pytest.mark.spec("ORD-37")),
    pytest.param("Platform", ("gog", "–"), marks=pytest.mark.spec("EP1-18", "EP2-16", "ORD-36")),
    pytest.param("Metadata", ('{\n  "basket": "7"\n}', "–"), marks=pytest.mark.spec("EP1-22", "EP2-08")),
    pytest.param("Order of the form", ("o-1", "o-2"), marks=pytest.mark.spec("EP2-17")),
    pytest.param(
        "Address",
        ("https://service.example/?order_id=o-1", "https://service.example/?order_id=o-2"),
        marks=pytest.mark.spec("SVC-02", "TOK-02", "EP2-17", "EP6-01"),
    ),
]


@pytest.mark.parametrize(("label", "values"), CHECKOUT)
def test_a_checkout_shows_what_is_sold(admin_client: Client, label: str, values: tuple[str, str]) -> None:
    """A key, and virtual currency for a price."""
    form = "https://service.example/?order_id="
    first = rows.make_checkout(
        type="key",
        expected_amount="19.99",
        products=["game-1"],
        platform_id="gog",
        description="A game",
        metadata={"basket": "7"},
        order_id="o-1",
        payment_form_url=f"{form}o-1",
    )
    second = rows.make_checkout(
        type="virtual_currency",
        expected_amount="1500",
        currency="JPY",
        virtual_currency_amount="1200.5",
        description="Gems",
        order_id="o-2",
        payment_form_url=f"{form}o-2",
    )
    assert tuple(page[label] for page in pages(admin_client, "checkout", first, second)) == values


REFUND = [
    pytest.param("Amount", (f"9.20{SPACE}EUR", f"300{SPACE}JPY"), marks=pytest.mark.spec("RFD-01", "RFD-02")),
    pytest.param("Reason", ("wrong size", "fraud"), marks=pytest.mark.spec("RFD-03")),
    pytest.param("Code", ("R-SIZE", "F1"), marks=pytest.mark.spec("RFD-04")),
    pytest.param("Receipt number", ("RR-1", "RR-2"), marks=pytest.mark.spec("RFD-05")),
    pytest.param(
        "Receipt",
        ("https://receipts.example/RR-1", "https://receipts.example/RR-2"),
        marks=pytest.mark.spec("RFD-06"),
    ),
    pytest.param(
        "Refunded",
        ("2026-03-04T12:00:00+00:00", "2026-03-05T12:00:00+00:00"),
        marks=pytest.mark.spec("ORD-11"),
    ),
    pytest.param("Order", ("order-1", "order-2"), marks=pytest.mark.spec("ORD-31")),
]


@pytest.mark.parametrize(("label", "values"), REFUND)
def test_a_refund_shows_what_the_service_says(
    admin_client: Client, label: str, values: tuple[str, str]
) -> None:
    """Of two refunds in other currencies than their orders."""
    made = []
    for number, (amount, currency, reason, code, at) in enumerate(
        (("9.20", "EUR", "wrong size", "R-SIZE", rows.NOON), ("300", "JPY", "fraud", "F1", OTHER_DAY)),
        start=1,
    ):
        receipt = {"receipt_number": f"RR-{number}", "receipt_url": f"https://receipts.example/RR-{number}"}
        order = rows.make_order(f"order-{number}", document={"refund": receipt})
        columns: dict[str, Any] = {"amount": amount, "currency": currency, "reason": reason, "code": code}
        made.append(
            rows.make_refund(order, refunded_at=at, receipt_number=receipt["receipt_number"], **columns)
        )
    assert PersonalData.objects.count() == 2
    assert tuple(page[label] for page in pages(admin_client, "refund", *made)) == values


@pytest.mark.spec("RFD-01", "RFD-02", "RFD-03", "RFD-04", "RFD-05", "ORD-11", "ORD-31")
def test_the_file_of_refunds_has_them(admin_client: Client) -> None:
    """Of two refunds that differ in everything; exact amounts with the places of their currency."""
    first = {"amount": Decimal("9.2"), "currency": "EUR", "reason": "wrong size", "code": "R-SIZE"}
    rows.make_refund(rows.make_order("order-1"), receipt_number="RR-1", **first)
    second = {"amount": Decimal(300), "currency": "JPY", "reason": "fraud", "code": "F1"}
    rows.make_refund(rows.make_order("order-2"), receipt_number="RR-2", refunded_at=OTHER_DAY, **second)
    answer: Any = admin_client.get("/admin/checkout_integration/refund/csv/")
    header, *lines = b"".join(answer.streaming_content).decode("utf-8-sig").splitlines()
    names = ("order__order_id", "amount", "currency", "reason", "code", "receipt_number", "refunded_at")
    places = [header.split(",").index(name) for name in names]
    assert sorted([line.split(",")[place] for place in places] for line in lines) == [
        ["order-1", "9.20", "EUR", "wrong size", "R-SIZE", "RR-1", "2026-03-04T12:00:00+00:00"],
        ["order-2", "300", "JPY", "fraud", "F1", "RR-2", "2026-03-05T12:00:00+00:00"],
    ]


@pytest.mark.spec("EVT-02", "EVT-07", "EVT-11", "USR-03")
def test_a_decision_shows_its_customer_and_its_response(admin_client: Client) -> None:
    """One approval and one refusal, with code and reason."""
    approved = rows.make_decision(external_id="ada")
    refused = rows.make_decision(external_id="bob", approved=False, code="banned", reason="He was banned.")
    first, second = pages(admin_client, "validationdecision", approved, refused)
    assert ("approved" in first["Response"], "refused" in first["Response"]) == (True, False)
    assert ("approved" in second["Response"], "refused" in second["Response"]) == (False, True)
    assert [page["Customer&#x27;s id in this shop"] for page in (first, second)] == ["ada", "bob"]
    assert (second["Code"], second["Reason"]) == ("banned", "He was banned.")


@pytest.mark.spec("USR-01", "USR-03", "USR-05")
def test_customers_are_found_by_their_ids_and_their_address(admin_client: Client) -> None:
    """By the shop's id, the service's and, with the permission, the e-mail address."""
    for name in ("ada", "bob"):
        customer = rows.make_customer(f"player-{name}")
        customer.user_id = f"usr-{name}"
        customer.save()
        order = rows.make_order(user=customer)
        PersonalData.objects.filter(order=order).update(email=f"{name}@mail.example")
        for text in (f"player-{name}", f"usr-{name}", f"{name}@mail.example"):
            response = admin_client.get("/admin/checkout_integration/checkoutuser/", {"q": text})
            assert [row.pk for row in response.context["cl"].result_list] == [customer.pk], text


def boxes(client: Client, order: Model) -> dict[str, list[str]]:
    """The answers on top of an order's page, by their questions, line by line."""
    page = client.get(page_address("order", order)).content.decode()
    summary = page.partition('<dl class="ci-summary">')[2].partition("</dl>")[0]
    found = re.findall(r"<dt>(.*?)</dt>(.*?)</div>", summary, re.DOTALL)
    return {question: [text_of(line) for line in answer.split("</dd>")[:-1]] for question, answer in found}


@pytest.mark.spec(
    "ORD-22", "ORD-23", "ORD-26", "ORD-27", "ORD-28", "ORD-39", "ORD-40", "MTH-01", "MTH-04", "MTH-07"
)
def test_what_was_paid_stands_on_top(admin_client: Client) -> None:
    """Charge, price, tax, revenue and fee, each in its own currency; and by which method."""
    first = rows.make_order(
        tax_amount="1.60", tax_currency="GBP", net_revenue_currency="CHF", fee_currency="PLN"
    )
    money: dict[str, Any] = {
        "amount": 1500,
        "currency": "JPY",
        "charge_amount": "9.5",
        "charge_currency": "CAD",
    }
    more: dict[str, Any] = {
        "tax_amount": 136,
        "tax_currency": "JPY",
        "net_revenue_amount": "7.4",
        "fee_amount": "0.5",
    }
    method = {"title": "", "type": "EWALLET", "wallet": {"brand": "QuickPay"}}
    second = rows.make_order(document={"method": method}, **money, **more)
    assert [boxes(admin_client, order)["What did the customer pay?"] for order in (first, second)] == [
        [
            f"9.20{SPACE}EUR",
            "Bank card, VISA •••• 4242",
            f"for a price of 9.99{SPACE}USD",
            f"tax: 1.60{SPACE}GBP",
        ],
        [f"9.50{SPACE}CAD", "EWALLET", f"for a price of 1,500{SPACE}JPY", f"tax: 136{SPACE}JPY"],
    ]
    assert [boxes(admin_client, order)["What does the shop receive?"] for order in (first, second)] == [
        [f"8.10{SPACE}CHF", f"after a fee of 1.10{SPACE}PLN"],
        [f"7.40{SPACE}EUR", f"after a fee of 0.50{SPACE}EUR"],
    ]


@pytest.mark.spec("ORD-26")
@pytest.mark.parametrize(("amount", "lines"), [("0", [f"tax: 0.00{SPACE}USD"]), (None, [])])
def test_a_tax_of_zero_is_stated(admin_client: Client, amount: str | None, lines: list[str]) -> None:
    """One that the service does not state is not."""
    order = rows.make_order(tax_amount=amount, tax_currency="USD")
    paid = boxes(admin_client, order)["What did the customer pay?"]
    assert [line for line in paid if line.startswith("tax")] == lines


@pytest.mark.spec("ORD-05", "ORD-12", "ORD-14", "ORD-15", "ORD-34", "USR-04", "ITM-03")
def test_who_bought_what_stands_on_top(admin_client: Client) -> None:
    """The product and its description, the customer, their country, and the receipt."""
    first = rows.make_order(country="DE", receipt_number="R-1")
    OrderItem.objects.create(order=first, position=0, name="Game", sku="game-1")
    document = {"description": "A hat", "user": {"name": "Bob"}, "receipt_url": "https://r.example/2"}
    second = rows.make_order(document=document, country="FR", receipt_number="R-2")
    PersonalData.objects.filter(order=second).update(email="bob@mail.example")
    found = [boxes(admin_client, order) for order in (first, second)]
    assert [each["What was bought?"] for each in found] == [["Game", "500 gems"], ["A hat"]]
    assert [each["Who bought it?"] for each in found] == [
        ["ada@buyers.example", "Ada Lovelace", "country: DE"],
        ["bob@mail.example", "Bob", "country: FR"],
    ]
    assert [each["Where is the receipt?"] for each in found] == [
        ["R-1", "https://service.example/receipts/R-0001"],
        ["R-2", "https://r.example/2"],
    ]


@pytest.mark.spec("ORD-01", "ORD-02", "ORD-24", "USR-03")
def test_what_staff_write_elsewhere_stands_in_the_group_of_the_shop(admin_client: Client) -> None:
    """Of two orders: their ids, transactions, references and customers."""
    for number in "12":
        checkout, customer = rows.make_checkout(), rows.make_customer(f"player-{number}")
        order = rows.make_order(
            f"order-{number}", transaction=f"tx-{number}", checkout=checkout, user=customer
        )
        page = admin_client.get(page_address("order", order)).content.decode()
        group = labelled(page.partition("In this shop</h2>")[2].partition("</dl>")[0])
        assert [group[name] for name in ("Order id", "Transaction", "Reference", "Customer")] == [
            f"order-{number}",
            f"tx-{number}",
            checkout.reference,
            f"player-{number}",
        ]


@pytest.mark.spec("ITM-01", "ITM-02", "ITM-08", "ITM-07", "ORD-30")
def test_an_item_is_named_by_its_sku_and_else_by_its_id(admin_client: Client) -> None:
    """Beside its name, platform and code."""
    order = rows.make_order()
    rows.add_item(order, item_id="id-1", sku="sku-1", name="Game", platform="gog", code="CODE-1")
    rows.add_item(order, item_id="id-2", name="Hat")
    page = admin_client.get(page_address("order", order)).content.decode()
    table = page.partition(">Items</h2>")[2].partition("</table>")[0]
    cells = [text_of(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", table, re.DOTALL)]
    assert cells == ["Game", "sku-1", "gog", "CODE-1", "Hat", "id-2", "", "–"]


@pytest.mark.spec("RFD-01", "RFD-02", "RFD-03", "ORD-11", "ORD-31", "STA-06", "STA-07", "EVT-04", "EVT-05")
def test_the_reversals_of_an_order_stand_in_a_table(admin_client: Client) -> None:
    """A refund and a chargeback, each with its amount, kind, time and reason."""
    order = rows.make_order(status="chargeback")
    rows.make_refund(order, amount="1.2", status="refunded", reason="wrong size")
    rows.make_refund(
        order, amount="300", currency="JPY", status="chargeback", reason="fraud", refunded_at=OTHER_DAY
    )
    page = admin_client.get(page_address("order", order)).content.decode()
    table = page.partition(">Refunds and chargebacks</h2>")[2].partition("</table>")[0]
    cells = [text_of(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", table, re.DOTALL)]
    assert (cells[0::4], cells[3::4]) == ([f"300{SPACE}JPY", f"1.20{SPACE}EUR"], ["fraud", "wrong size"])
    assert cells[2::4] == ["2026-03-05T12:00:00+00:00", "2026-03-04T12:00:00+00:00"]
    assert ["charged back" in cell for cell in cells[1::4]] == [True, False]
    assert ["refunded" in cell for cell in cells[1::4]] == [False, True]


@pytest.mark.spec("ORD-04")
@pytest.mark.spec("STA-01")
@pytest.mark.parametrize(
    ("status", "words"),
    [
        pytest.param("created", "not paid", marks=pytest.mark.spec("STA-02")),
        pytest.param("pending", "pending", marks=pytest.mark.spec("STA-09")),
        pytest.param("processed", "paid", marks=pytest.mark.spec("STA-03")),
        pytest.param("rejected", "declined", marks=pytest.mark.spec("STA-05")),
        pytest.param("canceled", "cancelled", marks=pytest.mark.spec("STA-04")),
        pytest.param("refunded", "refunded", marks=pytest.mark.spec("STA-06")),
        pytest.param("chargeback", "charged back", marks=pytest.mark.spec("STA-07")),
    ],
)
def test_a_status_has_words_of_its_own(admin_client: Client, status: str, words: str) -> None:
    """On the page and in the list, without the code beside it."""
    order = rows.make_order(status=status)
    box, meaning, _changed = boxes(admin_client, order)["What is its status?"]
    assert box.split(" ", 1)[1] == words
    assert meaning.endswith(".")
    cell = admin_client.get("/admin/checkout_integration/order/").content.decode()
    badges = re.findall(r'<span class="ci-badge[^>]*><span aria-hidden="true">.</span> ([^<]*)</span>', cell)
    assert words in badges


@pytest.mark.spec("ORD-43")
def test_the_testing_case_of_an_order_is_shown(admin_client: Client) -> None:
    """In the specification's words; nothing where there is none."""
    cases = ("existing_user", "invalid_signature", "")
    orders = [rows.make_order(document={"testing_case": case}) for case in cases]
    assert [page.get("Testing case", "") for page in pages(admin_client, "order", *orders)] == list(cases)


@pytest.mark.spec("USR-03", "USR-04", "USR-05", "ORD-12", "ORD-24")
@pytest.mark.parametrize("screen", ["order", "checkoutuser"])
def test_a_question_about_a_customer_says_who_it_is(admin_client: Client, screen: str) -> None:
    """Before an act on two customers: name, e-mail address and id."""
    for name, number in (("Ada", "1"), ("Bob", "2")):
        user = {"name": name, "email": f"{name}@mail.example"}
        customer = rows.make_customer(f"player-{number}")
        order = rows.make_order(user=customer, document={"user": user})
        PersonalData.objects.filter(order=order).update(email=f"{name}@mail.example")
        row = order if screen == "order" else customer
        page = admin_client.get(page_address(screen, row).replace("/change/", "/export/")).content.decode()
        group = labelled(page.partition(">The customer<")[2].partition("</dl>")[0])
        assert [group[label] for label in ("Name", "E-mail", "Customer")] == [
            name,
            f"{name}@mail.example",
            f"player-{number}",
        ]
