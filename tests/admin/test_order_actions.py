"""The actions of the list of orders: a confirmation that lists them, a bound, their own permissions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from http.server import HTTPServer
from typing import Any

import pytest
import time_machine
from django.db import OperationalError, connections
from django.test import Client

from checkout_integration.admin.site import buttons
from checkout_integration.admin.site.buttons import MOST_AT_ONCE
from checkout_integration.models import Order, ReceiverRun, StaffAct
from checkout_integration.signals import checkout_paid
from tests.admin.test_buttons import in_review as in_review  # noqa: PLC0414  # a fixture
from tests.admin.test_buttons import service as service  # noqa: PLC0414  # a fixture
from tests.support.admin import rows
from tests.support.flows.shop import Listening

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_pauses")]
LIST = "/admin/checkout_integration/order/"


def choose(client: Client, action: str, *orders: Order | None, **more: Any) -> str:
    """The page after an action was chosen for these orders."""
    chosen = {"action": action, "_selected_action": [each.pk for each in orders if each], **more}
    return client.post(LIST, chosen, follow=True).content.decode()


def test_failing_receivers_run_again_after_a_confirmation_that_lists_them(
    client: Client, listen: Listening
) -> None:
    """Orders without any are left out, and what has run does not run again."""
    heard = listen(checkout_paid, name="goods")
    failing = [
        rows.make_run(rows.make_order(), receiver="goods", state="failed", attempts=10) for _ in range(2)
    ]
    done = rows.make_run(rows.make_order(), receiver="goods")
    superseded = rows.make_run(rows.make_order(), receiver="goods", state="superseded")
    chosen = [each.order for each in (*failing, done, superseded)]
    client.force_login(rows.make_staff("view_order", "change_receiverrun"))
    confirmation = choose(client, "run_selected", *chosen)
    listed = [f">{order.order_id}</td>" in confirmation for order in chosen if order]
    assert (listed, heard) == ([True, True, False, False], [])
    html = choose(client, "run_selected", *chosen, confirmed="yes")
    assert html.count("This code of the shop runs again now: goods.") == 2
    assert (len(heard), ReceiverRun.objects.filter(state="done").count()) == (2, 3)
    acts = [(each.act, each.receiver, each.order) for each in StaffAct.objects.order_by("order")]
    assert acts == [("retry", "goods", order) for order in chosen[:2]]


def test_orders_are_checked_with_the_service(client: Client, in_review: Order, service: HTTPServer) -> None:
    """Each says what changed, or that nothing did."""
    client.force_login(rows.make_staff("view_order", "check_order"))
    confirmation = choose(client, "check_selected", in_review)
    assert f">{in_review.order_id}</td>" in confirmation and "Selected rows: 1" in confirmation
    assert Order.objects.get().status == "processed"
    assert "Order order-1: Order refreshed from the service: paid → refunded" in choose(
        client, "check_selected", in_review, confirmed="yes"
    )
    assert Order.objects.get().status == "refunded"
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=1)):
        again = choose(client, "check_selected", in_review, confirmed="yes")
    assert "Order order-1: Order refreshed from the service. Nothing changed." in again


def test_the_service_is_called_outside_transactions(
    admin_client: Client, in_review: Order, service: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ATOMIC_REQUESTS too: no lock is there while the service responds."""
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
    of_request, seen = connections["default"], list[bool]()
    handler: Any = service.RequestHandlerClass
    respond = handler.do_GET

    def watch(request: Any) -> None:
        seen.append(of_request.in_atomic_block)
        respond(request)

    monkeypatch.setattr(handler, "do_GET", watch)
    choose(admin_client, "check_selected", in_review, confirmed="yes")
    assert seen == [False]


def test_a_service_that_is_away_stops_the_action(
    admin_client: Client, in_review: Order, service: HTTPServer
) -> None:
    """It is not waited for fifty times; the message says how many were done."""
    service.shutdown()
    service.server_close()
    other = rows.make_order("order-2")
    html = choose(admin_client, "check_selected", in_review, other, confirmed="yes")
    assert html.count("The order could not be fetched from the service") == 1
    assert "Done: 0 of 2." in html


@pytest.mark.parametrize("action", ["check_selected", "run_selected"])
def test_more_than_a_page_of_orders_is_refused(client: Client, action: str, listen: Listening) -> None:
    """With a sentence that says how many are possible; nothing is done."""
    listen(checkout_paid, name="goods")
    orders = [rows.make_order() for _ in range(MOST_AT_ONCE + 1)]
    rows.make_run(orders[0], receiver="goods", state="failed", attempts=10)
    client.force_login(rows.make_staff("view_order", "change_receiverrun", "check_order"))
    html = choose(client, action, orders[0], select_across="1", confirmed="yes")
    assert "you selected more than 50 rows. Select at most 50 at once." in html
    assert ReceiverRun.objects.get().state == "failed"


def test_nothing_to_do_is_said(admin_client: Client) -> None:
    """Instead of an empty page."""
    order = rows.make_order()
    assert "there is nothing to do for the selected rows" in choose(admin_client, "run_selected", order)


def test_keys_are_posted_as_they_are(admin_client: Client, settings: Any) -> None:
    """Not as numbers for people: 12,345."""
    settings.USE_THOUSAND_SEPARATOR = True
    order = rows.make_order(pk=12_345)
    assert order is not None
    assert 'value="12345"' in choose(admin_client, "check_selected", order)


def test_a_project_that_is_gone_is_said(admin_client: Client) -> None:
    """The message says which order, and how many were done."""
    order = rows.make_order()
    Order.objects.update(project="old")
    html = choose(admin_client, "check_selected", order, confirmed="yes")
    assert "Done: 0 of 1." in html


def failing_orders(count: int) -> list[Order]:
    """Orders whose receiver was given up."""
    runs = [
        rows.make_run(rows.make_order(), receiver="goods", state="failed", attempts=10) for _ in range(count)
    ]
    return [run.order for run in runs if run.order]


def test_an_action_ends_in_time_and_says_what_it_did(
    admin_client: Client, listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow service must not outlast the request; the rest is left as it was. The constant is set: nobody waits 20 s."""
    monkeypatch.setattr(buttons, "LONGEST", 0.0)
    heard, orders = listen(checkout_paid, name="goods"), failing_orders(3)
    html = choose(admin_client, "run_selected", *orders, confirmed="yes")
    assert "The time is up, so the others were left as they were. Select them again." in html
    assert "Done: 1 of 3." in html
    assert (len(heard), StaffAct.objects.count()) == (1, 1)
    assert ReceiverRun.objects.filter(state="failed").count() == 2


def test_a_database_that_fails_in_the_middle_is_said(admin_client: Client, listen: Listening) -> None:
    """With what was done before; without the error's text, which may have values of rows."""
    listen(checkout_paid, name="goods")
    orders, written = failing_orders(3), list[str]()

    def fail(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("UPDATE") and "receiverrun" in sql:
            written.append(sql)
            if len(written) > 1:
                raise OperationalError("canary-of-a-row")
        return execute(sql, params, many, context)

    with connections["default"].execute_wrapper(fail):
        html = choose(admin_client, "run_selected", *orders, confirmed="yes")
    assert "the database failed (Unavailable). Done: 1 of 3." in html
    assert "canary-of-a-row" not in html
    assert html.count("This code of the shop runs again now: goods.") == 1
    assert StaffAct.objects.count() == 1
