"""The worked examples of what a shop calls, and of what staff call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils.timezone import now

from checkout_integration import flows
from checkout_integration.models import Checkout, Order, Receiver, ReceiverRun
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.reference.test_examples import executed
from tests.support.documents import block
from tests.support.flows.aged import RETENTION, prune_after
from tests.support.flows.shop import make_due


@pytest.fixture
def support() -> Any:
    """The module of the page for staff."""
    return executed("operations", block("docs/reference/operations.md", "# shop/support.py"))


@pytest.fixture
def staff(db: None) -> User:
    """A member of staff."""
    return User.objects.create_user("grace")


@pytest.fixture
def failing() -> Iterator[str]:
    """Connect a receiver that fails; gives its name."""
    checkout_paid.connect(_fail, dispatch_uid="shop.fail")
    yield "shop.fail"
    assert checkout_paid.disconnect(dispatch_uid="shop.fail")


def _fail(**kwargs: Any) -> None:
    raise ConnectionError


@pytest.mark.django_db(transaction=True)
def test_the_shop_of_the_page_sells_and_looks_again(checkout_sandbox: Any, live_server: Any) -> None:
    """By an order and by a token."""
    shop = executed("flows", block("docs/reference/flows.md", "# shop/selling.py"))
    for sell in (shop.sell_hat, shop.sell_by_token):
        checkout: Checkout = sell()
        assert checkout.payment_form_url
        checkout_sandbox.pay(checkout.order_id)
        assert shop.look_again(checkout) == "paid: 0 receivers ran, 0 failed"


@pytest.mark.django_db
def test_staff_of_the_page_end_a_removed_receiver(support: Any, staff: User, failing: str) -> None:
    """Nothing happens to a receiver that is connected here, or that there never was."""
    assert [support.end_removed_receiver(name, staff) for name in (failing, "shop.never")] == [0, 0]


@pytest.mark.django_db
def test_staff_of_the_page_pause_a_receiver(support: Any, staff: User, failing: str) -> None:
    """One that no process has had cannot be."""
    Receiver.objects.create(
        signal="checkout_paid", name=failing, names=[failing], first_seen=now(), last_seen=now()
    )
    paused, never = (support.stop_granting(name, staff) for name in (failing, "shop.never"))
    assert paused.startswith("the game is down: ") and never is None
    assert support.what_is_paused() == [failing]
    assert [support.go_on_granting(name, staff) for name in (failing, "shop.never")] == [0, 0]
    assert flows.operations.pause_of(failing) is None


def test_staff_of_the_page_decide_about_payments(support: Any, staff: User) -> None:
    """One from before the installation, one without a checkout, one that was reversed."""
    Order.objects.filter(pk=OrderFactory.create().pk).update(
        verdict="review", verdict_reason="before_installation"
    )
    assert len(support.accept_sold_before(staff)) == 1
    order = OrderFactory.create()
    assert "verified" in support.bind_to_what_was_sold(order, staff)
    lost = OrderFactory.create(checkout=CheckoutFactory.create(), status="chargeback")
    support.win_dispute(lost, staff)
    assert Order.objects.get(pk=lost.pk).status == "processed"


def test_staff_of_the_page_help_receivers(support: Any, staff: User, failing: str) -> None:
    """One that fails, and one that was connected later."""
    OrderFactory.create(checkout=CheckoutFactory.create())
    flows.run_due()
    run = ReceiverRun.objects.get()
    ReceiverRun.objects.update(state=ReceiverRun.State.FAILED)
    assert support.catch_up(failing) == 1
    ReceiverRun.objects.update(state=ReceiverRun.State.FAILED)
    assert support.help_receiver(run, staff)
    make_due()
    assert support.is_healthy()


@pytest.mark.django_db
def test_the_page_applies_what_failed(support: Any, checkout_deliver: Deliver) -> None:
    """A notification from the future is quarantined, and stays so."""
    checkout_deliver(
        b'{"id":"1","type":"notification","event":"payment.success","object":{"object":"order"}}'
    )
    assert len(support.apply_what_failed()) == 2


@pytest.mark.django_db(transaction=True)
def test_the_page_repairs_and_lists(support: Any, checkout_sandbox: Any) -> None:
    """A pass of the sync."""
    assert support.repair() == "complete"
    assert support.list_of_service("/api/v1/orders") == []


@pytest.mark.django_db
def test_the_page_forgets_a_customer(support: Any) -> None:
    """By the shop's own id."""
    OrderFactory.create(checkout=CheckoutFactory.create(user=User.objects.create_user("ada", pk=4711)))
    exported = support.hand_over("4711", User.objects.get())
    assert json.loads(exported)["projects"][0]["orders"]
    assert support.forget("4711") == 1


@pytest.mark.django_db
def test_the_page_prunes(support: Any, settings: Any) -> None:
    """What RETENTION names."""
    prune_after(settings)
    assert set(support.prune()) == set(RETENTION)
