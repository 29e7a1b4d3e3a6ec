"""The list of orders, and the page of one."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from checkout_integration.admin.site import large_tables
from checkout_integration.admin.site.labels import mode_label
from checkout_integration.models import Order, OutboxMessage, PersonalData
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.admin import rows
from tests.support.flows.shop import notification

pytestmark = pytest.mark.django_db
LIST = "/admin/checkout_integration/order/"
SPACE = "\N{NO-BREAK SPACE}"


def html_of(client: Client, address: str) -> str:
    """The HTML of a page that opens."""
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def page_of(client: Client, order: Order) -> str:
    """The HTML of an order's page."""
    return html_of(client, f"{LIST}{order.pk}/change/")


@pytest.mark.spec("ORD-01", "ORD-04", "ORD-06", "ORD-22", "ORD-23", "USR-03")
@pytest.mark.parametrize(
    "words",
    ["order-77", "paid", f"9.99{SPACE}USD", "in review", "other amount", "player-9", "2026-03-04"],
)
def test_list_tells_each_order_in_words(admin_client: Client, words: str) -> None:
    """Id, status, amount, verdict with its reason, customer and time stand in the list."""
    rows.make_order(
        "order-77", user=rows.make_customer("player-9"), verdict="review", verdict_reason="amount"
    )
    assert words in html_of(admin_client, LIST)


@pytest.mark.spec("ORD-42", "WHK-04")
@pytest.mark.parametrize("takes_tests", [True, False])
@pytest.mark.parametrize("is_production", [True, False])
def test_list_marks_the_mode_that_is_not_the_usual_one(
    admin_client: Client, settings: Any, takes_tests: bool, is_production: bool
) -> None:
    """A mark on each row would say nothing."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "ACCEPT_TEST_PAYMENTS": takes_tests}
    rows.make_order(is_production=is_production, live=is_production)
    badges = re.findall(r"> (TEST|LIVE)<", html_of(admin_client, LIST))
    usual = takes_tests is not is_production
    assert badges == ([] if usual else ["LIVE" if is_production else "TEST"])


@pytest.mark.spec("ORD-42", "WHK-04")
@pytest.mark.parametrize(
    ("columns", "badge"),
    [
        ({"is_production": True, "live": True}, "LIVE"),
        ({"is_production": True, "live": None}, "LIVE"),
        ({"is_production": True, "live": False}, "TEST"),
        ({"is_production": False, "live": None}, "TEST"),
        ({"is_production": None, "live": None}, "mode unknown"),
    ],
)
def test_live_needs_every_word_of_the_service(
    admin_client: Client, columns: dict[str, Any], badge: str
) -> None:
    """An order is shown as LIVE only when nothing says that it is a test."""
    order = rows.make_order(**columns)
    assert f"</span> {badge}</span>" in page_of(admin_client, order)


@pytest.mark.spec("ORD-15", "ORD-27", "ORD-40")
def test_page_answers_on_top(admin_client: Client) -> None:
    """The summary has the payment, the revenue, the granting receivers, and the receipt."""
    order = rows.make_order(checkout=rows.make_checkout())
    rows.make_history(order)
    html = page_of(admin_client, order)
    for text in (f"9.20{SPACE}EUR", f"8.10{SPACE}EUR", "granted", "shop.receivers.grant"):
        assert text in html
    assert '<a href="https://service.example/receipts/R-0001"' in html


@pytest.mark.spec("ORD-05", "ORD-12", "ORD-22", "ORD-23", "STA-03")
def test_page_begins_with_a_sentence(admin_client: Client) -> None:
    """What was bought, for how much, by whom and when it was paid; and that there is nothing to do."""
    paid = {"slots": {"processed/notification": {"at": "2026-03-04T11:59:00.000000Z"}}}
    html = page_of(admin_client, rows.make_order(facts=paid))
    text = " ".join(
        re.sub(r"<[^>]*>", "", html.partition("ci-headline")[2].partition("ci-badges")[0]).split()
    )
    assert "500 gems · 9.99 USD · ada@buyers.example · paid 2026-03-04" in text.replace(SPACE, " ")
    assert text.replace(SPACE, " ").endswith("Nothing to do.") or "Nothing to do." in text


def _failed(**columns: Any) -> Order:
    order = rows.make_order()
    rows.make_run(order, **{"state": "failed", "error": "OSError", "finished_at": None, **columns})
    return order


def _without_receiver() -> Order:
    order = rows.make_order(checkout=rows.make_checkout())
    run = rows.make_granting_run(order)
    OutboxMessage.objects.update(state="no_receivers")
    run.delete()
    return order


def _unknown_to_all() -> Order:
    order = rows.make_order(checkout=rows.make_checkout())
    rows.make_granting_run(order, state="unknown", attempts=0)
    OutboxMessage.objects.update(recorded_at=rows.NOON)
    return order


def _with_incident() -> Order:
    order = rows.make_order()
    rows.make_incident(order, "double_loss")
    return order


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: rows.make_order(verdict="review", verdict_reason="amount"),
            "Somebody has to decide: The amount differs",
        ),
        (_with_incident, "Somebody has to look: The payment was both refunded and charged back"),
        (_without_receiver, "Somebody has to look: paid, and the shop has no code to deliver it"),
        (_unknown_to_all, "Somebody has to look: paid, not delivered"),
        (_failed, "was given up: an engineer finds the place below. When it is corrected, run it again."),
        (
            lambda: _failed(state="due", due_at=datetime.now(UTC) + timedelta(hours=1), attempts=2),
            "has failed, and runs again with the next notification: an engineer finds the place below.",
        ),
        (
            lambda: rows.make_order(status="created", verdict="pending"),
            "No payment has come yet.",
        ),
    ],
)
def test_the_sentence_says_what_to_do(admin_client: Client, make: Callable[[], Order], words: str) -> None:
    """For each state that needs somebody."""
    top = page_of(admin_client, make()).partition("ci-headline")[2].partition("ci-badges")[0]
    assert words in top


@pytest.mark.parametrize(
    ("columns", "button"),
    [
        ({"verdict": "review", "verdict_reason": "unbound"}, "Link to a checkout"),
        ({"status": "chargeback"}, "Download the evidence (ZIP)"),
    ],
)
def test_who_may_not_do_what_the_page_asks_for_is_led_to_a_colleague(
    client: Client, columns: dict[str, Any], button: str
) -> None:
    """The sentence names what is to be done, and first-level support has no button for it."""
    order, words = rows.make_order(**columns), f"Ask a colleague who may: “{button}”."
    client.force_login(rows.make_staff("view_order"))
    assert words in page_of(client, order)
    client.force_login(
        rows.make_staff("view_order", "bind_order", "download_evidence", "view_personal_data", name="boss")
    )
    assert "Ask a colleague" not in page_of(client, order)


def test_a_payment_of_nothing_known_has_no_number_for_a_name(admin_client: Client) -> None:
    """The place of an item in the order is no product."""
    order = rows.make_order(product="", user=None)
    order.items.create(position=1)
    PersonalData.objects.filter(order=order).delete()
    html = page_of(admin_client, order)
    assert "unknown product · 9.99" in html and "· unknown customer ·" in html


def test_page_says_why_a_payment_is_in_review(admin_client: Client) -> None:
    """The reason of the verdict is a sentence, not a code."""
    order = rows.make_order(verdict="review", verdict_reason="unbound")
    assert "The payment matches no checkout of this shop." in page_of(admin_client, order)


@pytest.mark.spec("ORD-22", "STA-02", "STA-04", "STA-05", "STA-09")
@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("created", "nothing yet"),
        ("pending", "nothing yet"),
        ("rejected", "nothing"),
        ("canceled", "nothing"),
    ],
)
def test_what_is_not_paid_has_a_price_and_no_sums(admin_client: Client, status: str, words: str) -> None:
    """Whatever the document of an order says that would be charged and received."""
    html = page_of(admin_client, rows.make_order(status=status, verdict="pending"))
    assert html.count(f'<dd class="ci-value">{words}</dd>') == 2
    assert f"the price is 9.99{SPACE}USD" in html
    assert f"8.10{SPACE}EUR</dd>" not in html.partition("ci-field-groups")[0]


@pytest.mark.spec("STA-08", "EVT-06")
def test_money_with_contradicting_notifications_is_not_certain(admin_client: Client) -> None:
    """A payment and its cancellation: the page does not choose."""
    facts: dict[str, Any] = {"slots": {"processed/notification": {}, "canceled/notification": {}}}
    order = rows.make_order(status="canceled", verdict="verified", facts=facts)
    html = page_of(admin_client, order)
    assert html.count('<dd class="ci-value">not certain</dd>') == 2
    assert "Ask the service whether money moved." in html
    assert "goods may be granted" in html


@pytest.mark.spec("ORD-05", "ORD-37", "ITM-03")
@pytest.mark.parametrize(
    ("document", "sold", "item", "units", "name"),
    [
        ({"description": "500 gems by phone"}, None, None, "0", "500 gems by phone"),
        ({"description": ""}, None, None, "500", "500 of virtual currency"),
        ({"description": ""}, None, None, None, "–"),
        ({"description": ""}, None, None, "0", "–"),
        ({"description": "as sent"}, {"description": "1,200 gems"}, None, "1200", "1,200 gems"),
        ({"description": "as sent"}, {"description": "1,200 gems"}, {"sku": "gems-1200"}, None, "1,200 gems"),
        ({"description": "as sent"}, {"products": ["sword"]}, {"name": "Golden sword"}, None, "Golden sword"),
    ],
)
def test_a_list_and_a_page_have_one_name_for_what_was_bought(
    admin_client: Client,
    document: dict[str, Any],
    sold: dict[str, Any] | None,
    item: dict[str, Any] | None,
    units: str | None,
    name: str,
) -> None:
    """The item's, the shop's or the service's; a number of units of nothing is no name."""
    checkout = rows.make_checkout(**sold) if sold else None
    order = rows.make_order(document=document, checkout=checkout, virtual_currency_amount=units)
    if item:
        rows.add_item(order, **item)
    listed = admin_client.get("/admin/checkout_integration/order/").content.decode()
    assert re.findall(r'<td class="field-product[^>]*><span.*?</span>(.*?)</td>', listed) == [name]
    assert f'<dd class="ci-value">{name}</dd>' in page_of(admin_client, order)


@pytest.mark.spec("RFD-01", "RFD-02", "ORD-27", "STA-06", "STA-07")
@pytest.mark.parametrize(
    ("status", "given_back", "words"),
    [
        ("refunded", {"refund_amount": "9.99", "refund_currency": "USD"}, f"the refund of 9.99{SPACE}USD"),
        ("refunded", {}, "the refund of an unknown amount"),
        (
            "chargeback",
            {"refund_amount": "9.20", "refund_currency": "EUR"},
            f"the chargeback of 9.20{SPACE}EUR",
        ),
    ],
)
def test_what_was_refunded_is_shown_beside_what_was_received(
    admin_client: Client, status: str, given_back: dict[str, Any], words: str
) -> None:
    """Two currencies are not counted together; the customer's payment stays what it was."""
    html = page_of(admin_client, rows.make_order(status=status, **given_back))
    assert '<dd class="ci-value">unknown</dd>' in html
    assert f'<dd class="ci-detail">8.10{SPACE}EUR before {words}</dd>' in html
    assert "The service does not state what is left of it." in html
    assert f'<dd class="ci-value">9.20{SPACE}EUR</dd>' in html


@pytest.mark.spec("RFD-01", "RFD-02", "ORD-22", "ORD-40")
@pytest.mark.parametrize(
    ("currency", "words"),
    [("USD", f"2.00 of 9.99{SPACE}USD"), ("EUR", f"2.00 of 9.20{SPACE}EUR"), ("GBP", f"2.00{SPACE}GBP")],
)
def test_a_partial_refund_says_of_how_much(admin_client: Client, currency: str, words: str) -> None:
    """Of the price or of the charge, whichever is in the currency of the refund; else it stands alone."""
    charge = {"charge_amount": Decimal("9.20"), "charge_currency": "EUR"}
    slots: dict[str, Any] = {"processed/notification": {}, "refunded/notification": {}}
    facts = {"slots": slots, "refunds": {"stated": {currency: ["2", False, False]}}}
    order = rows.make_order(status="refunded", document=charge, facts=facts)
    html = page_of(admin_client, order)
    assert f"refunded: {words}" in html and f"before the refund of {words}" in html


@pytest.mark.spec("RFD-01", "STA-07", "EVT-04", "EVT-05")
def test_a_chargeback_after_a_part_was_refunded_is_what_was_left(
    admin_client: Client, checkout_deliver: Deliver
) -> None:
    """Each of the two has its own sum, as on the page about money."""
    paid = order_document_for(CheckoutFactory())
    part = {"status": "refunded", "refunded": True, "refund": {"amount": 2, "currency": paid["currency"]}}
    checkout_deliver(order=paid)
    checkout_deliver(notification("payment.refund", paid | part))
    checkout_deliver(notification("payment.chargeback", paid | {"status": "chargeback"}))
    html = page_of(admin_client, Order.objects.get())
    assert f"before the chargeback of 7.99 of 9.99{SPACE}USD" in html
    assert f"refunded: 2.00 of 9.99{SPACE}USD" in html and f"charged back: 7.99 of 9.99{SPACE}USD" in html


@pytest.mark.spec("STA-07", "EVT-04")
def test_a_chargeback_is_never_called_a_refund(admin_client: Client) -> None:
    """The issuer of the card reads the page in the evidence, and would take the dispute for settled."""
    order = rows.make_order(status="chargeback", refund_amount="9.99", refund_currency="USD")
    html = page_of(admin_client, order)
    assert f"charged back: 9.99{SPACE}USD" in html and "refunded: " not in html
    rows.make_refund(order, status="chargeback", amount="9.20", currency="EUR")
    html = page_of(admin_client, order)
    assert f"charged back: 9.20{SPACE}EUR" in html and "refunded: " not in html


def test_a_restored_payment_has_lost_nothing(admin_client: Client) -> None:
    """The dispute was won; the table below has what happened."""
    order = rows.make_order(refund_amount="9.99", refund_currency="USD")
    rows.make_refund(order, status="chargeback")
    html = page_of(admin_client, order)
    assert "charged back: " not in html and "refunded: " not in html


@pytest.mark.spec("STA-06", "STA-07")
@pytest.mark.parametrize("verdict", ["verified", "accepted", "review"])
@pytest.mark.parametrize(("status", "word"), [("refunded", "refunded"), ("chargeback", "charged back")])
def test_no_verdict_grants_goods_for_money_that_went_back(
    admin_client: Client, status: str, word: str, verdict: str
) -> None:
    """The verdict is about the payment, which was taken back since."""
    html = page_of(admin_client, rows.make_order(status=status, verdict=verdict))
    assert f"The order is {word}, so no goods are to be granted." in html
    assert "may be granted" not in html
    assert "until a member of staff accepts" not in html


@pytest.mark.spec("RFD-01", "STA-06")
def test_a_refund_in_part_leaves_the_goods(admin_client: Client) -> None:
    """As it leaves them with the customer."""
    part = {"amount": 2, "currency": "USD"}
    slots: dict[str, Any] = {"processed/notification": {}, "refunded/notification": {}}
    order = rows.make_order(
        status="refunded",
        document={"refund": part},
        refund_amount="2",
        refund_currency="USD",
        facts={"slots": slots, "refunds": {"stated": {"USD": ["2", False, False]}}},
    )
    html = page_of(admin_client, order)
    assert "partly refunded" in html
    assert "goods may be granted" in html
    assert f"8.10{SPACE}EUR before the refund of 2.00 of 9.99{SPACE}USD" in html


def test_a_refund_of_nothing_is_no_part(admin_client: Client) -> None:
    """The order shows the service's word; the goods stay."""
    slots: dict[str, Any] = {"processed/notification": {}, "refunded/notification": {}}
    order = rows.make_order(
        status="refunded",
        facts={"slots": slots, "refunds": {"stated": {"USD": [None, False, True]}}},
    )
    html = page_of(admin_client, order)
    assert "partly refunded" not in html
    assert "goods may be granted" in html


@pytest.mark.parametrize(
    ("state", "bound", "words"),
    [
        ("done", True, "granted"),
        ("due", True, "failing, retried later"),
        ("failed", True, "not granted"),
        ("done", False, "code ran"),
        ("due", False, "failing, retried later"),
        ("failed", False, "not granted"),
    ],
)
def test_goods_are_granted_when_the_receiver_of_a_bound_checkout_is_done(
    admin_client: Client, state: str, bound: bool, words: str
) -> None:
    """A receiver without a checkout may return without granting anything."""
    order = rows.make_order(checkout=rows.make_checkout() if bound else None)
    rows.make_run(order, state=state)
    assert f"</span> {words}</span>" in page_of(admin_client, order)


def test_goods_granted_by_one_of_two_receivers_are_granted_in_part(admin_client: Client) -> None:
    """A receiver that gave up beside one that is done is not hidden by it."""
    order = rows.make_order(checkout=rows.make_checkout())
    rows.make_run(order)
    rows.make_run(order, receiver="shop.receivers.mail", state="failed", attempts=10, error="OSError")
    html = page_of(admin_client, order)
    assert "partly granted" in html
    assert "OSError" in html


def test_goods_that_were_taken_back_are_not_called_granted(admin_client: Client) -> None:
    """A done run of checkout_reversed outranks that of checkout_paid."""
    order = rows.make_order(status="refunded")
    rows.make_run(order)
    rows.make_run(order, "checkout_reversed", receiver="shop.receivers.take_back")
    assert "</span> revoked</span>" in page_of(admin_client, order)


def test_page_says_that_nobody_listens(admin_client: Client) -> None:
    """A shop without a receiver can read why no goods were granted."""
    order = rows.make_order()
    OutboxMessage.objects.create(
        idempotency_key="k", signal="checkout_paid", project="default", order=order, state="no_receivers"
    )
    assert "No code of the shop is connected to checkout_paid" in page_of(admin_client, order)


def test_timeline_merges_all_sources_newest_last(admin_client: Client) -> None:
    """Notifications, status changes, receivers, incidents and staff acts stand in one list, sorted by time."""
    order = rows.make_order()
    rows.make_history(order)
    rows.make_notification(order.order_id, "payment.refund", delivery_try=3, receipts=2)
    context = admin_client.get(f"{LIST}{order.pk}/change/").context
    timeline = context["page"]["timeline"]
    assert {str(each.source) for each in timeline} == {
        "notification",
        "status",
        "signal",
        "receiver",
        "incident",
        "order",
    }
    assert [each.at for each in timeline] == sorted(each.at for each in timeline)


@pytest.mark.spec("WHK-05", "WHK-07", "EVT-10")
def test_timeline_tells_attempt_and_age_of_a_notification(admin_client: Client) -> None:
    """Which delivery attempt it was, how often it came, and how long it was under way."""
    order = rows.make_order()
    rows.make_notification(order.order_id, delivery_try=3, receipts=2)
    html = page_of(admin_client, order)
    for text in ("delivery attempt 3", "took 4 s", "received 2 times"):
        assert text in html


@pytest.mark.spec("ORD-01")
def test_timeline_is_of_this_order_and_project_only(admin_client: Client) -> None:
    """A notification of another project about the same id is not this order's."""
    order = rows.make_order("shared-id")
    rows.make_notification("shared-id", "payment.chargeback", project="other")
    assert "payment.chargeback" not in page_of(admin_client, order)


def test_empty_list_teaches_the_first_order(admin_client: Client) -> None:
    """An empty list says how to fill it."""
    assert "python manage.py checkout_sandbox" in html_of(admin_client, LIST)


def test_list_is_by_the_time_of_the_customer_however_late_the_shop_learned_of_it(
    admin_client: Client,
) -> None:
    """An order of this shop has no time of the service until a notification comes: then ours stands for it."""
    now = datetime.now(UTC)
    new = rows.make_order(created_at=None)
    for age in (400, 2):
        rows.make_order(order_id=f"{age} days old", created_at=now - timedelta(days=age))
    shown = admin_client.get(LIST).context["cl"].result_list
    assert [row.order_id for row in shown] == [new.order_id, "2 days old", "400 days old"]


def test_refunds_are_listed_by_the_time_of_the_refund(admin_client: Client) -> None:
    """One that the service has given no time stands where this app learned of it."""
    now, order = datetime.now(UTC), rows.make_order()
    new = rows.make_refund(order, document_id="new", refunded_at=None)
    for age in (400, 2):
        rows.make_refund(order, document_id=f"{age} days old", refunded_at=now - timedelta(days=age))
    shown = admin_client.get("/admin/checkout_integration/refund/").context["cl"].result_list
    assert [row.document_id for row in shown] == [new.document_id, "2 days old", "400 days old"]


def test_list_counts_up_to_a_bound(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of millions of rows is not counted: beyond the bound the list asks to search."""
    monkeypatch.setattr(large_tables, "COUNTED", 2)
    for _ in range(3):
        rows.make_order()
    assert "the newest 2 are listed" in html_of(admin_client, LIST)


def test_filter_finds_orders_with_a_parked_receiver(admin_client: Client) -> None:
    """The list of paid orders with goods that are not granted."""
    rows.make_run(rows.make_order("stuck"), state="failed")
    rows.make_run(rows.make_order("granted"))
    html = html_of(admin_client, f"{LIST}?receivers=failed")
    assert "stuck" in html
    assert ">granted<" not in html


@pytest.mark.spec("ORD-42", "WHK-04")
def test_filter_by_mode_agrees_with_the_badge(admin_client: Client) -> None:
    """Whatever the order and its notification say: rows of the live filter are LIVE, those of the test filter TEST."""
    words = {"LIVE": set[str](), "TEST": set[str](), "mode unknown": set[str]()}
    for production, live in product((True, False, None), repeat=2):
        order = rows.make_order(is_production=production, live=live)
        words[str(mode_label(order).text)].add(order.order_id)
    for mode, word in (("live", "LIVE"), ("test", "TEST")):
        listed = admin_client.get(LIST, {"mode": mode}).context["cl"].result_list
        assert {order.order_id for order in listed} == words[word]
    assert [len(found) for found in words.values()] == [2, 5, 2]


def test_an_accepted_payment_of_another_amount_still_says_so(admin_client: Client) -> None:
    """In the list, by a filter and on its page; one of the same amount does not."""
    checkouts = [rows.make_checkout(expected_amount=amount) for amount in ("9.99", "19.99")]
    same, other = (
        rows.make_order(checkout=each, verdict="accepted", verdict_reason="by_staff") for each in checkouts
    )
    address = reverse("admin:checkout_integration_order_changelist")
    lines = html_of(admin_client, address).partition("<tbody>")[2].split("</tr>")
    assert [str(other) in line for line in lines if "by staff, other amount" in line] == [True]
    found = admin_client.get(f"{address}?accepted=other").context["cl"].result_list
    assert [row.pk for row in found] == [other.pk]
    differs = f"expected: 19.99{SPACE}USD <span"
    assert [differs in page_of(admin_client, each) for each in (same, other)] == [False, True]


def test_a_list_is_named_after_its_rows(admin_client: Client) -> None:
    """Nothing is selected in it to be viewed."""
    html = html_of(admin_client, reverse("admin:checkout_integration_order_changelist"))
    assert "<title>Orders |" in html.replace("\n", "") and "to view" not in html
