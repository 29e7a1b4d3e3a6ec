"""The page of what staff did and looked up: by person, day, act and origin; for owners, with links and without names."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import translation

from checkout_integration import flows
from checkout_integration.flows.retention.pruning import KINDS
from checkout_integration.models import CheckoutUser, Order, StaffAct
from tests.support.admin import rows
from tests.support.admin.desk import enter
from tests.support.admin.screens import page_address
from tests.support.browser import expect
from tests.support.paths.browsing import SIZES, expect_accessible, look_around

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/admin/checkout_integration/staffact/"


@pytest.fixture
def grace() -> User:
    """A colleague."""
    return User.objects.create_user("grace", is_staff=True)


@pytest.fixture
def owner(client: Client) -> Client:
    """Somebody with the permission of the page, and that to see personal data."""
    client.force_login(
        rows.make_staff(
            "view_staffact", "view_personal_data", "view_order", "view_checkoutuser", name="owner"
        )
    )
    return client


def act(staff: User | None = None, **columns: object) -> StaffAct:
    """An act."""
    recorded_at = columns.pop("recorded_at", None)
    made: StaffAct = StaffAct.objects.create(**{"act": "check", "origin": "admin", "staff": staff, **columns})
    if recorded_at:
        StaffAct.objects.filter(pk=made.pk).update(recorded_at=recorded_at)
    return made


def listed(client: Client, query: str = "") -> list[int]:
    """The keys of the acts on the page, from top to bottom."""
    return [row.pk for row in client.get(f"{LIST}{query}").context["cl"].result_list]


def test_only_who_may_see_them(client: Client) -> None:
    """A permission of its own, to look and nothing else."""
    client.force_login(rows.make_staff("view_order", "change_incident", "view_personal_data"))
    assert client.get(LIST).status_code == 403
    codes = list(StaffAct._meta.default_permissions)
    assert codes == ["view"]


def test_a_person_by_account_and_by_system(owner: Client, grace: User) -> None:
    """An account by its whole name, else the system's user; the newest first."""
    first, other = act(grace), act(system_user="deploy", origin="command")
    second = act(grace, act="note")
    assert listed(owner) == [second.pk, other.pk, first.pk]
    assert listed(owner, "?person=grace") == [second.pk, first.pk]
    assert listed(owner, "?person=deploy") == [other.pk]
    assert listed(owner, "?person=grac") == []


def test_a_day_an_act_and_an_origin(owner: Client, grace: User) -> None:
    """Each by itself, and together with a person."""
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    old = act(grace, recorded_at=noon)
    day_after = act(grace, act="erase", recorded_at=noon + timedelta(days=1))
    command = act(system_user="deploy", origin="command", recorded_at=noon + timedelta(days=1))
    assert listed(owner, "?from_day=2026-03-01&to_day=2026-03-01") == [old.pk]
    assert listed(owner, "?from_day=2026-03-02") == [command.pk, day_after.pk]
    assert listed(owner, "?act=erase") == [day_after.pk]
    assert listed(owner, "?origin=command") == [command.pk]
    assert listed(owner, "?person=grace&from_day=2026-03-02") == [day_after.pk]


def test_the_acts_about_an_order_are_found_and_linked(owner: Client, grace: User) -> None:
    """By its id; each row leads to the order and to its own page, a name to all acts of that person."""
    order, other = rows.make_order(), rows.make_order()
    flows.operations.add_note(order, staff=grace, text="called")
    act(grace, order=other)
    (found,) = listed(owner, f"?q={order.order_id}")
    assert StaffAct.objects.get(pk=found).order == order
    html = owner.get(f"{LIST}?q={order.order_id}").content.decode()
    assert f'href="{page_address("order", order)}"' in html
    assert f'href="{LIST}?person=grace"' in html
    assert f"{LIST}{found}/change/" in html
    assert "called" not in html  # a note is in the history of its order


def test_the_timeline_leads_owners_to_the_person(owner: Client, client: Client, grace: User) -> None:
    """Support reads the name alone."""
    order = rows.make_order()
    flows.operations.add_note(order, staff=grace, text="called")
    act(grace, order=order)
    page = owner.get(page_address("order", order)).content.decode()
    assert page.count(f'href="{LIST}?person=grace"') == 2
    client.force_login(rows.make_staff("view_order", name="support"))
    page = client.get(page_address("order", order)).content.decode()
    assert "grace" in page and "?person=" not in page


def test_a_reason_is_for_those_who_see_personal_data(client: Client, grace: User) -> None:
    """People write it in their own words."""
    row = act(grace, reason="Ada phoned")
    for permissions, shown in (("view_staffact",), False), (("view_staffact", "view_personal_data"), True):
        client.force_login(rows.make_staff(*permissions, name=str(shown)))
        pages = [client.get(address).content.decode() for address in (LIST, f"{LIST}{row.pk}/change/")]
        assert ["Ada phoned" in page for page in pages] == [shown, shown]


def test_an_erased_customer_stays_unnamed(owner: Client, grace: User) -> None:
    """Their acts stay, with the tombstone in the place of their id, and without reasons from before."""
    customer = rows.make_customer("ada@buyers.example")
    flows.operations.block_customer(customer, staff=grace, reason="ada@buyers.example again")
    (person,) = flows.privacy.find_persons(customer=customer)
    flows.privacy.erase_customer(person, flows.privacy.PrivacyRequest(reason="request 4711", staff=grace))
    html = unescape(owner.get(LIST).content.decode())
    assert "ada@buyers" not in html
    assert html.count("erased customer") >= 2 and "request 4711" in html


def test_the_reasons_about_every_order_of_theirs_go_with_a_customer(grace: User) -> None:
    """Also of one that only its checkout makes theirs."""
    checkout, customer = rows.make_checkout(), rows.make_customer("ada@buyers.example")
    first, second = (rows.make_order(checkout=checkout, verdict="review") for _ in range(2))
    Order.objects.filter(pk=first.pk).update(user=customer)
    for order in (first, second):
        act(grace, act="accept", order=order, reason="Ada Buyer phoned")
    (person,) = flows.privacy.find_persons(customer=CheckoutUser.objects.get(pk=customer.pk))
    flows.privacy.erase_customer(person, flows.privacy.PrivacyRequest(reason="request 4711", staff=grace))
    assert set(StaffAct.objects.exclude(act="erase").values_list("reason", flat=True)) == {""}


def test_the_title_names_nobody(owner: Client, grace: User) -> None:
    """It stands in the history of the browser."""
    row = act(grace, act="block", customer=rows.make_customer("ada@buyers.example"))
    html = owner.get(f"{LIST}{row.pk}/change/").content.decode()
    title = html.partition("<title>")[2].partition("</title>")[0]
    assert "customer blocked" in title and "ada@" not in title


@pytest.mark.browser
def test_an_owner_reviews_a_day_of_a_person(
    page: Page, live_server: Any, admin_user: User, grace: User
) -> None:
    """From the front page to the acts of a colleague, and to the order: on a desk and in a hand, by day and by night."""
    order = rows.make_order(user=rows.make_customer("player-7"))
    flows.operations.add_note(order, staff=grace, text="called")
    act(grace, act="download", detail="orders: from_day, status, search")
    act(
        grace,
        act="block",
        customer=order.user,
        reason="three chargebacks in one month, and two more at another shop",
    )
    act(
        system_user="deploy",
        origin="command",
        act="retry",
        receiver="shop.receivers.fulfilment.grant_the_goods",
    )
    enter(page.context, live_server.url, admin_user)
    page.goto(f"{live_server.url}/admin/checkout_integration/")
    page.locator("#content-main").get_by_role("link", name="Acts of staff").click()
    for size in SIZES.values():
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        expect_accessible(page)
    look_around(page, "admin-staff-acts")
    page.locator("#result_list").get_by_role("link", name="grace").first.click()
    expect(page.locator("#result_list tbody tr")).to_have_count(3)
    expect(page.locator("#result_list")).not_to_contain_text("deploy")
    page.locator("#result_list").get_by_role("link", name=order.order_id).click()
    expect(page.locator("#content")).to_contain_text("called")
    page.locator(".ci-timeline").get_by_role("link", name="grace").first.click()
    expect(page.locator("#result_list tbody tr")).to_have_count(3)


def test_what_an_act_counted_is_read_in_words(owner: Client) -> None:
    """Of each kind of row that an erasure, a deletion of test data and a pruning count: no name of code."""
    order = rows.make_order(checkout=rows.make_checkout(test=True), live=False)
    rows.make_run(order)
    counted = {
        *(each.name for each in fields(flows.privacy.Erasure)),
        *flows.retention.count_test_data(),
        *KINDS,
    } - {"hats"}  # rows of the shop have the name that the shop gave them
    made = act(act="erase", counts=dict.fromkeys(sorted(counted), 7))
    with translation.override("de"):
        shown = owner.get(f"{LIST}{made.pk}/change/", headers={"accept-language": "de"}).text
    assert {name for name in counted if f"{name}: 7" in shown} == set()
    assert shown.count(": 7") >= len(counted)
