"""The tasks of a support desk, from the index of the admin to the answer, in Chromium: each takes four steps at most."""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from zipfile import ZipFile

import pytest

from checkout_integration import flows
from checkout_integration.models import CheckoutUser, Notification, Order, OutboxMessage
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.factories import CheckoutFactory
from checkout_integration.testing.payloads import OrderDocumentFactory
from checkout_integration.testing.service import CheckoutSandbox
from tests.support.admin.desk import Desk
from tests.support.admin.sales import ADA, Sales
from tests.support.browser import expect
from tests.support.flows.shop import Failing, Listening, ShopHooks, notification

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]
KEY: Final = {"id": "key-1", "name": "Lanternfall", "code": "AB3D5-FG7H9-JK2M4"}


@pytest.mark.parametrize(
    ("kind", "text"),
    [("email", ADA), ("card", "1881"), ("receipt", "R-2026-77"), ("code", KEY["code"]), ("account", "ada")],
)
def test_find_an_order(
    desk: Desk, sell: Sales, listen: Listening, django_user_model: Any, kind: str, text: str
) -> None:
    """By what a customer knows: the first screen says what, who, whether it is paid, and whether it was granted."""
    listen(checkout_paid, name="shop.grant")
    account = django_user_model.objects.create_user("ada")
    order = sell("Lanternfall", account=account, receipt_number="R-2026-77", last4="1881", items=[KEY])
    sell.deliver(order=OrderDocumentFactory())
    desk.find(text)
    desk.reads_at_once(order.order_id, "Lanternfall", ADA, "player-7", "paid", "9.99", "shop.grant – done")
    desk.look(f"find-{kind}")


def test_why_it_was_not_granted(desk: Desk, sell: Sales, listen: Listening) -> None:
    """The receiver, how often it failed, and where in the shop's code."""
    listen(checkout_paid, Failing(), name="shop.grant")
    sell()
    desk.find(ADA)
    desk.reads_at_once("failing, retried later", "shop.grant – due, attempts: 1, last error: ValueError")
    desk.reads("tests/support/flows/shop.py")
    desk.look("not-granted")


def test_accept_a_payment_in_review(desk: Desk, sell: Sales, listen: Listening) -> None:
    """With a reason; the goods are granted, and the page says who decided."""
    heard = listen(checkout_paid, name="shop.grant")
    order = sell(amount="5.00")
    assert order.verdict == "review"
    desk.find(order.order_id)
    desk.submit("Accept this payment")
    desk.look("accept-confirmation")
    desk.submit("Accept this payment", {"Reason:": "the rest was paid by voucher"})
    desk.reads_at_once("The payment is accepted", "payment accepted by sam", "the rest was paid by voucher")
    assert len(heard) == 1
    desk.look("accepted")


def test_apply_a_notification_that_failed(desk: Desk, sell: Sales, hooks: type[ShopHooks]) -> None:
    """From the queue on the page of the app: a preview, and what has changed."""

    def fail(order: object) -> Any:
        raise LookupError

    hooks.resolve = staticmethod(fail)
    sell.deliver(notification(order=OrderDocumentFactory(id="order-77")))
    hooks.resolve = staticmethod(lambda order: None)
    desk.follow("Checkout")
    desk.follow("1 notification that failed")
    desk.choose("Apply the selected notifications", "payment.success")
    desk.look("apply-preview")
    desk.submit("Apply the selected notifications")
    desk.reads_at_once("Applied. order order-77: not known → paid")
    assert (Order.objects.get().order_id, Notification.objects.get().state) == ("order-77", "applied")
    desk.look("applied")


def test_apply_a_notification_again(desk: Desk, sell: Sales) -> None:
    """From the order's page: nothing changes, and the page says so."""
    order = sell()
    desk.find(order.order_id)
    desk.submit("Apply a notification again")
    desk.submit("Apply a notification again")
    desk.reads_at_once("Applied. Nothing changed.")


def test_run_a_failing_receiver_again(desk: Desk, sell: Sales, listen: Listening) -> None:
    """Not after hours: now."""
    listen(checkout_paid, Failing(times=1), name="shop.grant")
    sell()
    desk.find(ADA)
    desk.submit("Run the shop's code now")
    desk.look("run-confirmation")
    desk.submit("Run the shop's code now")
    desk.reads_at_once("This code of the shop runs again now: shop.grant.", "shop.grant – done")
    desk.look("run-again")


def test_run_the_failing_receivers_of_many_orders(desk: Desk, sell: Sales, listen: Listening) -> None:
    """From the queue of what is paid and not granted."""
    listen(checkout_paid, Failing(times=2), name="shop.grant")
    orders = [sell(), sell("1,200 gems")]
    OutboxMessage.objects.update(recorded_at=datetime.now(UTC) - timedelta(minutes=6))
    desk.follow("Checkout")
    desk.follow("2 paid, not delivered")
    desk.choose("Run what failed for the selected orders again", *(each.order_id for each in orders))
    desk.submit("Run what failed for the selected orders again")
    desk.reads_at_once(
        *(f"Order {each.order_id}: This code of the shop runs again now: shop.grant." for each in orders)
    )
    desk.look("run-many")


def test_money_of_a_day_in_each_currency(desk: Desk, sell: Sales) -> None:
    """Sums per currency, never of two together."""
    sell()
    sell()
    euro = CheckoutFactory(expected_amount="20.00", currency="EUR")
    sell.pay(euro, charge_amount="20.00", charge_currency="EUR")
    desk.follow("Money")
    desk.reads_at_once("USD", "19.98", "EUR", "20.00")
    desk.look("money")


def test_erase_a_customer(desk: Desk, sell: Sales) -> None:
    """Found by e-mail, with a reason; nothing of the customer is left on the page."""
    sell()
    desk.find(ADA)
    desk.submit("Erase the customer")
    desk.reads("Rows with data of this customer")
    desk.look("erase-confirmation")
    desk.submit("Erase the customer", {"Reason:": "request 4711"})
    desk.reads_at_once("The personal data of this customer was erased.")
    assert not CheckoutUser.objects.exclude(external_id="").exists()
    desk.look("erased")


def test_check_an_order_with_the_service(
    desk: Desk, sell: Sales, checkout_sandbox: CheckoutSandbox, listen: Listening, settings: Any
) -> None:
    """A payment of which no notification came: the message says what changed, and the goods are granted."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "RUNNER": "request",
        "REQUEST_BUDGET": 10,
    }
    listen(checkout_paid, name="shop.grant")
    checkout_sandbox.projects.update("test-project", webhook_url="")
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD", description="500 gems")
    checkout_sandbox.pay(checkout.order_id)
    desk.find(checkout.order_id)
    desk.reads_at_once("500 gems", "not paid", "nothing yet")
    desk.submit("Check with the service now")
    desk.reads_at_once("Order refreshed from the service: not paid → paid", "shop.grant – done")
    desk.look("checked")


def test_download_a_filtered_list(desk: Desk, sell: Sales, tmp_path: Path) -> None:
    """The rows of the filter and no others."""
    sell()
    wrong = sell("1,200 gems", amount="5.00")
    desk.follow("Orders")
    desk.unfold("Filter")
    desk.follow("in review")
    desk.look("filtered")
    desk.reads_at_once("1,200 gems")
    expect(desk.row("1,200 gems", "other amount")).to_be_in_viewport()
    file = desk.download("Download the filtered list (CSV)")
    desk.reads_at_once(wrong.order_id)
    file.save_as(tmp_path / "orders.csv")
    with (tmp_path / "orders.csv").open(encoding="utf-8-sig", newline="") as lines:
        assert [row["order_id"] for row in csv.DictReader(lines)] == [wrong.order_id]
    desk.look("filtered")


def test_whether_all_is_well(desk: Desk, sell: Sales, listen: Listening) -> None:
    """One click: each project and the work of all, and the queues with their numbers."""
    listen(checkout_paid, Failing(), name="shop.grant")
    sell()
    desk.follow("Checkout")
    desk.reads_at_once(
        "Needs a person",
        "failed in the shop's code, retried later",
        "9.99",
        "Code of the shop that fails",
        "TEST",
    )
    desk.look("index")


def test_which_of_several_purchases(desk: Desk, sell: Sales) -> None:
    """The list says of each what was bought, by whom, and whether it is paid."""
    products = ("500 gems", "1,200 gems", "Season pass")
    for product in products:
        sell(product)
    desk.find(ADA)
    for product in products:
        expect(desk.row(product, ADA, "paid", "9.99")).to_have_count(1)
    desk.open_row("Season pass")
    desk.reads_at_once("Season pass", "9.99")
    desk.look("which")


def test_how_much_was_refunded(desk: Desk, sell: Sales, listen: Listening) -> None:
    """A part: the page says how much of how much, and that the goods stay."""
    listen(checkout_paid, name="shop.grant")
    order = sell()
    refund = {"amount": "5.00", "currency": "USD", "reason": "late", "code": "1"}
    document = sell.document(
        order.checkout, id=order.order_id, status="refunded", refunded=True, refund=refund
    )
    sell.deliver(event="payment.refund", order=document)
    desk.find(order.order_id)
    desk.reads_at_once("partly refunded", "5.00 of 9.99", "granted")
    desk.look("refunded")


def test_bind_a_payment_without_a_checkout(desk: Desk, sell: Sales, listen: Listening) -> None:
    """To the checkout that the customer names: it is verified then, and granted."""
    heard = listen(checkout_paid, name="shop.grant")
    checkout = CheckoutFactory(description="500 gems")
    lost = OrderDocumentFactory(amount="9.99", original_amount="9.99", metadata={})
    sell.deliver(order=lost)
    desk.find(lost["id"])
    desk.submit("Link to a checkout")
    desk.look("bind-form")
    desk.submit(
        "Link to a checkout", {"Or its reference:": checkout.reference, "Reason:": "named by the customer"}
    )
    desk.reads_at_once(
        "500 gems", "order linked to a checkout by sam", "named by the customer", "shop.grant – done"
    )
    assert Order.objects.get().checkout == checkout
    assert len(heard) == 1
    desk.look("bound")


def test_evidence_for_a_chargeback(desk: Desk, sell: Sales, tmp_path: Path) -> None:
    """From the queue of the week's chargebacks to one file for the bank."""
    order = sell()
    sell.deliver(event="payment.chargeback", order=sell.document(order.checkout, id=order.order_id))
    desk.follow("Checkout")
    desk.follow("1 charged back in the last 7 days")
    desk.open_row(order.order_id)
    file = desk.download("Download the evidence (ZIP)")
    desk.reads_at_once("charged back")
    file.save_as(tmp_path / "evidence.zip")
    assert "summary.html" in ZipFile(tmp_path / "evidence.zip").namelist()
    desk.look("evidence")


def test_leave_a_note_for_a_colleague(desk: Desk, sell: Sales) -> None:
    """With author and time, in the timeline of the order."""
    sell()
    desk.find(ADA)
    desk.submit("Write a note")
    desk.submit("Write a note", {"Note:": "asked the bank on Monday"})
    desk.reads("asked the bank on Monday", "by sam")
    desk.look("note")


def test_a_customer_who_paid_twice(desk: Desk, sell: Sales, listen: Listening) -> None:
    """The goods are granted once; the page of the other payment says so, and that it is one too many."""
    heard = listen(checkout_paid, name="shop.grant")
    first = sell()
    assert first.checkout is not None
    second = sell.pay(first.checkout, id="order-of-the-second-payment")
    desk.find(ADA)
    expect(desk.row(first.order_id, "500 gems", "paid")).to_have_count(1)
    desk.open_row(second.order_id)
    desk.reads_at_once(second.order_id, "not granted", "another order has paid the checkout")
    desk.reads("paid twice")
    assert len(heard) == 1
    desk.look("paid-twice")
