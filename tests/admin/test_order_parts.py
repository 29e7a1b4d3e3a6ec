"""Parts of an order's page: its receivers and its reversals."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from checkout_integration import flows
from checkout_integration.models import Order
from checkout_integration.signals import checkout_paid, checkout_reversed
from checkout_integration.testing.delivery import Deliver
from tests.admin.test_orders import page_of
from tests.support.admin import rows
from tests.support.flows.aged import age, prune_after, story
from tests.support.flows.shop import Listening

pytestmark = pytest.mark.django_db


def test_a_receiver_that_waits_says_who_it_is_and_when_it_runs(admin_client: Client) -> None:
    """Its name, what went wrong, how often, and the time of the next attempt."""
    order = rows.make_order(checkout=rows.make_checkout())
    waits: dict[str, Any] = {
        "state": "due",
        "attempts": 3,
        "error": "OSError",
        "due_at": rows.NOON + timedelta(hours=2),
    }
    rows.make_run(order, receiver="shop.receivers.mail", **waits)
    html = page_of(admin_client, order)
    line = next(line for line in html.split("<li") if "next attempt" in line)
    assert "shop.receivers.mail" in line
    assert "attempts: 3, last error: OSError" in line
    assert "2026-03-04T14:00" in line


@pytest.mark.parametrize("failed_before", [0, 2])
def test_a_postponed_receiver_says_what_it_waits_for(failed_before: int, admin_client: Client) -> None:
    """On the order's page in its own words, escaped; on its own as a state; each list finds it apart from failures."""
    order = rows.make_order(checkout=rows.make_checkout())
    later = datetime.now(UTC) + timedelta(hours=2)
    waits: dict[str, Any] = {
        "state": "due",
        "attempts": failed_before,
        "due_at": later,
        "postponed_for": "no <keys> left",
    }
    run = rows.make_run(order, receiver="shop.receivers.key", **waits)
    html = page_of(admin_client, order)
    line = next(line for line in html.split("<li") if "next attempt" in line)
    assert "waits for: no &lt;keys&gt; left" in line
    moment = html.partition('id="ci-timeline')[2]
    assert "waits for: no &lt;keys&gt; left" in moment and "postponed" in moment
    assert "failing" not in html.partition("Were the goods granted?")[2].partition("</section>")[0]
    orders = reverse("admin:checkout_integration_order_changelist")
    of_orders = [
        admin_client.get(orders, {"receivers": each}).context["cl"].result_count
        for each in ("failing", "postponed")
    ]
    assert of_orders == [0, 1]
    lists = reverse("admin:checkout_integration_receiverrun_changelist")
    ended = rows.make_run(order, receiver="shop.receivers.old", **{**waits, "state": "superseded"})
    assert "no &lt;keys&gt; left" not in admin_client.get(f"{lists}{ended.pk}/change/").text
    assert "no &lt;keys&gt; left" in admin_client.get(f"{lists}{run.pk}/change/").content.decode()
    found = [
        admin_client.get(lists, {"retried": each}).context["cl"].result_count for each in ("yes", "postponed")
    ]
    assert found == [0, 1]
    assert "postponed" in admin_client.get(lists, {"retried": "postponed"}).content.decode()


@pytest.mark.spec("RFD-01", "RFD-03", "STA-06", "STA-07")
def test_reversals_are_listed_with_amount_kind_and_reason(admin_client: Client) -> None:
    """A refund in part and a chargeback of the rest are two rows."""
    order = rows.make_order(status="chargeback")
    rows.make_refund(order, amount="1.20", status="refunded", reason="wrong size")
    rows.make_refund(order, amount="8.00", status="chargeback", reason="fraud")
    html = page_of(admin_client, order)
    table = html[html.index("wrong size") - 2000 : html.index("wrong size") + 2000]
    assert [text in table for text in ("1.20", "8.00", "wrong size", "fraud")] == [True] * 4
    assert ("refunded" in table, "chargeback" in table) == (True, True)


def test_goods_whose_receivers_were_pruned_are_shown_as_granted(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening, settings: Any
) -> None:
    """And as revoked after a refund; without the runs the grant says who did it."""
    prune_after(settings)
    listen(checkout_paid, name="shop.grant")
    listen(checkout_reversed, name="shop.revoke")
    paid, *_others, refund, _chargeback = story()
    checkout_deliver(paid)
    age()
    flows.retention.prune_all()
    order = Order.objects.get()
    box = answer_of(page_of(admin_client, order))
    assert "shop.grant – done, its run was pruned" in box and "> granted<" in box
    refunded = {**paid["object"], "status": "refunded", "refunded": True}
    checkout_deliver({**refund, "object": refunded})
    age()
    flows.retention.prune_all()
    assert "> revoked<" in answer_of(page_of(admin_client, order))


def answer_of(html: str) -> str:
    """Return the part of the page that says whether the goods were granted."""
    return html.partition("Were the goods granted?")[2][:600]
