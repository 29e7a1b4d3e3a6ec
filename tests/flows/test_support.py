"""What staff may do with a delivery: only what has not done its work is run again."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.flows import ledger
from checkout_integration.models import Delivery, Order
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.admin.rows import make_delivery, make_order
from tests.flows.shop import Failing, Listening

pytestmark = pytest.mark.django_db


def test_what_is_waiting_is_not_run_again(checkout_deliver: Deliver, listen: Listening) -> None:
    """Only an ended delivery can be made due."""
    listen(checkout_paid, Failing())
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    flows.run_deliveries()
    assert not flows.run_again(Delivery.objects.get(), staff=User.objects.create_user("staff"))


def test_what_has_run_is_not_run_again(checkout_deliver: Deliver, listen: Listening) -> None:
    """It would grant twice."""
    heard = listen(checkout_paid)
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    flows.run_deliveries()
    assert not flows.run_again(Delivery.objects.get(), staff=User.objects.create_user("staff"))
    flows.run_deliveries()
    assert (len(heard), Delivery.objects.get().state) == (1, "done")


def test_running_again_says_who_asked_for_it(caplog: pytest.LogCaptureFixture) -> None:
    """By the account's key; its name is personal."""
    caplog.set_level("INFO", "checkout_integration.support")
    delivery = make_delivery(make_order(), state="parked")
    staff = User.objects.create_user("grace")
    assert flows.run_again(delivery, staff=staff)
    (said,) = caplog.messages
    assert f"Delivery {delivery.pk}" in said and f"account {staff.pk}" in said and "grace" not in said


def test_failure_leaves_the_callers_transaction_usable(
    checkout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asking the service inside a transaction, as with ATOMIC_REQUESTS: what failed is undone, and the page can be shown."""
    sale = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    checkout_sandbox.payments.pay(sale.order_id)
    monkeypatch.delattr(ledger, "_judge")
    with pytest.raises(NameError):
        flows.refresh_order(Order.objects.get())
    assert Order.objects.get().status == "created"
