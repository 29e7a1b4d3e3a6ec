"""One search box for every kind of text that a support person is given."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from checkout_integration.models import CheckoutUser, Order, OrderItem, PersonalData
from tests.support.admin import rows
from tests.support.admin.screens import SCREENS

pytestmark = pytest.mark.django_db
LIST = "/admin/checkout_integration/order/"


@pytest.fixture
def searched() -> str:
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
    rows.make_refund(order, document_id="refund-77")
    rows.make_order("order-BBB2", user=rows.make_customer("player-1"))
    return order.order_id


def found(client: Client, text: str) -> set[str]:
    """The ids of the orders that a search lists."""
    response = client.get(LIST, {"q": text})
    assert response.status_code == 200
    return {order.order_id for order in response.context["cl"].result_list}


@pytest.mark.spec("ORD-01", "ORD-02", "ORD-12", "ORD-14", "ITM-07", "MTH-07", "USR-03")
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
        "refund-77",
        "  order-AAA1 ",
    ],
)
def test_search_finds_the_order_by_each_kind_of_text(admin_client: Client, searched: str, text: str) -> None:
    """Order id, transaction, receipt, customer, checkout, activation code, e-mail or last four digits."""
    assert found(admin_client, text) == {searched}


@pytest.mark.spec("ORD-01", "ORD-02", "ORD-12", "ORD-14", "ITM-07")
@pytest.mark.parametrize("text", ["order-AA", "bank-7", "R-900", "player-9", "5a1e5", "GAME-KEY", "grace@"])
def test_search_finds_the_order_by_how_a_text_begins(admin_client: Client, searched: str, text: str) -> None:
    """A text without an exact match is searched as a prefix."""
    assert found(admin_client, text) == {searched}


@pytest.mark.parametrize("sorted_by", ["", "&o=8", "&o=-8"])
def test_an_exact_match_comes_first_and_hides_no_other(
    admin_client: Client, searched: str, sorted_by: str
) -> None:
    """Of a customer's id too: nobody knows whether "player-9" was all of it."""
    others = [
        rows.make_order("order-AAA1-retry", user=rows.make_customer("player-90")).order_id,
        rows.make_order(user=rows.make_customer("player-91")).order_id,
    ]
    for text, more in (("player-9", others), (searched, others[:1])):
        listed = admin_client.get(f"{LIST}?q={text}{sorted_by}").context["cl"].result_list
        first, *rest = [order.order_id for order in listed]
        assert (first, set(rest)) == (searched, set(more))


@pytest.mark.spec("ORD-01", "ORD-02", "ORD-14", "ORD-15")
@pytest.mark.parametrize(
    "text",
    [
        "https://service.example/receipt/order-AAA1/7a3c-99",
        "https://service.example/receipts?number=R-9001&lang=en",
        "TXN bank-777",
        "txn: bank-777",
        "TXN #bank-777",
    ],
)
def test_what_a_customer_pastes_is_understood(admin_client: Client, searched: str, text: str) -> None:
    """The address of a receipt, and the transaction as receipts and banks write it."""
    assert found(admin_client, text) == {searched}


def test_a_pasted_address_does_not_find_by_its_beginning(admin_client: Client, searched: str) -> None:
    """Nor by parts that are too short, nor by its host."""
    rows.make_order("receipt")
    rows.make_order("service.example")
    assert found(admin_client, "https://service.example/r/order-AA/x") == set()


@pytest.mark.parametrize(
    "text", ["GAME-KEY", "grace@", "grace@buyers.example", "1881", "GAME-KEY-0001", "Grace@Buyers.example"]
)
def test_masked_texts_are_not_searched(client: Client, searched: str, text: str) -> None:
    """Staff without the permission for a text cannot guess it, neither by prefixes nor as a whole."""
    client.force_login(rows.make_staff("view_order"))
    assert found(client, text) == set()


def test_the_box_says_what_this_viewer_may_search_for(client: Client, searched: str) -> None:
    """An empty result names the missing permission."""
    client.force_login(rows.make_staff("view_order"))
    page = client.get(LIST, {"q": "nobody"}).content.decode()
    assert page.count("only with the permission “Can see personal data of customers”") == 2
    client.force_login(rows.make_staff("view_order", "view_personal_data", name="sees"))
    assert "last four digits" in client.get(LIST, {"q": "nobody"}).content.decode()


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("text", ["grace@buyers.example", "1881", "GAME-KEY-0001"])
def test_no_screen_finds_rows_by_personal_data(client: Client, searched: str, screen: str, text: str) -> None:
    """The other boxes know ids only, whatever the viewer may see."""
    order = Order.objects.get(order_id=searched)
    checkout = order.checkout
    rows.make_refund(order, document={"user": {"email": "grace@buyers.example"}})
    rows.make_run(order)
    rows.make_incident(order)
    rows.make_decision(user=order.user, notification=rows.make_notification(searched))
    rows.make_sync_run()
    assert checkout is not None
    client.force_login(rows.make_staff(f"view_{screen}"))
    response = client.get(f"/admin/checkout_integration/{screen}/", {"q": text})
    has_box = admin.site._registry[apps.get_model("checkout_integration", screen)].search_fields
    assert not has_box or list(response.context["cl"].result_list) == []


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("1881 2026-03-04", True),
        ("1881 04.03.2026", True),
        ("2026-03-04 1881 9,99 usd", True),
        ("2026-03-04 9.99", True),
        ("1881 9.99 USD", True),
        ("1881 2026-03-05", False),
        ("1882 2026-03-04", False),
        ("1881 9.98", False),
        ("1881 9.99 EUR", False),
        ("9.99 USD", False),  # half of a shop's payments
        ("1881 grace", False),
        ("1881 1881", False),
        ("1881 2026-02-31", False),
        ("1881 9999-12-31", False),
        ("1881 0001-01-01", False),
    ],
)
def test_a_payment_is_found_by_what_a_customer_knows(
    admin_client: Client, client: Client, searched: str, text: str, is_found: bool
) -> None:
    """The card's last digits, the day, the amount: each must be so. Only for those who may see personal data."""
    Order.objects.exclude(order_id=searched).update(created_at=datetime(2020, 1, 1, tzinfo=UTC))
    assert found(admin_client, text) == ({searched} if is_found else set())
    client.force_login(rows.make_staff("view_order", name="masked"))
    assert found(client, text) == set()


@pytest.mark.parametrize("text", ["%", "order%", "_____", "'; DROP TABLE", "\\", "x" * 5000])
def test_odd_texts_find_nothing(admin_client: Client, searched: str, text: str) -> None:
    """Wildcards are letters here, and nothing breaks."""
    assert found(admin_client, text) == set()


def test_nothing_found_tells_what_can_be_searched(admin_client: Client, searched: str) -> None:
    """An empty result names the searchable fields."""
    assert "Nothing found. You can search for" in admin_client.get(LIST, {"q": "nobody"}).content.decode()


@pytest.mark.spec("WHK-01", "ORD-01")
def test_notifications_are_found_by_their_id_and_by_their_order(admin_client: Client) -> None:
    """The log is searched by notification id and object id."""
    notification = rows.make_notification("order-1")
    rows.make_notification("order-2")
    for text in (notification.notification_id, "order-1"):
        response = admin_client.get("/admin/checkout_integration/notification/", {"q": text})
        assert [row.pk for row in response.context["cl"].result_list] == [notification.pk]


@pytest.mark.spec("EVT-07", "USR-03")
def test_decisions_about_customers_without_a_row_are_found(admin_client: Client) -> None:
    """A refused customer without an order may ask for the reason."""
    decision = rows.make_decision(external_id="player-77")
    response = admin_client.get("/admin/checkout_integration/validationdecision/", {"q": "player-77"})
    assert [row.pk for row in response.context["cl"].result_list] == [decision.pk]


def test_the_log_of_notifications_is_sorted_by_time(admin_client: Client) -> None:
    """Newest first; their keys are hashes, which say nothing of time."""
    keys = []
    for minutes, key in ((1, "b"), (3, "a"), (2, "c")):
        at = rows.NOON + timedelta(minutes=minutes)
        rows.make_notification("order-1", key=key * 32, received_at=at)
        keys.append((at, key * 32))
    response = admin_client.get("/admin/checkout_integration/notification/")
    newest_first = [key for _, key in sorted(keys, reverse=True)]
    assert [row.key for row in response.context["cl"].result_list] == newest_first


CUSTOMERS = "/admin/checkout_integration/checkoutuser/"


def customers(client: Client, text: str) -> set[str]:
    """Return the shop's ids of the customers that a search lists."""
    response = client.get(CUSTOMERS, {"q": text})
    assert response.status_code == 200
    return {customer.external_id for customer in response.context["cl"].result_list}


@pytest.mark.spec("USR-03", "USR-05")
@pytest.mark.parametrize("text", ["player-9", "grace@buyers.example", " Grace@Buyers.example "])
def test_a_customer_is_found_by_id_and_by_email(admin_client: Client, searched: str, text: str) -> None:
    """The address is that of one of their orders; a customer with many orders is listed once."""
    order = rows.make_order("order-AAA2", user=CheckoutUser.objects.get(external_id="player-9"))
    PersonalData.objects.filter(order=order).update(email="grace@buyers.example")
    assert customers(admin_client, text) == {"player-9"}


def test_a_customer_whose_id_is_an_address_is_found_without_the_permission(client: Client) -> None:
    """Many shops use addresses as ids: an id is shown to all who may see customers."""
    rows.make_customer("grace@buyers.example")
    client.force_login(rows.make_staff("view_checkoutuser"))
    assert customers(client, "grace@buyers.example") == {"grace@buyers.example"}


def test_masked_addresses_find_no_customer(client: Client, searched: str) -> None:
    """Each hit would confirm a guess."""
    client.force_login(rows.make_staff("view_checkoutuser"))
    assert customers(client, "grace@buyers.example") == set()
    client.force_login(rows.make_staff("view_checkoutuser", "view_personal_data", name="sees"))
    assert customers(client, "grace@buyers.example") == {"player-9"}


@pytest.mark.parametrize(
    "text",
    [
        *(
            "4242 2026-11-27 1500 JPY",
            "27.11.2026 1500 JPY",
            "JPY 1500 27.11.2026",
            "4242 1500",
            "4242 1.500 JPY",
        ),
        *("4242 1500 JPY", "4242 JPY 1,500", "4242 JPY"),
    ],
)
def test_four_digits_are_an_amount_or_a_card(admin_client: Client, text: str) -> None:
    """An amount beside its currency, or after the card; as the desk writes it, too."""
    day = datetime(2026, 11, 27, 12, tzinfo=UTC)
    order = rows.make_order("yen", amount=1500, currency="JPY", created_at=day)
    rows.make_order("another", amount=Decimal("9.99"), created_at=day)
    assert found(admin_client, text) == {order.order_id}


def test_an_address_is_looked_up_by_its_index(admin_client: Client, searched: str) -> None:
    """One statement more than the list, and no OR over several tables."""
    with CaptureQueriesContext(connection) as captured:
        customers(admin_client, "grace@buyers.example")
    (sql, *_) = [each["sql"] for each in captured if "checkout_integration_personaldata" in each["sql"]]
    assert "UNION" in sql and "LIKE" not in sql


def test_a_search_joins_no_account(admin_client: Client, searched: str) -> None:
    """PostgreSQL would expect as many checkouts as an account has on average, and read all of them."""
    with CaptureQueriesContext(connection) as captured:
        admin_client.get(LIST, {"q": "nobody"})
    searches = [query["sql"] for query in captured.captured_queries if "UNION" in query["sql"]]
    assert searches
    assert [sql for sql in searches if "auth_user" in sql] == []


def test_found_rows_are_read_by_their_keys(admin_client: Client, searched: str) -> None:
    """A union within the statement of the list could be joined by reading all orders."""
    with CaptureQueriesContext(connection) as captured:
        admin_client.get(LIST, {"q": searched})
    lists = [query["sql"] for query in captured.captured_queries if "ORDER BY" in query["sql"]]
    assert lists
    assert [sql for sql in lists if "UNION" in sql] == []
