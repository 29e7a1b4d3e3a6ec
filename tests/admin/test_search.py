"""One search box for every kind of text that a support person is given."""

from __future__ import annotations

import pytest
from django.test import Client

from checkout_integration.models import OrderItem
from tests.admin import rows

pytestmark = pytest.mark.django_db
LIST = "/admin/checkout_integration/order/"


@pytest.fixture
def wanted() -> str:
    """One order that can be found in every way, and one that must not be found."""
    checkout = rows.make_checkout(reference="5a1e" * 8)
    order = rows.make_order(
        "order-AAA1",
        user=rows.make_customer("player-9"),
        checkout=checkout,
        transaction="bank-777",
        receipt_number="R-9001",
    )
    order.personal_data.__class__.objects.filter(order=order).update(
        email="grace@buyers.example", last4="1881"
    )
    OrderItem.objects.create(order=order, position=0, code="GAME-KEY-0001")
    rows.make_order("order-BBB2", user=rows.make_customer("player-1"))
    return order.order_id


def found(client: Client, text: str) -> set[str]:
    """The ids of the orders that a search lists."""
    response = client.get(LIST, {"q": text})
    assert response.status_code == 200
    return {order.order_id for order in response.context["cl"].result_list}


@pytest.mark.parametrize(
    "text",
    [
        "order-AAA1",
        "bank-777",
        "R-9001",
        "player-9",
        "5a1e" * 8,
        "GAME-KEY-0001",
        "grace@buyers.example",
        "Grace@Buyers.example",
        "1881",
        "  order-AAA1 ",
    ],
)
def test_search_finds_the_order_by_each_kind_of_text(admin_client: Client, wanted: str, text: str) -> None:
    """Order id, transaction, receipt, customer, checkout, activation code, e-mail or last four digits."""
    assert found(admin_client, text) == {wanted}


@pytest.mark.parametrize("text", ["order-AA", "bank-7", "R-900", "player-9", "5a1e5", "GAME-KEY", "grace@"])
def test_search_finds_the_order_by_how_a_text_begins(admin_client: Client, wanted: str, text: str) -> None:
    """What matches nothing exactly is looked up as a beginning."""
    assert found(admin_client, text) == {wanted}


def test_an_exact_match_is_not_drowned_in_prefixes(admin_client: Client, wanted: str) -> None:
    """Where the text is the id of one order, orders whose ids begin with it are not listed."""
    rows.make_order("order-AAA1-retry")
    assert found(admin_client, "order-AAA1") == {wanted}


@pytest.mark.parametrize("text", ["GAME-KEY", "grace@"])
def test_prefixes_of_masked_texts_are_not_searched(client: Client, wanted: str, text: str) -> None:
    """Whoever may not see a text cannot spell it out letter by letter either."""
    client.force_login(rows.make_staff("view_order"))
    assert found(client, text) == set()


def test_whoever_knows_the_whole_email_finds_the_order(client: Client, wanted: str) -> None:
    """A support person without personal data can still help the buyer who writes to them."""
    client.force_login(rows.make_staff("view_order"))
    assert found(client, "grace@buyers.example") == {wanted}


@pytest.mark.parametrize("text", ["%", "order%", "_____", "'; DROP TABLE", "\\", "x" * 5000])
def test_odd_texts_find_nothing(admin_client: Client, wanted: str, text: str) -> None:
    """Wildcards are letters here, and nothing breaks."""
    assert found(admin_client, text) == set()


def test_nothing_found_tells_what_can_be_searched(admin_client: Client, wanted: str) -> None:
    """An empty answer helps on."""
    assert "Nothing found. This box looks for" in admin_client.get(LIST, {"q": "nobody"}).content.decode()


def test_notifications_are_found_by_their_id_and_by_their_order(admin_client: Client) -> None:
    """The log is searched by notification id and object id."""
    notification = rows.make_notification("order-1")
    rows.make_notification("order-2")
    for text in (notification.notification_id, "order-1"):
        response = admin_client.get("/admin/checkout_integration/notification/", {"q": text})
        assert [row.pk for row in response.context["cl"].result_list] == [notification.pk]
