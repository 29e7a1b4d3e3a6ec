"""What failed in the shop's code, in groups: by receiver and place of the error, and run again as a whole."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from checkout_integration.models import FailedAttempt, Receiver, ReceiverRun, StaffAct
from tests.support.admin import rows
from tests.support.admin.desk import enter
from tests.support.paths.browsing import SIZES, expect_accessible, look_around

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/admin/checkout_integration/failures/"
PLACE = "KeyError in deliver (shop/receivers.py:22)"


def fail(place: str = PLACE, receiver: str = "shop.goods", user: Any = None, **columns: Any) -> ReceiverRun:
    """A run that failed at a place."""
    order = rows.make_order(user=user, amount=Decimal("2.50"))
    run = rows.make_run(
        order, receiver=receiver, **{"state": "failed", "attempts": 10, "error": "KeyError", **columns}
    )
    FailedAttempt.objects.create(run=run, attempt=9, error="OSError", traceback="OSError elsewhere\nline 1")
    FailedAttempt.objects.create(run=run, attempt=10, error="KeyError", traceback=f"{place}\nline 1")
    return run


def groups(client: Client) -> list[list[str]]:
    """The rows of the page, without their times."""
    table, paused = client.get(PAGE).context["tables"]
    assert paused.rows == []
    return [[str(cell) for cell in row[:5]] for row in table.rows]


def test_failures_are_grouped_by_receiver_and_newest_place(admin_client: Client) -> None:
    """With runs, customers and money; more customers first. What is done, due or never failed is left out."""
    customer = rows.make_customer()
    for user in (customer, customer, None):
        fail(user=user)
    fail(state="due", attempts=2, due_at=datetime.now(UTC) + timedelta(hours=1))
    fail("OSError in send (shop/mail.py:7)")
    fail(receiver="shop.letter")
    rows.make_run(rows.make_order(), state="done")
    rows.make_run(rows.make_order(), state="due", attempts=0, due_at=datetime.now(UTC) + timedelta(hours=1))
    usd = "\N{NO-BREAK SPACE}USD"
    assert groups(admin_client) == [
        ["shop.goods", PLACE, "4", "3", f"10.00{usd}"],
        ["shop.goods", "OSError in send (shop/mail.py:7)", "1", "1", f"2.50{usd}"],
        ["shop.letter", PLACE, "1", "1", f"2.50{usd}"],
    ]


def test_all_of_a_group_run_again_after_a_question(admin_client: Client) -> None:
    """More than fifty at once, once in the record of staff; other groups stay as they are."""
    for _ in range(60):
        fail()
    other = fail(receiver="shop.letter")
    (key, *_others) = [each.key for each, _pause in admin_client.get(PAGE).context["groups"]]
    question = admin_client.post(PAGE, {"group": key}).content.decode()
    assert "Run all of them again" in question and "60" in question
    assert ReceiverRun.objects.filter(state="failed").count() == 61
    html = admin_client.post(PAGE, {"group": key, "confirmed": "yes"}, follow=True).content.decode()
    assert "Runs of shop.goods that are due now: 60." in html
    assert ReceiverRun.objects.filter(receiver="shop.goods", state="failed").count() == 0
    other.refresh_from_db()
    act = StaffAct.objects.get()
    assert (other.state, act.act, act.receiver, act.counts) == (
        "failed",
        "retry",
        "shop.goods",
        {"receiver_runs": 60},
    )
    assert (
        "have not failed"
        in admin_client.post(PAGE, {"group": key, "confirmed": "yes"}, follow=True).content.decode()
    )


def test_it_says_when_it_was_tried_last_for_which_orders_and_what_runs(client: Client) -> None:
    """The orders are links for those who may view them."""
    runs = [fail() for _ in range(4)]
    last = datetime(2026, 11, 5, 4, 3, 2, tzinfo=UTC)
    FailedAttempt.objects.update(failed_at=last - timedelta(days=1))
    FailedAttempt.objects.filter(run=runs[0], attempt=10).update(failed_at=last)
    client.force_login(rows.make_staff("view_receiverrun", "view_order"))
    html = client.get(PAGE).content.decode()
    assert "2026-11-05" in html and "04:03:02" in html and "under way" not in html
    links = [f"/order/{run.message.order_id}/change/" in html for run in runs]
    assert links == [False, True, True, True]
    rows.make_run(rows.make_order(), state="running", finished_at=None, due_at=datetime.now(UTC))
    rows.make_run(rows.make_order(), state="due", attempts=0, due_at=datetime.now(UTC))
    assert "2 runs are under way." in client.get(PAGE).content.decode()
    client.force_login(rows.make_staff("view_receiverrun", name="engineer"))
    assert "/order/" not in client.get(PAGE).content.decode().partition('id="content-main"')[2]


def test_permissions(client: Client) -> None:
    """To see runs; to see code; to run them again."""
    fail()
    client.force_login(rows.make_staff("view_receiverrun"))
    assert groups(client)[0][:2] == ["shop.goods", "KeyError"]
    key = "no-button-leads-there"
    assert client.get(PAGE).context["groups"] == []
    assert client.post(PAGE, {"group": key, "confirmed": "yes"}).status_code == 403
    client.force_login(rows.make_staff("view_order", name="support"))
    assert client.get(PAGE).status_code == 403


def test_it_costs_the_same_for_any_number_of_runs(admin_client: Client) -> None:
    """Two look-ups of runs, one of orders, and two counts of runs."""

    def statements() -> int:
        fail(user=rows.make_customer(f"player-{rows.next_number()}"))
        admin_client.get(PAGE)
        with CaptureQueriesContext(connection) as seen:
            admin_client.get(PAGE)
        return len(seen)

    few = statements()
    statements()
    assert statements() == few <= 8


def test_while_runs_are_under_way_or_paused_nothing_is_called_well(admin_client: Client) -> None:
    """What came of them is not known yet; what is paused waits, and its number leads to its runs."""
    fail()
    (key,) = [each.key for each, _pause in admin_client.get(PAGE).context["groups"]]
    html = admin_client.post(PAGE, {"group": key, "confirmed": "yes"}, follow=True).content.decode()
    assert "Nothing has failed" not in html and "is not known yet: reload this page." in html
    ReceiverRun.objects.all().delete()
    now = datetime.now(UTC)
    seen = {"signal": "checkout_paid", "first_seen": now, "last_seen": now}
    Receiver.objects.create(name="shop.goods", paused_at=now, paused_for="an incident", **seen)
    fail(state="paused")
    html = admin_client.get(PAGE).content.decode()
    assert (
        "Nothing else has failed in the shop&#x27;s code. Runs that wait for code that is paused, below: 1."
        in html
    )
    assert '<a href="/admin/checkout_integration/receiverrun/?state=paused">1</a>' in html


def test_an_empty_page_says_so(admin_client: Client) -> None:
    """And the app's page leads here, as the side bar of every page does."""
    assert "Nothing has failed in the shop&#x27;s code." in admin_client.get(PAGE).content.decode()
    for page in ("/admin/checkout_integration/", "/admin/checkout_integration/order/", "/admin/"):
        assert f'href="{PAGE}"' in admin_client.get(page).content.decode()


@pytest.mark.browser
def test_it_is_readable_on_a_desk_and_in_a_hand(page: Page, live_server: Any, admin_user: User) -> None:
    """Nothing overflows, and axe finds nothing, by day and by night."""
    fail()
    fail(receiver="shop.receivers.fulfilment.grant_the_goods_of_the_order_to_the_account")
    enter(page.context, live_server.url, admin_user)
    page.goto(live_server.url + PAGE)
    for size in SIZES.values():
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        expect_accessible(page)
    look_around(page, "admin-failures")
