"""The tasks of a support desk, from the index of the admin to the answer, in Chromium: each takes four steps at most."""

from __future__ import annotations

import csv
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pytest

from checkout_integration import flows
from checkout_integration.models import CheckoutUser, Notification, Order
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.factories import CheckoutFactory
from checkout_integration.testing.payloads import OrderDocumentFactory
from checkout_integration.testing.service import CheckoutSandbox
from tests.support.admin.desk import Desk
from tests.support.admin.sales import ADA, Sales
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
    desk.reads_at_once("being granted", "shop.grant – due, attempts: 1, last error: ValueError")
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
    desk.follow("1 notifications that failed")
    desk.choose("Apply the selected notifications", "payment.success")
    desk.look("apply-preview")
    desk.submit("Apply the selected notifications")
    desk.reads_at_once("1 notification was applied")
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
    desk.submit("Run receivers now")
    desk.look("run-confirmation")
    desk.submit("Run receivers now")
    desk.reads_at_once("These receivers run again now: shop.grant.", "shop.grant – done")
    desk.look("run-again")


def test_run_the_failing_receivers_of_many_orders(desk: Desk, sell: Sales, listen: Listening) -> None:
    """From the queue of what is paid and not granted."""
    listen(checkout_paid, Failing(times=2), name="shop.grant")
    orders = [sell(), sell("1,200 gems")]
    desk.follow("Checkout")
    desk.follow("2 paid, not granted")
    desk.choose("Run the failing receivers of the selected orders again", *(each.order_id for each in orders))
    desk.submit("Run the failing receivers of the selected orders again")
    desk.reads_at_once(
        *(f"Order {each.order_id}: These receivers run again now: shop.grant." for each in orders)
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
    desk.follow("Checkout")
    desk.submit("Find customer", {"Find a customer": ADA})
    desk.submit("Erase the customer")
    desk.reads("Rows with data of this customer")
    desk.look("erase-confirmation")
    desk.submit("Erase the customer", {"Reason:": "request 4711"})
    desk.reads_at_once("The personal data of this customer was erased.")
    assert not CheckoutUser.objects.exclude(external_id="").exists()
    desk.look("erased")


def test_check_an_order_with_the_service(desk: Desk, checkout_sandbox: CheckoutSandbox) -> None:
    """A payment of which no notification came: the message says what changed."""
    checkout_sandbox.projects.update("test-project", webhook_url="")
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD", description="500 gems")
    checkout_sandbox.pay(checkout.order_id)
    desk.find(checkout.order_id)
    desk.reads_at_once("500 gems", "not paid", "nothing yet")
    desk.submit("Check with the service now")
    desk.reads_at_once("Order refreshed from the service: not paid → paid", "verified")
    desk.look("checked")


def test_download_a_filtered_list(desk: Desk, sell: Sales, tmp_path: Path) -> None:
    """The rows of the filter and no others."""
    sell()
    wrong = sell("1,200 gems", amount="5.00")
    desk.follow("Orders")
    desk.unfold("Filter")
    desk.follow("in review")
    desk.look("filtered")
    desk.reads_at_once("1,200 gems", "other amount")
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
        "Project default", "TEST", "Work of all projects", "Receiver runs that failed", "paid, not granted"
    )
    desk.look("index")
