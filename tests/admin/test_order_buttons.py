"""The buttons of an order's page: who sees them and when, what they change, and what is recorded of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from checkout_integration import flows
from checkout_integration.models import Checkout, Notification, Order, ReceiverRun, StaffAct, Transition
from checkout_integration.signals import checkout_paid, checkout_reversed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.admin import rows
from tests.support.admin.screens import order_buttons, page_address
from tests.support.flows.shop import Failing, Listening, ShopHooks, notification

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_pauses")]
PERMISSION = {
    "check": "check_order",
    "note": "add_note",
    "run": "change_receiverrun",
    "bind": "bind_order",
    "accept": "accept_payment",
    "mark-granted": "mark_granted",
    "apply": "apply_notification",
    "link-account": "link_account",
    "unlink-account": "link_account",
    "block": "block_customer",
    "unblock": "block_customer",
    "export": "export_customer",
    "revoke": "revoke_payment",
    "restore": "restore_payment",
    "erase": "erase_customer",
}
"""The permission of each button of an order."""
TOMORROW = datetime.now(UTC) + timedelta(days=1)


def address(row: Any, button: str, screen: str = "order") -> str:
    """The address of a button."""
    return page_address(screen, row).replace("/change/", f"/{button}/")


def press(client: Client, row: Any, button: str, screen: str = "order", **answers: Any) -> str:
    """The page after the button was pressed."""
    return client.post(address(row, button, screen), answers, follow=True).content.decode()


def page(client: Client, order: Order | None) -> str:
    """The order's page."""
    return client.get(page_address("order", order)).content.decode()


def as_staff(client: Client, *permissions: str) -> User:
    """Log in as Grace, who may view orders and this."""
    staff = rows.make_staff("view_order", *permissions, name="grace")
    client.force_login(staff)
    return staff


def test_every_button_is_in_the_table() -> None:
    """A button that is added later is tried too."""
    assert {each.name: each.permission for each in order_buttons()} == PERMISSION


NOT_OFFERED: dict[str, Callable[[], Order]] = {
    "accept": rows.make_order,
    "bind": lambda: rows.make_order(checkout=rows.make_checkout()),
    "run": lambda: _with_run(state="done"),
    "mark-granted": lambda: _with_run(state="done"),
    "apply": rows.make_order,
    "link-account": rows.make_order,
    "unlink-account": rows.make_order,
    "revoke": lambda: rows.make_order(verdict="review"),
    "restore": rows.make_order,
}


def _with_run(**columns: Any) -> Order:
    order = rows.make_order()
    rows.make_granting_run(order, **columns)
    return order


@pytest.mark.parametrize("button", sorted(NOT_OFFERED))
def test_a_button_is_offered_where_the_state_allows_it(admin_client: Client, button: str) -> None:
    """An old page of it says so, and changes nothing."""
    order = NOT_OFFERED[button]()
    assert address(order, button) not in page(admin_client, order)
    assert "is not possible any more" in press(admin_client, order, button, reason="x")
    assert not StaffAct.objects.exists()


def test_all_receivers_that_have_not_completed_run_now(client: Client, listen: Listening) -> None:
    """From the order's page: one that was given up, and one that waits for tomorrow and keeps its count."""
    order = rows.make_order()
    heard = [listen(checkout_paid, name=name) for name in ("letter", "goods")]
    rows.make_run(order, receiver="letter", state="failed", attempts=10, error="OSError")
    rows.make_run(order, receiver="goods", state="due", attempts=4, due_at=TOMORROW, finished_at=None)
    as_staff(client, "change_receiverrun")
    confirmation = client.get(address(order, "run")).content.decode()
    for words in ("letter (checkout_paid): failed, attempts: 10, last error: OSError", "attempts: 4"):
        assert words in confirmation
    runs = list(ReceiverRun.objects.values_list("pk", flat=True))
    html = press(client, order, "run", runs=runs)
    assert "This code of the shop runs again now: letter, goods." in html
    assert [len(each) for each in heard] == [1, 1]
    assert dict(ReceiverRun.objects.values_list("receiver", "attempts")) == {"letter": 1, "goods": 5}
    acts = StaffAct.objects.order_by("pk").values_list("act", "receiver")
    assert list(acts) == [("retry", "letter"), ("retry", "goods")]
    assert "code of the shop run again" in html and "by grace" in html


def test_only_the_chosen_receiver_runs(client: Client, listen: Listening) -> None:
    """And a form without any says that one is needed."""
    order = rows.make_order()
    listen(checkout_paid, name="letter")
    letter = rows.make_run(order, receiver="letter", state="failed")
    rows.make_run(order, receiver="goods", state="failed")
    as_staff(client, "change_receiverrun")
    assert "This field is required." in press(client, order, "run")
    press(client, order, "run", runs=[letter.pk])
    assert dict(ReceiverRun.objects.values_list("receiver", "state")) == {"letter": "done", "goods": "failed"}


def test_a_run_of_another_order_cannot_be_chosen(client: Client) -> None:
    """By a forged form."""
    order, other = (rows.make_run(rows.make_order(), state="failed") for _ in range(2))
    as_staff(client, "change_receiverrun")
    assert "Select a valid choice." in press(client, order.order, "run", runs=[other.pk])
    assert set(ReceiverRun.objects.values_list("state", flat=True)) == {"failed"}


def test_failed_attempts_stay_in_the_history(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """After the receiver was run again and has completed, the page shows where it had failed."""
    listen(checkout_paid, Failing(times=1), name="goods")
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    flows.run_due()
    run = ReceiverRun.objects.get()
    assert (run.state, run.attempts) == ("due", 1)
    html = press(admin_client, run.order, "run", runs=[run.pk])
    assert ReceiverRun.objects.get().attempts == 2
    assert "Failures of the shop&#x27;s code" in html and "2 attempts" in html


def test_a_notification_is_applied_after_a_preview(
    client: Client, checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """One that had failed, beside one that was applied and changes nothing."""

    def fail(order: object) -> Any:
        raise LookupError("canary-words")

    document = OrderDocumentFactory(id="order-1")
    checkout_deliver(notification("payment.success", document))
    hooks.resolve = staticmethod(fail)
    checkout_deliver(notification("payment.refund", {**document, "status": "refunded"}))
    hooks.resolve = staticmethod(lambda order: None)
    order, failed = Order.objects.get(), Notification.objects.exclude(state="applied").get()
    as_staff(client, "apply_notification")
    confirmation = client.get(address(order, "apply")).content.decode()
    assert "paid → refunded" in confirmation and "applied: nothing changes" in confirmation
    assert Order.objects.get().status == "processed"
    html = press(client, order, "apply", notification=failed.pk)
    assert "Applied. order" in html and "paid → refunded" in html
    assert Order.objects.get().status == "refunded"
    act = StaffAct.objects.get()
    assert (act.act, act.notification, act.order) == ("apply", failed, order)
    assert "notification applied" in html


def test_what_was_applied_changes_nothing_when_it_is_applied_again(
    client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """The message says so; no receiver runs a second time."""
    heard = listen(checkout_paid)
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    order = Order.objects.get()
    before = Order.objects.values().get(), Notification.objects.values("state", "failure").get()
    as_staff(client, "apply_notification")
    assert "Applied. Nothing changed." in press(
        client, order, "apply", notification=Notification.objects.get().pk
    )
    assert (Order.objects.values().get(), Notification.objects.values("state", "failure").get()) == before
    assert (len(heard), Transition.objects.count()) == (1, 1)


def test_what_was_applied_stays_applied_whatever_comes_of_it(client: Client) -> None:
    """A body that breaks a rule today: the message says why, and nothing is written."""
    order = rows.make_order()
    row = rows.make_notification(order.order_id)
    as_staff(client, "apply_notification")
    html = press(client, order, "apply", notification=row.pk)
    assert "Nothing changed: it could not be applied. breaks a rule: the notification has no id" in html
    row.refresh_from_db()
    assert (row.state, row.failure, StaffAct.objects.count()) == ("applied", "", 0)


def test_a_reversed_payment_is_restored_with_a_reason(
    client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """The confirmation says whom and how much; author, time and reason are in the timeline, once."""
    heard = listen(checkout_paid)
    document = order_document_for(CheckoutFactory())
    checkout_deliver(order=document)
    checkout_deliver(notification("payment.chargeback", {**document, "status": "chargeback"}))
    order = Order.objects.get()
    as_staff(client, "restore_payment")
    assert "Refunds and disputes" in client.get(address(order, "restore")).content.decode()
    assert "This field is required." in press(client, order, "restore", reason=" ")
    html = press(client, order, "restore", reason="dispute 7 won")
    assert "The payment is restored: charged back → paid." in html
    assert html.count("dispute 7 won") == 2 and "by grace" in html  # beside the verdict, and in the timeline
    assert (Order.objects.get().status, Checkout.objects.get().status, len(heard)) == ("processed", "paid", 2)
    act = StaffAct.objects.get()
    assert (act.act, act.order, act.reason) == ("restore", order, "dispute 7 won")


def test_goods_are_revoked_with_a_reason(
    client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """The page says so, with author and reason, and offers to accept the payment again."""
    heard, granted = listen(checkout_reversed), listen(checkout_paid)
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    order = Order.objects.get()
    as_staff(client, "revoke_payment", "accept_payment")
    assert "This field is required." in press(client, order, "revoke", reason=" ")
    html = press(client, order, "revoke", reason="sold the key on")
    assert "The goods are revoked. The money stays with the shop" in html
    assert html.count("sold the key on") == 2 and "by grace" in html
    assert address(order, "accept") in html and address(order, "revoke") not in html
    assert (Order.objects.get().status, Checkout.objects.get().status) == ("processed", "reversed")
    assert (len(granted), len(heard)) == (1, 1)


def test_goods_are_marked_as_granted_with_a_reason(client: Client) -> None:
    """The receiver counts as done; author and reason are in the timeline, once."""
    run = rows.make_granting_run(rows.make_order())
    staff = as_staff(client, "mark_granted")
    assert "This field is required." in press(client, run.order, "mark-granted", run=run.pk)
    html = press(client, run.order, "mark-granted", run=run.pk, reason="sent by post")
    assert "Marked as delivered by hand: shop.receivers.grant." in html
    assert ReceiverRun.objects.get().state == "done"
    assert "marked as granted by hand" in html and html.count("sent by post") == 1
    act = StaffAct.objects.get()
    assert act.staff == Transition.objects.get(act="mark_granted").staff == staff
    assert (act.act, act.order, act.receiver) == ("mark_granted", run.order, "shop.receivers.grant")


def test_a_note_is_in_the_timeline_with_its_author(client: Client) -> None:
    """And on top of the page, escaped; the page of the form asks for no personal data."""
    order = rows.make_order()
    as_staff(client, "add_note")
    assert "Do not write names" in client.get(address(order, "note")).content.decode()
    html = press(client, order, "note", text="called twice <b>about it</b>")
    assert "The note is in the timeline. Nothing else changed." in html
    assert html.count("called twice &lt;b&gt;about it&lt;/b&gt;") == 2 and "by grace" in html
    assert Transition.objects.get().act == "note"
    act = StaffAct.objects.get()
    assert (act.act, act.order, act.reason) == ("note", order, "")


@pytest.mark.parametrize("text", ["", " ", "x" * 1001])
def test_an_empty_or_endless_note_is_refused(admin_client: Client, text: str) -> None:
    """The form comes back."""
    order = rows.make_order()
    press(admin_client, order, "note", text=text)
    assert not Transition.objects.exists()


@pytest.mark.parametrize("screen", ["order", "checkoutuser"])
def test_a_customer_is_linked_to_an_account(client: Client, screen: str) -> None:
    """From the order's page and the customer's: found by name; the message says what it was before."""
    customer = rows.make_customer()
    row = rows.make_order(user=customer) if screen == "order" else customer
    robin, ada = User.objects.create_user("robin"), User.objects.create_user("ada@buyers.example")
    client.force_login(rows.make_staff("view_order", "view_checkoutuser", "link_account"))
    answers = {"screen": screen, "reason": "their receipt"}
    assert "There is no account with this login name" in press(
        client, row, "link-account", account="rob", **answers
    )
    assert "linked to the account robin." in press(client, row, "link-account", account="robin", **answers)
    again = press(client, row, "link-account", account="robin", **answers)
    assert "Nothing changed: the customer is linked to this account already" in again
    page_after = press(client, row, "link-account", account="ada@buyers.example", **answers)
    assert "linked to the account ada@buyers.example. It was robin." in page_after
    customer.refresh_from_db()
    assert customer.account == ada
    acts = StaffAct.objects.order_by("pk").values_list("act", "account", "reason")
    assert list(acts) == [("link", each.pk, "their receipt") for each in (robin, ada)]


def test_an_erased_customer_is_not_linked(admin_client: Client) -> None:
    """The button is gone, and the flow refuses what an old page sends."""
    customer = rows.make_customer()
    type(customer).objects.update(erased_at=rows.NOON)
    customer.refresh_from_db()
    assert not flows.operations.link_account(customer, User.objects.get())
    assert "is not possible any more" in press(
        admin_client, customer, "link-account", "checkoutuser", account="admin"
    )


FORM = "https://service.example/form/?token=canary"


@pytest.mark.parametrize(("status", "shown"), [("open", True), ("paid", False)])
def test_the_link_of_an_open_form_can_be_copied(client: Client, status: str, shown: bool) -> None:
    """From the pages of order and checkout, by those who may see personal data; without a script it is a field."""
    checkout = rows.make_checkout(payment_form_url=FORM, status=status)
    order = rows.make_order(checkout=checkout, status="created")
    pages = [page_address("order", order), page_address("checkout", checkout)]
    looks = ["view_order", "view_checkout"]
    client.force_login(rows.make_staff(*looks, "view_personal_data", name="sees"))
    field = f'<input type="text" readonly value="{FORM}" size="{len(FORM)}" '
    assert [field in client.get(each).content.decode() for each in pages] == [shown, shown]
    client.force_login(rows.make_staff(*looks, name="looks"))
    assert ["canary" in client.get(each).content.decode() for each in pages] == [False, False]


def test_the_page_of_an_order_has_no_inline_script(admin_client: Client) -> None:
    """A content policy of scripts from this host is enough."""
    html = page(admin_client, rows.make_order(checkout=rows.make_checkout(payment_form_url=FORM)))
    scripts = [part.partition(">") for part in html.split("<script")[1:]]
    assert scripts and all("src=" in head and body.startswith("</script>") for head, _, body in scripts)
    assert " onclick=" not in html and " style=" not in html


def test_checking_takes_one_click_and_says_that_nothing_changed(client: Client, settings: Any) -> None:
    """The page posts at once: a harmless read needs no confirmation."""
    order = rows.make_order()
    as_staff(client, "check_order")
    html = page(client, order)
    assert f'<form method="post" action="{address(order, "check")}">' in html


def test_lifting_a_block_names_only_payments_that_wait(admin_client: Client) -> None:
    """Where there are none, the message is one sentence."""
    customer = rows.make_customer()
    for waits in (False, True):
        type(customer).objects.update(blocked_at=rows.NOON)
        if waits:
            rows.make_order(user=customer, verdict="review", verdict_reason="blocked")
        html = press(admin_client, customer, "unblock", "checkoutuser", reason="a mistake")
        assert "The block is lifted." in html
        assert ("Payments that are in review for it wait for you." in html) == waits
