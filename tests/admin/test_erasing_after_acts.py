"""A customer is erased after staff have done all that they can do: nothing of the customer is left anywhere."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from checkout_integration.models import CheckoutUser, Incident, Notification, Order, ReceiverRun
from checkout_integration.signals import checkout_paid, order_changed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory
from tests.support.admin import rows
from tests.support.admin.offered import buttons
from tests.support.admin.screens import page_address
from tests.support.customer import CANARIES, EXTERNAL_ID, NAME, live, order_of_customer
from tests.support.flows.shop import Listening, ShopHooks, notification
from tests.support.tables import columns_with

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
WORDS = f"{NAME} phoned: canary-note"
REASON = {"reason": WORDS}
FAILED = ("order-2", "order-by-button", "order-in-list")
OF_ALL = {("receiverrun", name) for name in ("pause", "resume", "retire")}
"""They are about code of the shop, whoever its customers are."""
NOT_PRESSED = {("order", "check"), ("order", "erase"), *OF_ALL}
"""The first calls the service and takes no words; the second does what that of the customer does."""


def fails(order: Order, **arguments: Any) -> None:
    """Raise an exception that names the customer."""
    raise ValueError(f"{NAME} has no wallet: {order.personal_data.email}")


def given_up(order: Order, signal: str) -> int:
    """Let a run of an order not be tried again; return its key."""
    run = ReceiverRun.objects.filter(message__order=order, message__signal=signal).earliest("pk")
    ReceiverRun.objects.filter(pk=run.pk).update(state="failed", finished_at=rows.NOON)
    return run.pk


class Desk:
    """Somebody who may do everything."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.pressed: set[tuple[str, str]] = set()

    def press(self, row: Model, button: str, **data: Any) -> None:
        """Press a button on the page of a row."""
        screen = str(row._meta.model_name)
        response = self.client.post(page_address(screen, row).replace("/change/", f"/{button}/"), data)
        list(response.streaming_content if response.streaming else [])  # type: ignore[attr-defined]
        assert response.status_code in (200, 302) and not response.context, "a page that asks again"
        self.pressed.add((screen, button))

    def select(self, screen: str, action: str, keys: list[int]) -> None:
        """Do something with rows of a list."""
        data = {"action": action, ACTION_CHECKBOX_NAME: keys, "index": "0", "confirmed": "yes"}
        assert self.client.post(f"/admin/checkout_integration/{screen}/", data).status_code == 302

    def look(self, address: str, **query: str) -> None:
        """Get a page or a file to its end."""
        response = self.client.get(address, query)
        list(response.streaming_content if response.streaming else [])  # type: ignore[attr-defined]
        response.close()


@pytest.fixture
def desk(
    checkout_deliver: Deliver, hooks: type[ShopHooks], listen: Listening, admin_client: Client
) -> Desk:  # in place of the one in a browser
    """Let a customer have bought here, while receivers fail."""
    listen(checkout_paid, fails, name="grant")
    listen(order_changed, fails, name="mail")
    live(checkout_deliver, hooks)
    for order_id in ("order-bound", "order-accepted"):
        checkout_deliver(notification(order=order_of_customer(order_id)))
    hooks.resolve = staticmethod(fails)
    for order_id in FAILED:
        checkout_deliver(notification(order=order_of_customer(order_id)))
    hooks.resolve = staticmethod(lambda order: None)
    return Desk(admin_client)


def test_nothing_is_left_of_a_customer_after_acts_of_every_kind(
    desk: Desk, checkout_deliver: Deliver
) -> None:
    """Staff write the name wherever they can write, and search for it; receivers fail with it. No cell has it afterwards."""
    ids = ("order-1", "order-2", "order-nameless", "order-bound", "order-accepted")
    first, disputed, paid, bound, accepted = (Order.objects.get(order_id=each) for each in ids)
    customer = CheckoutUser.objects.get(external_id=EXTERNAL_ID)
    accounts = [User.objects.create_user(name).username for name in ("shop-account", "another-account")]
    of_order, of_button, of_list = (
        Notification.objects.get(object_id=each, state="failed") for each in FAILED
    )
    desk.press(first, "note", text=WORDS)
    desk.press(bound, "bind", reference=CheckoutFactory().reference, **REASON)
    desk.press(bound, "revoke", **REASON)
    desk.press(accepted, "accept", **REASON)
    checkout_deliver(notification("payment.refund", order_of_customer("order-accepted", status="refunded")))
    desk.press(accepted, "restore", **REASON)
    desk.press(paid, "run", runs=[given_up(paid, checkout_paid.name)], **REASON)
    desk.press(paid, "mark-granted", run=given_up(paid, checkout_paid.name), **REASON)
    desk.press(ReceiverRun.objects.get(pk=given_up(paid, order_changed.name)), "run-again")
    desk.press(first, "link-account", account=accounts[0], **REASON)
    desk.press(first, "unlink-account", **REASON)
    desk.press(customer, "link-account", account=accounts[1], **REASON)
    desk.press(customer, "unlink-account", **REASON)
    desk.press(customer, "link-account", account=accounts[1], **REASON)
    claimed = CheckoutFactory(claimed_at=timezone.now(), paid_order=paid)
    desk.press(claimed, "undo-claim", **REASON)
    desk.press(disputed, "block", **REASON)
    desk.press(customer, "unblock", **REASON)
    desk.press(customer, "block", **REASON)
    desk.press(disputed, "unblock", **REASON)
    desk.press(customer, "block", **REASON)
    desk.press(disputed, "apply", notification=of_order.pk)
    desk.press(of_button, "apply")
    desk.press(first, "export", **REASON)
    desk.press(customer, "export", **REASON)
    for incident in Incident.objects.filter(resolved_at=None):
        desk.press(incident, "resolve")
    desk.select("order", "run_selected", list(Order.objects.values_list("pk", flat=True)))
    desk.select("notification", "apply_selected", [of_list.pk])
    for screen in ("order", "checkoutuser", "notification", "validationdecision", "receiverrun"):
        for page in ("", "csv/"):
            for text in CANARIES:
                desk.look(f"/admin/checkout_integration/{screen}/{page}", q=text)
    desk.look(page_address("order", first).replace("/change/", "/evidence/"))
    words = {"checkout_integration_staffact.reason", "checkout_integration_transition.reason"}
    assert words <= columns_with(CANARIES)
    desk.press(customer, "erase", reason="request 4711")
    assert set(buttons()) - desk.pressed == NOT_PRESSED
    assert columns_with(CANARIES) == set()
    sessions = [str(session.get_decoded()) for session in Session.objects.all()]
    assert sessions and [word for word in CANARIES if word in "".join(sessions)] == []
