"""Checkout and verdict once more: by the rules, by acts of staff, by the shop's hook, and by settings that have changed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.flows.rebuild import Gap
from checkout_integration.models import Checkout, Order, Transition
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.flows.operations.test_binding import unbound
from tests.support.flows.rebuilt import different, rebuilt, tear_out, undone
from tests.support.flows.shop import ShopHooks, record_listed

pytestmark = pytest.mark.django_db


def accept(order: Order, staff: User) -> None:
    """Accept the payment."""
    flows.operations.accept_payment(order, staff=staff, reason="seen")


def bind(order: Order, staff: User) -> None:
    """Bind it to a checkout that it does not name."""
    flows.operations.bind_order(order, to=CheckoutFactory(), staff=staff, reason="seen")


def restore(order: Order, staff: User) -> None:
    """Charge it back, and restore the payment."""
    record_listed([{**order.document, "status": "chargeback"}], at=timezone.now() + timedelta(hours=1))
    flows.operations.restore_payment(order, staff=staff, reason="won")


@pytest.mark.parametrize("act", [accept, bind, restore])
def test_decisions_of_staff_are_evidence(checkout_deliver: Deliver, act: Callable[..., None]) -> None:
    """A verdict without its act is not."""
    order = unbound(checkout_deliver)
    act(order, User.objects.create_user("grace"))
    assert rebuilt().is_proven
    if act is not bind:
        with undone():
            tear_out(*Transition.objects.exclude(act=""))
            assert different()["verdict"] == ("accepted", "review")


def test_a_verdict_without_its_decision_is_reported(checkout_deliver: Deliver) -> None:
    """Somebody wrote that staff accepted the payment; nobody did."""
    order = unbound(checkout_deliver)
    Order.objects.filter(pk=order.pk).update(verdict="accepted", verdict_reason="by_staff")
    assert different() == {"verdict": ("accepted", "review"), "verdict_reason": ("by_staff", "unbound")}


def test_a_decision_without_its_verdict_is_reported(checkout_deliver: Deliver) -> None:
    """Staff accepted the payment; somebody wrote that it is in review."""
    order = unbound(checkout_deliver)
    accept(order, User.objects.create_user("grace"))
    Order.objects.filter(pk=order.pk).update(verdict="review", verdict_reason="unbound")
    assert different() == {"verdict": ("review", "accepted"), "verdict_reason": ("unbound", "by_staff")}


@pytest.mark.parametrize(("name", "value"), [("UNBOUND_ORDERS", "accept"), ("ACCEPT_TEST_PAYMENTS", False)])
def test_a_setting_that_has_changed_since_is_no_difference(
    checkout_deliver: Deliver, settings: Any, name: str, value: object
) -> None:
    """The verdict of an order without a checkout stands, and cannot be proven."""
    unbound(checkout_deliver)
    assert rebuilt().is_proven
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, name: value}
    found = rebuilt()
    assert not found.differences and found.gaps == {Gap.SETTINGS}


def test_what_a_setting_accepted_stays_accepted(checkout_deliver: Deliver) -> None:
    """Though the setting is off by now; nothing else shows that it was on."""
    unbound(checkout_deliver)
    Order.objects.update(verdict="accepted", verdict_reason="by_setting")
    found = rebuilt()
    assert not found.differences and found.gaps == {Gap.SETTINGS}


def test_what_the_hook_bound_is_no_difference(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """Its results are not stored."""
    checkout = CheckoutFactory()
    hooks.resolve = staticmethod(lambda order: checkout)
    checkout_deliver(order=OrderDocumentFactory(metadata={}, type="simple", amount="9.99"))
    assert Order.objects.get().checkout == checkout
    Checkout.objects.update(order_id="another")
    assert rebuilt().is_proven
