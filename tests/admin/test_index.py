"""The app's page: what needs a person first, then the lists of every day, and the engine room last."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.test import Client

from checkout_integration.flows import operations
from checkout_integration.models import Incident, Order, OutboxMessage
from tests.support.admin import rows
from tests.support.admin.visits import APP, screens

pytestmark = pytest.mark.django_db
DAILY = ["order", "checkoutuser", "money", "syncdifference"]
ENGINE_ROOM = ["outboxmessage", "syncrun", "notification", "receiverrun", "validationdecision", "staffact"]


def html_of(client: Client) -> str:
    """The page as text."""
    return client.get(APP).content.decode()


def entries(html: str) -> list[str]:
    """The screens in the sequence of the page."""
    return re.findall(rf'<a href="{APP}(\w+)/"[^>]*>', html.partition('id="content-main"')[2])


def waiting(html: str) -> list[list[str]]:
    """The rows of what needs a person, cell by cell."""
    section = html.partition('id="ci-queues"')[2].partition("</section>")[0]
    found = re.findall(r"<tr><td.*?</tr>", section, re.DOTALL)
    return [[re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<td.*?</td>", row)] for row in found]


def test_lists_of_every_day_come_before_the_engine_room(admin_client: Client) -> None:
    """Every screen is named once."""
    html = html_of(admin_client)
    found = entries(html)
    assert found[: len(DAILY)] == DAILY
    assert sorted(found[-len(ENGINE_ROOM) :]) == sorted(ENGINE_ROOM)
    assert sorted(found) == sorted(screens())
    assert (
        html.index("ci-queues") < html.index("ci-health") < html.index("ci-money") < html.index("Engine room")
    )


def test_nobody_meets_an_empty_room(client: Client) -> None:
    """First-level support has nothing of the engine room."""
    client.force_login(rows.make_staff("view_order"))
    html = html_of(client)
    assert entries(html) == ["order"] and "Engine room" not in html
    assert waiting(html) == [] and "Nothing waits for anybody." in html


def test_the_oldest_comes_first_with_money_and_customers(admin_client: Client) -> None:
    """Sums of each currency by itself; an amount that is not known is no zero; a guest is a customer."""
    now = datetime.now(UTC)
    customer = rows.make_customer()
    for amount, currency, user in (("9.99", "USD", customer), ("1", "USD", customer), ("1500", "JPY", None)):
        rows.make_order(verdict="review", amount=Decimal(amount), currency=currency, user=user)
    rows.make_order(verdict="review", amount=None, currency="", user=None)
    Order.objects.update(created_at=now - timedelta(hours=5))
    rows.make_order(status="pending", created_at=now - timedelta(days=3))
    incident = rows.make_incident(None)
    Incident.objects.filter(pk=incident.pk).update(recorded_at=now - timedelta(minutes=70))
    assert waiting(html_of(admin_client)) == [
        ["1 pending for more than a day", "3 days", "9.99\N{NO-BREAK SPACE}USD", "1"],
        [
            "4 in review",
            "5 h",
            "1,500\N{NO-BREAK SPACE}JPY, 10.99\N{NO-BREAK SPACE}USD, 1 without an amount",
            "3",
        ],
        ["1 open incident, also of payments to decide about", "70 min", "–", "–"],
    ]


def test_an_order_of_several_rows_counts_once(admin_client: Client) -> None:
    """Two incidents of one order are one customer and one payment; so are two runs."""
    order = rows.make_order(verdict="verified", user=rows.make_customer())
    for receiver in ("goods", "letter"):
        rows.make_incident(order)
        rows.make_run(order, receiver=receiver, state="failed")
    found = {queue.name: queue for queue in operations.staff_queues()}
    for name in ("incidents", "receivers_given_up"):
        assert found[name].count == 2 and found[name].customers == 1
        assert found[name].money == {"USD": Decimal("9.99")}
        assert found[name].since is not None


def test_health_is_one_sentence(client: Client) -> None:
    """With the names of what is not well, and a link to the page that says all."""
    rows.make_incident(None)
    client.force_login(rows.make_staff("view_health"))
    (sentence,) = re.findall(r'<p class="ci-headline">(.*?)</p>', html_of(client), re.DOTALL)
    text = re.sub(r"<[^>]+>", "", sentence)
    assert text.endswith("Somebody should look at 1 thing: Incidents.")
    run = rows.make_granting_run(rows.make_order(checkout=rows.make_checkout()), state="due")
    OutboxMessage.objects.filter(pk=run.message_id).update(recorded_at=datetime.now(UTC) - timedelta(days=1))
    (sentence,) = re.findall(r'<p class="ci-headline">(.*?)</p>', html_of(client), re.DOTALL)
    text = re.sub(r"<[^>]+>", "", sentence)
    assert re.search(r"2 things are failing: .*\. Somebody should look at 3 things: Incidents, ", text)
    assert "<a " not in sentence  # this viewer may not see the rows
    client.force_login(rows.make_staff("view_health", "view_incident", "view_order", name="ada"))
    (sentence,) = re.findall(r'<p class="ci-headline">(.*?)</p>', html_of(client), re.DOTALL)
    for address, title in (
        ("/admin/checkout_integration/incident/?resolved_at_known=no", "Incidents"),
        ("/admin/checkout_integration/order/?queue=not_granted", "Paid, not granted"),
    ):
        assert f'<a href="{address}">{title}</a>' in sentence
