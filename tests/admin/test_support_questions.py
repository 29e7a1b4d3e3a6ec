"""More questions to a support desk, as in `test_support_tasks`; and a receiver that is run again with the keyboard alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.models import CheckoutUser, ReceiverRun
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.factories import CheckoutFactory
from tests.support.admin.desk import Desk
from tests.support.admin.sales import ADA, Sales
from tests.support.browser import expect
from tests.support.flows.notified import installed
from tests.support.flows.shop import Failing, Listening
from tests.support.paths.browsing import go_to

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_which_of_fourteen_purchases_it_was(desk: Desk, sell: Sales) -> None:
    """Product, e-mail and time are in the rows."""
    for _ in range(13):
        sell()
    order = sell("Cloak of Embers")
    desk.find(ADA)
    expect(desk.row("500 gems", ADA)).to_have_count(13)
    desk.look("fourteen")
    desk.open_row("Cloak of Embers")
    desk.reads_at_once(order.order_id, "Cloak of Embers", "paid")


def test_whether_a_buyer_paid_twice(desk: Desk, sell: Sales) -> None:
    """Two payments of one checkout: the second one is in review, and says why."""
    checkout = CheckoutFactory(description="500 gems")
    sell.pay(checkout)
    sell.pay(checkout, id="order-again")
    desk.find(ADA)
    desk.look("paid-twice-list")
    desk.open_row("order-again", "in review")
    desk.reads_at_once("in review", "Another order has already paid for this checkout")
    desk.look("paid-twice")


def test_the_evidence_of_a_chargeback(desk: Desk, sell: Sales, tmp_path: Path) -> None:
    """From the queue: one file with all that is known."""
    checkout = CheckoutFactory(description="500 gems")
    order = sell.pay(checkout)
    sell.pay(checkout, event="payment.chargeback", status="chargeback")
    desk.follow("Checkout")
    desk.follow("1 chargebacks of the last 7 days")
    desk.open_row(order.order_id)
    desk.reads_at_once("charged back", "no goods are to be granted")
    desk.download("Download the evidence (ZIP)").save_as(tmp_path / "evidence.zip")
    desk.reads_at_once(order.order_id)
    with ZipFile(tmp_path / "evidence.zip") as pack:
        assert ADA in pack.read("summary.html").decode()
    desk.look("chargeback")


def test_who_decided_and_why(desk: Desk, sell: Sales) -> None:
    """Beside the verdict, and in the timeline."""
    order = sell(amount="5.00")
    grace = User.objects.create_user("grace", is_staff=True)
    flows.operations.accept_payment(order, staff=grace, reason="the rest was paid by voucher")
    desk.find(order.order_id)
    desk.reads_at_once("accepted", "payment accepted by grace", "the rest was paid by voucher")
    desk.look("decided")


def test_what_a_colleague_noted(desk: Desk, sell: Sales) -> None:
    """On top of the page, with the name."""
    order = sell()
    grace = User.objects.create_user("grace", is_staff=True)
    flows.operations.add_note(order, staff=grace, text="asked the bank on Monday")
    desk.find(order.order_id)
    desk.reads_at_once("Note by grace", "asked the bank on Monday")
    desk.look("noted")


def test_whether_notifications_arrive(desk: Desk, sell: Sales) -> None:
    """When the last one came."""
    installed(datetime.now(UTC) - timedelta(days=1))
    sell()
    desk.follow("Health")
    desk.reads_at_once("Last notification", "Refused requests")
    desk.look("health")


def test_how_much_was_refunded(desk: Desk, sell: Sales) -> None:
    """A part: its sum and the whole, in one line."""
    checkout = CheckoutFactory(description="500 gems")
    order = sell.pay(checkout)
    sell.pay(
        checkout,
        event="payment.refund",
        status="refunded",
        refund={"amount": "5.00", "currency": "USD", "reason": "one gem was dull", "code": "other"},
    )
    desk.find(order.order_id)
    desk.reads_at_once("partly refunded", "refunded: 5.00 of 9.99")
    desk.look("partly-refunded")


def test_bind_a_payment_without_a_checkout(desk: Desk, sell: Sales, listen: Listening) -> None:
    """Its checkout is described by staff; then it is verified and granted."""
    heard = listen(checkout_paid, name="shop.grant")
    order = sell.pay(CheckoutFactory.build(description="500 gems", order_id="order-77"), metadata={})
    assert order.checkout is None
    desk.find("order-77")
    desk.reads_at_once("in review", "The payment matches no checkout of this shop.")
    desk.submit("Bind to a checkout")
    desk.look("bind")
    described = {
        "New checkout: type:": "simple: an amount",
        "New checkout: price:": "9.99",
        "New checkout: currency:": "USD",
        "New checkout: subject:": "500 gems",
    }
    desk.submit("Bind to a checkout", {**described, "Reason:": "sold by phone"})
    desk.reads_at_once("Verdict: verified.", "verified", "sold by phone")
    assert len(heard) == 1
    desk.look("bound")


def test_link_a_customer_to_an_account(desk: Desk, sell: Sales) -> None:
    """Found by e-mail; the account by its login name."""
    sell()
    robin = User.objects.create_user("robin")
    desk.follow("Checkout")
    desk.submit("Find customer", {"Find a customer": ADA})
    desk.submit("Link to an account")
    desk.submit("Link to an account", {"Account:": "robin", "Reason:": "wrote from the account"})
    desk.reads_at_once("robin")
    assert CheckoutUser.objects.filter(account=robin).exists()
    desk.look("linked")


def test_what_an_account_bought(desk: Desk, sell: Sales) -> None:
    """By its login name: the orders of its checkouts."""
    robin = User.objects.create_user("robin")
    for product in ("500 gems", "Tin raven"):
        sell(product, account=robin)
    sell("Cloak of Embers")
    desk.find("robin")
    desk.reads_at_once("500 gems", "Tin raven", "2 orders")
    desk.look("account")


def test_a_receiver_is_run_again_with_the_keyboard_alone(desk: Desk, sell: Sales, listen: Listening) -> None:
    """From the index of the admin by Tab and Enter, and the focus can be seen at each stop."""
    heard = listen(checkout_paid, Failing(times=1), name="shop.grant")
    sell()
    page, keys = desk.page, desk.page.keyboard
    go_to(page, "Checkout")
    keys.press("Enter")
    page.wait_for_url("**/checkout_integration/")
    go_to(page, "Find an order")
    keys.type(ADA)
    keys.press("Enter")
    page.wait_for_url("**/change/")
    go_to(page, "Run receivers now")
    keys.press("Enter")
    page.wait_for_url("**/run/")
    go_to(page, "Run receivers now")
    keys.press("Enter")
    desk.reads_at_once("These receivers run again now: shop.grant.", "shop.grant – done")
    assert (len(heard), ReceiverRun.objects.get(receiver="shop.grant").state) == (1, "done")
