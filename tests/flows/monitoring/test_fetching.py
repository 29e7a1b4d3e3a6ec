"""Goods for game servers: health says when none of them fetches any more, and not that a customer stays away."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from checkout_integration.flows import claim, operations, run_due
from checkout_integration.models import Checkout, Grant, Order
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.flows.shop import Listening, notification

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _fetched(settings: Any) -> None:
    """Let game servers fetch what is paid."""
    setting = settings.CHECKOUT_INTEGRATION
    own = {**setting["PROJECTS"]["default"], "OWNERSHIP_TOKENS": ["a-token-of-our-servers"]}
    settings.CHECKOUT_INTEGRATION = {**setting, "GOODS": "pull", "PROJECTS": {"default": own}}


def paid(hours: float, acknowledged: float | None = None, *, by_guest: bool = False) -> None:
    """Let something have been paid so many hours ago, and acknowledged so many hours ago."""
    buyer = None if by_guest else User.objects.get_or_create(username="ada")[0]
    order = OrderFactory(checkout=CheckoutFactory(user=buyer))
    now = datetime.now(UTC)
    at = None if acknowledged is None else now - acknowledged * HOUR
    Grant.objects.filter(order=order).update(opened_at=now - hours * HOUR, acknowledged_at=at)


def severity() -> str:
    """How bad it is."""
    (finding,) = [each for each in operations.health().findings if each.name == "not_fetched"]
    return finding.severity.value


@pytest.mark.parametrize(
    ("grants", "expected"),
    [
        ([], "ok"),
        ([(0.5, None)] * 5, "ok"),
        ([(2, None)] * 2, "ok"),
        ([(2, None)] * 3, "failing"),
        ([(25, None)], "warning"),
        ([(200, None)] * 9 + [(3, 1)], "ok"),
        ([(30, 29), (28, None)], "warning"),
        ([(30, 29)] + [(5, None)] * 3, "failing"),
    ],
)
def test_it_is_judged_by_what_came_since_the_last_acknowledgement(
    grants: list[tuple[float, float | None]], expected: str
) -> None:
    """Three in a row, or one for a day; not those of customers who stay away while others come."""
    for hours, acknowledged in grants:
        paid(hours, acknowledged)
    assert severity() == expected


def test_what_was_reversed_waits_for_nobody() -> None:
    """The goods are not to be delivered any more."""
    for _ in range(3):
        paid(2)
    Grant.objects.update(state="closed")
    assert severity() == "ok"


def test_what_a_guest_has_not_claimed_is_not_to_be_fetched(admin_client: Client) -> None:
    """No server can ask for it; once it is claimed, it is."""
    for _ in range(3):
        paid(50, by_guest=True)
    assert severity() == "ok"
    assert [each for each in operations.staff_queues() if each.name == "undelivered" and each.count] == []
    order = Order.objects.latest("pk")
    page = admin_client.get(f"/admin/checkout_integration/order/{order.pk}/change/").content.decode()
    assert "The goods wait until the guest adds the purchase to an account." in page
    for checkout in Checkout.objects.all():
        assert claim(checkout, User.objects.get_or_create(username="ben")[0])
    assert severity() == "failing"


def test_staff_have_a_queue_of_what_nobody_fetched(settings: Any) -> None:
    """For more than a day; in the list of orders by the same name."""
    paid(2)
    paid(25)
    (queue,) = [each for each in operations.staff_queues() if each.name == "undelivered"]
    assert (queue.count, str(queue.label)) == (
        1,
        "paid, and no game server has fetched it for more than a day",
    )


def test_a_shop_without_game_servers_has_no_such_finding(settings: Any) -> None:
    """Nor one that asks owns(), and lets nobody fetch."""
    setting = settings.CHECKOUT_INTEGRATION
    own = {**setting["PROJECTS"]["default"], "OWNERSHIP_TOKENS": []}
    settings.CHECKOUT_INTEGRATION = {**setting, "PROJECTS": {"default": own}}
    assert "not_fetched" not in {each.name for each in operations.health().findings}
    paid(50)
    assert Grant.objects.get().pull is False


def test_the_page_says_who_has_the_goods(
    admin_client: Client, listen: Listening, checkout_deliver: Deliver
) -> None:
    """The game server that acknowledged them, whatever code of the shop ran, such as a letter; without it nobody has them."""

    def page(order: Order) -> str:
        html = admin_client.get(f"/admin/checkout_integration/order/{order.pk}/change/").content.decode()
        return re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", html)).partition("Timeline")[0]

    listen(checkout_paid, name="shop.letter")
    paid(0)
    order = Order.objects.get()
    run_due()
    before = page(order)
    assert "The goods wait for a game server." in before and "waits for a game server" in before
    assert "shop.letter – done" in before and "✓ granted" not in before
    at = datetime(2026, 3, 4, 12, tzinfo=UTC)
    Grant.objects.update(acknowledged_at=at)
    delivered = page(order)
    assert (
        re.search("Delivered *2026-03-04 12:00:00", delivered) and "a game server – acknowledged" in delivered
    )
    Grant.objects.update(acknowledged_at=None)
    refunded = {**order.whole_document, "status": "refunded", "refunded": True}
    checkout_deliver(notification("payment.refund", refunded))
    after = page(order)
    assert "No game server has acknowledged it." in after and "Nothing to do." in after
    assert "by hand" not in after and "✓ granted" not in after
