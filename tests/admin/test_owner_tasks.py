"""Tasks of an owner, an accountant and an operator, as those of `test_support_tasks`: each takes four steps at most."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from checkout_integration import flows
from checkout_integration.flows.outbox.receivers import record_now
from checkout_integration.models import Checkout, CheckoutUser, Order, ReceiverRun
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.factories import CheckoutFactory
from tests.support.admin import rows
from tests.support.admin.desk import Desk, enter
from tests.support.admin.sales import ADA, Sales
from tests.support.browser import expect
from tests.support.flows.shop import Failing, Listening

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def owner(page: Page, live_server: Any, settings: Any, admin_user: User) -> Desk:
    """Who may do everything, at the index of the admin."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "REQUEST_BUDGET": 10}
    enter(page.context, live_server.url, admin_user)
    return Desk(page, live_server.url)


def test_a_payment_by_the_transaction_of_the_bank(owner: Desk, sell: Sales) -> None:
    """One search opens the order."""
    order = sell(transaction="txn-4711")
    owner.find("txn-4711")
    owner.reads_at_once(order.order_id, "500 gems", "paid")


def test_goods_that_were_given_wrongly_are_taken_back(owner: Desk, sell: Sales) -> None:
    """By hand, with a reason; the same success, sent again, gives nothing back."""
    order = sell()
    owner.find(order.order_id)
    owner.submit("Revoke the goods")
    owner.submit("Revoke the goods", {"Reason:": "sold the key on"})
    owner.reads_at_once("revoked by staff")
    owner.reads("sold the key on")
    sell.deliver(order=sell.document(order.checkout, id=order.order_id))
    assert Order.objects.get().verdict == "revoked"
    owner.look("revoked")


def test_a_customer_who_charged_back_is_blocked(owner: Desk, sell: Sales) -> None:
    """From the order, with a reason that the customer's page shows."""
    order = sell()
    sell.deliver(event="payment.chargeback", order=sell.document(order.checkout, id=order.order_id))
    owner.find(order.order_id)
    owner.submit("Block the customer")
    owner.submit("Block the customer", {"Reason:": "third chargeback"})
    owner.reads("blocked", "third chargeback")
    assert CheckoutUser.objects.get(external_id="player-7").blocked_at is not None
    owner.look("blocked")


def test_a_block_is_lifted(owner: Desk, sell: Sales, admin_user: User) -> None:
    """From the list of customers."""
    sell()
    flows.operations.block_customer(CheckoutUser.objects.get(), staff=admin_user, reason="third chargeback")
    owner.follow("Customers")
    owner.open_row(ADA)
    owner.submit("Lift the block")
    owner.submit("Lift the block", {"Reason:": "it was the bank's mistake"})
    owner.reads("The block is lifted")
    assert CheckoutUser.objects.get(external_id="player-7").blocked_at is None


def test_what_sold_most_and_where(owner: Desk, sell: Sales) -> None:
    """A row for each product and country, on the page about money."""
    for product, country in (("500 gems", "DE"), ("500 gems", "DE"), ("Tin raven", "US")):
        sell(product, country=country)
    owner.follow("Money")
    owner.page.locator("summary").filter(has_text="Other days").click()
    owner.submit("Show", {"day": False, "country": True, "product": True})
    owner.reads("500 gems", "DE", "19.98", "Tin raven", "US")
    owner.look("sold-most")


def test_tax_by_country(owner: Desk, sell: Sales) -> None:
    """A row for each rate and country."""
    tax = {"amount": "1.60", "currency": "USD"}
    sell(country="DE", vat={"tax": tax, "percent": "19", "payer": "seller"})
    owner.follow("Money")
    owner.page.locator("summary").filter(has_text="Other days").click()
    owner.submit("Show", {"day": False, "country": True, "rate and payer of VAT": True})
    owner.reads("DE")
    owner.look("tax")


def test_what_was_refunded_and_for_which_orders(owner: Desk, sell: Sales) -> None:
    """The number of refunded payments leads to the refunds, and each to its order."""
    order = sell()
    refund = {"amount": "5.00", "currency": "USD", "reason": "late", "code": "1"}
    document = sell.document(order.checkout, id=order.order_id, status="refunded", refund=refund)
    sell.deliver(event="payment.refund", order=document)
    owner.follow("Money")
    owner.reads("5.00")
    with owner.page.expect_navigation():
        owner.page.locator('td[data-label="Payments refunded"] a').first.click()
    owner.steps += 1
    owner.reads_at_once("5.00", order.order_id)


def test_the_net_of_which_payments_is_unknown(owner: Desk, sell: Sales) -> None:
    """Unknown is a dash in its column, never zero, and no column is missing."""
    sell(net_revenue=None)
    owner.follow("Money")
    cell = owner.page.locator('td[data-label="Net"]').first
    expect(cell).to_contain_text("–")
    owner.reads("Net")


def test_which_agreements_have_ended(owner: Desk, sell: Sales) -> None:
    """A filter of the checkouts."""
    sell("Season pass")
    Checkout.objects.update(lasts_days=31, owned_until=datetime.now(UTC) - timedelta(days=1))
    CheckoutFactory(description="Tin raven")
    owner.follow("Checkouts")
    owner.follow("ended")
    expect(owner.row("9.99")).to_have_count(1)
    owner.reads("1 checkout")


def test_test_data_is_deleted_before_the_launch(owner: Desk, sell: Sales) -> None:
    """It is seen on the front page; nothing of it is left, with a checkout or without."""
    sell()
    sell.deliver(order=sell.document(CheckoutFactory(), metadata={}))
    assert Order.objects.count() == 2
    owner.follow("Checkout")
    owner.follow("See how much, and delete it")
    owner.submit("Delete all test data", {"Reason:": "before the launch"})
    owner.reads("deleted")
    assert not Order.objects.exists()
    owner.look("test-data-deleted")


def test_code_is_paused_after_a_bad_release(owner: Desk, sell: Sales, listen: Listening) -> None:
    """From the page of failures, with a reason; what waits is counted."""
    listen(checkout_paid, Failing(), name="shop.grant")
    sell()
    record_now()
    owner.follow("Failures")
    owner.follow("Pause this code")
    owner.submit("Pause this code", {"Reason:": "bad release"})
    owner.reads("The code is paused", "Runs that wait: 1")
    assert ReceiverRun.objects.get(receiver="shop.grant").state == "paused"
    owner.look("paused")


def test_paused_code_is_resumed(owner: Desk, sell: Sales, listen: Listening) -> None:
    """From the same page; what has waited runs at once."""
    correct = Failing(times=1)
    listen(checkout_paid, correct, name="shop.grant")
    sell()
    record_now()
    assert flows.operations.pause_receiver("shop.grant", reason="bad release") == 1
    owner.follow("Failures")
    owner.follow("Resume this code")
    owner.submit("Resume this code")
    owner.reads("The code is resumed")
    assert correct.tries == 2


def test_a_notification_of_the_previous_secret(owner: Desk, sell: Sales) -> None:
    """The list says which secret it was signed with, while a key is rotated."""
    rows.make_notification("order-7", secret_position=1)
    owner.follow("Notifications")
    owner.reads("previous secret")


def test_the_link_to_a_wrong_account_is_undone(owner: Desk, sell: Sales, django_user_model: Any) -> None:
    """The purchases of a guest are the account's, and then nobody's again."""
    sell()
    robin = django_user_model.objects.create_user("robin")
    owner.find(ADA)
    owner.submit("Link to an account")
    owner.submit("Link to an account", {"Account:": "robin", "Reason:": "wrote from the account"})
    assert Checkout.objects.owned_by(robin).count() == 1
    owner.page.goto(owner.page.url.partition("/checkout_integration/")[0])
    owner.steps = 0
    owner.follow("Customers")
    owner.open_row(ADA)
    owner.submit("Undo the link to the account")
    owner.submit("Undo the link to the account", {"Reason:": "another Robin"})
    owner.reads("The link is undone")
    assert Checkout.objects.owned_by(robin).count() == 0
