"""The lists' filter by a range of days: what a customer remembers, and what an accountant needs."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client

from tests.support.admin import rows

pytestmark = pytest.mark.django_db
LISTS = {
    name: f"/admin/checkout_integration/{name}/" for name in ("order", "checkout", "notification", "refund")
}
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def listed(client: Client, **parameters: str) -> set[str]:
    """The ids of the orders in the list."""
    response = client.get(LISTS["order"], parameters)
    assert response.status_code == 200
    return {order.order_id for order in response.context["cl"].result_list}


@pytest.fixture
def of_three_days() -> None:
    """An order of each of three days."""
    for days, name in enumerate(("third", "fourth", "fifth"), start=-1):
        rows.make_order(name, created_at=NOON + timedelta(days=days))


@pytest.mark.usefixtures("of_three_days")
@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("", "", {"third", "fourth", "fifth"}),
        ("2026-03-04", "", {"fourth", "fifth"}),
        ("", "2026-03-04", {"third", "fourth"}),
        ("2026-03-04", "2026-03-04", {"fourth"}),
        ("2026-03-06", "2026-03-04", set()),
    ],
)
def test_both_days_belong_to_the_range(
    admin_client: Client, first: str, last: str, expected: set[str]
) -> None:
    """Either may be left open."""
    assert listed(admin_client, from_day=first, to_day=last) == expected


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Auckland", "America/Los_Angeles"])
def test_a_day_is_one_of_the_zone(admin_client: Client, settings: Any, zone: str) -> None:
    """As the list shows its times."""
    settings.TIME_ZONE = zone
    order = rows.make_order("late", created_at=datetime(2026, 3, 4, 23, 30, tzinfo=UTC))
    page = admin_client.get(LISTS["order"]).content.decode()
    day = next(each for each in ("2026-03-04", "2026-03-05") if f"<span>{each}</span>" in page)
    assert listed(admin_client, from_day=day, to_day=day) == {order.order_id}


@pytest.mark.usefixtures("of_three_days")
def test_the_card_and_the_day_find_a_payment(admin_client: Client) -> None:
    """Together, and with other filters; the form keeps them."""
    assert listed(admin_client, q="4242", from_day="2026-03-05", to_day="2026-03-05") == {"fifth"}
    page = admin_client.get(
        LISTS["order"], {"status": "processed", "from_day": "2026-03-05"}
    ).content.decode()
    assert '<input type="date" name="from_day" value="2026-03-05"' in page
    assert '<input type="hidden" name="status" value="processed">' in page


@pytest.mark.usefixtures("of_three_days")
def test_the_file_has_the_days(admin_client: Client) -> None:
    """Last month's orders, for instance."""
    response = admin_client.get(f"{LISTS['order']}csv/", {"from_day": "2026-03-04", "to_day": "2026-03-31"})
    text = b"".join(response).decode()
    assert "fourth" in text and "fifth" in text and "third" not in text


@pytest.mark.parametrize("day", ["yesterday", "2026-02-30", "9999-12-31", "\0"])
def test_what_is_no_day_is_refused(admin_client: Client, day: str) -> None:
    """Django says so on the list; no other rows are shown for it."""
    response = admin_client.get(LISTS["order"], {"to_day": day})
    assert response.status_code == 302 and response["Location"].endswith("?e=1")


@pytest.mark.parametrize("screen", ["checkout", "notification", "refund"])
def test_other_lists_have_it_too(admin_client: Client, screen: str) -> None:
    """By their own time."""
    page = admin_client.get(LISTS[screen], {"from_day": "2026-03-04", "to_day": "2026-03-04"})
    assert page.status_code == 200 and b'name="to_day" value="2026-03-04"' in page.content


def test_seven_days_are_today_and_six_more(admin_client: Client) -> None:
    """As everywhere else at the desk."""
    for days in range(9):
        rows.make_order(f"{days} ago", created_at=datetime.now(UTC) - timedelta(days=days))
    page = admin_client.get(LISTS["order"]).content.decode()
    (address,) = re.findall(r'<a href="([^"]+)">\s*Past 7 days', page)
    found = admin_client.get(LISTS["order"] + unescape(address)).context["cl"].result_list
    assert sorted(order.order_id for order in found) == [f"{days} ago" for days in range(7)]
