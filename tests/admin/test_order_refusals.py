"""What the buttons of an order refuse, and what the page bears: erased customers, projects that are gone, no time zones."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from checkout_integration import flows
from checkout_integration.models import Order, ReceiverRun, StaffAct, Transition
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.admin.test_order_buttons import address, page, press
from tests.support.admin import rows
from tests.support.flows.shop import Listening, notification

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_payment_in_review_is_not_restored(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """Its goods were never granted: to grant them now would be to accept it, which is another permission."""
    heard = listen(checkout_paid)
    document = order_document_for(CheckoutFactory(), amount=Decimal("0.01"))
    checkout_deliver(order=document)
    checkout_deliver(notification("payment.refund", {**document, "status": "refunded", "refunded": True}))
    order = Order.objects.get()
    assert order.verdict == "review"
    assert address(order, "restore") not in page(admin_client, order)
    assert "is not possible any more" in press(admin_client, order, "restore", reason="x")
    assert (Order.objects.get().status, heard) == ("refunded", [])


def test_no_note_is_written_once_the_customer_is_erased(admin_client: Client) -> None:
    """Nobody would erase it."""
    order = rows.make_order()
    press(admin_client, order, "erase", reason="request 4711")
    assert address(order, "note") not in page(admin_client, order)
    with pytest.raises(ValueError, match="was erased"):
        flows.operations.add_note(order, staff=User.objects.get(), text="Ada called")
    assert not Transition.objects.filter(act="note").exists()


def test_the_timeline_needs_no_time_zones(admin_client: Client, settings: Any) -> None:
    """Without USE_TZ the times of this app are aware all the same."""
    settings.USE_TZ, settings.TIME_ZONE = False, "America/New_York"
    order = rows.make_order()
    rows.make_granting_run(order)
    press(admin_client, order, "note", text="a note")
    press(admin_client, order, "run", runs=list(ReceiverRun.objects.values_list("pk", flat=True)))
    assert "code of the shop run again" in page(admin_client, order)


@pytest.mark.parametrize("button", ["check", "accept"])
def test_a_project_that_is_gone_is_a_message(admin_client: Client, button: str) -> None:
    """The settings have no longer the project of the order."""
    order = rows.make_order(verdict="review")
    Order.objects.update(project="old")
    assert "Nothing changed. " in press(admin_client, order, button, reason="x")
    assert not StaffAct.objects.exists()
