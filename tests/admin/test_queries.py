"""The number of SQL statements does not grow with the number of rows."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from checkout_integration.models import CheckoutUser
from tests.support.admin import rows
from tests.support.admin.screens import SCREENS, make_row, page_address

pytestmark = pytest.mark.django_db
MOST_FOR_A_LIST = 6
MOST_FOR_AN_ORDER = 17


def statements(client: Client, address: str) -> int:
    """How many statements a page costs, the first visit's content types not counted."""
    client.get(address)
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


@pytest.mark.parametrize("screen", SCREENS)
def test_a_list_costs_the_same_for_any_number_of_rows(admin_client: Client, screen: str) -> None:
    """No statement per row, and no count of a whole table."""
    make_row(screen)
    few = statements(admin_client, f"/admin/checkout_integration/{screen}/")
    for _ in range(4):
        make_row(screen)
    many = statements(admin_client, f"/admin/checkout_integration/{screen}/")
    assert many == few <= MOST_FOR_A_LIST


def test_a_filter_that_finds_nothing_looks_once(admin_client: Client) -> None:
    """Django reads a list of one page with all conditions a second time: of a large shop each look may cost as much."""
    rows.make_order()
    address = "/admin/checkout_integration/order/?status=chargeback"
    admin_client.get(address)
    with CaptureQueriesContext(connection) as captured:
        assert "0 orders" in admin_client.get(address).content.decode()
    looks = [each["sql"] for each in captured if "'chargeback'" in each["sql"]]
    assert len(looks) == 1, looks


def test_an_orders_page_costs_the_same_for_any_history(admin_client: Client) -> None:
    """Each part of the timeline is one statement."""
    order = rows.make_order(checkout=rows.make_checkout(), user=rows.make_customer())
    rows.make_history(order)
    few = statements(admin_client, page_address("order", order))
    for _ in range(3):
        rows.make_notification(order.order_id)
        rows.make_run(order)
        rows.make_incident(order)
        rows.make_refund(order)
    many = statements(admin_client, page_address("order", order))
    assert many == few <= MOST_FOR_AN_ORDER


def test_a_customers_page_costs_the_same_for_any_number_of_orders(admin_client: Client) -> None:
    """The orders of a customer are one statement."""
    customer = rows.make_customer()
    rows.make_order(user=customer)
    few = statements(admin_client, page_address("checkoutuser", customer))
    for _ in range(3):
        rows.make_order(user=customer)
    assert statements(admin_client, page_address("checkoutuser", customer)) == few


def test_lists_do_not_read_documents(admin_client: Client) -> None:
    """The large columns stay in the database."""
    rows.make_order(checkout=rows.make_checkout())
    with CaptureQueriesContext(connection) as captured:
        page = admin_client.get("/admin/checkout_integration/order/")
    (order,) = page.context["cl"].result_list
    assert "document" in order.get_deferred_fields()
    assert [
        each["sql"] for each in captured if '"document"' in each["sql"] or "`document`" in each["sql"]
    ] == []


def test_a_page_of_a_list_is_read_by_its_keys(admin_client: Client) -> None:
    """In the sequence of the list: no relation is read of rows on other pages."""
    customers = [rows.make_customer(f"player-{number:02}") for number in range(120)]
    with CaptureQueriesContext(connection) as captured:
        page = admin_client.get("/admin/checkout_integration/checkoutuser/?p=2")
    assert list(page.context["cl"].result_list) == customers[-51:-101:-1]
    table = CheckoutUser._meta.db_table
    found, read = [
        query["sql"] for query in captured if f"FROM {connection.ops.quote_name(table)}" in query["sql"]
    ]
    assert "ORDER BY" in found and "LIMIT 5000" in found
    keys = ", ".join(str(customer.pk) for customer in customers[-51:-101:-1])
    assert f"IN ({keys})" in read and "LIMIT" not in read
