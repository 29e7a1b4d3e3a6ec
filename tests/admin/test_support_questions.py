"""More questions to a support desk, as in `test_support_tasks`; and a receiver that is run again with the keyboard alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.models import CheckoutUser, ReceiverRun
from checkout_integration.signals import checkout_paid
from tests.support.admin.desk import Desk
from tests.support.admin.sales import ADA, Sales
from tests.support.flows.notified import installed
from tests.support.flows.shop import Failing, Listening
from tests.support.paths.browsing import go_to

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


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
    desk.follow("Checkout")
    desk.follow("Health")
    desk.unfold("things that were looked at")
    desk.reads("Last notification", "Refused requests")
    desk.look("health")


def test_link_a_customer_to_an_account(desk: Desk, sell: Sales) -> None:
    """Found by e-mail; the account by its login name."""
    sell()
    robin = User.objects.create_user("robin")
    desk.find(ADA)
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
    page.wait_for_load_state()
    go_to(page, "Find an order or a customer")
    keys.type(ADA)
    keys.press("Enter")
    page.wait_for_url("**/change/")
    page.wait_for_load_state()
    go_to(page, "Run the shop's code now")
    keys.press("Enter")
    page.wait_for_url("**/run/")
    page.wait_for_load_state()
    go_to(page, "Run the shop's code now")
    keys.press("Enter")
    desk.reads_at_once("This code of the shop runs again now: shop.grant.", "shop.grant – done")
    assert (len(heard), ReceiverRun.objects.get(receiver="shop.grant").state) == (1, "done")
