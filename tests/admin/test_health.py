"""The page about health, and the health on the app's page of the admin's index."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from checkout_integration.flows import operations
from tests.support.admin import rows
from tests.support.flows.notified import came, installed

pytestmark = pytest.mark.django_db
PAGE = "/admin/checkout_integration/installation/"
INDEX = "/admin/checkout_integration/"
PAGES = [PAGE, INDEX]


def html_of(client: Client, address: str) -> str:
    """The page as text."""
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_page_needs_its_permission(client: Client) -> None:
    """No other opens it, nor shows it on the index."""
    client.force_login(rows.make_staff("view_order", "view_installation"))
    assert client.get(PAGE).status_code == 403
    assert "ci-health" not in html_of(client, INDEX)
    client.force_login(rows.make_staff("view_health", name="operator"))
    assert "Work of all projects" in html_of(client, PAGE)
    assert "ci-health" in html_of(client, INDEX)


def test_it_is_an_entry_of_the_index(client: Client) -> None:
    """One click from the front page of the admin."""
    client.force_login(rows.make_staff("view_health"))
    assert f'<a href="{PAGE}">Health</a>' in html_of(client, "/admin/")


def test_it_is_only_read(admin_client: Client) -> None:
    """It has no other address, and takes no POST."""
    installed(datetime.now(UTC))
    assert admin_client.post(PAGE, {"action": "delete_selected"}).status_code == 405
    for address in (f"{PAGE}add/", f"{PAGE}1/change/", f"{PAGE}1/delete/"):
        assert admin_client.get(address).status_code == 404


@pytest.mark.parametrize(("test", "badge"), [(True, "TEST"), (False, "LIVE")])
def test_each_project_says_whether_it_is_live(
    admin_client: Client, settings: Any, test: bool, badge: str
) -> None:
    """By whether its checkouts take test payments."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "ACCEPT_TEST_PAYMENTS": test}
    found = re.search(
        r'Project default <span class="ci-badge [\w-]+">(\w+)</span>', html_of(admin_client, PAGE)
    )
    assert found and found[1] == badge


def test_the_index_names_what_is_not_well_and_the_page_says_all(admin_client: Client) -> None:
    """The index is short."""
    rows.make_incident(None)
    sentence, well = "Open incidents: 1.", "No code of the shop fails."
    index, page = html_of(admin_client, INDEX), html_of(admin_client, PAGE)
    assert "Somebody should look at 1 thing: Incidents." in re.sub(r"</?a\b[^>]*>", "", index)
    assert sentence in page and well in page
    assert sentence not in index and well not in index


def _ungranted(now: datetime) -> None:
    """An order that was paid six minutes ago and whose receiver waits for its next attempt."""
    order = rows.make_order()
    run = rows.make_run(order, state="due", due_at=now + timedelta(minutes=5), finished_at=None)
    grant = order.grants.create(key=order.order_id, project="default")
    type(run.message).objects.filter(pk=run.message_id).update(
        grant=grant, recorded_at=now - timedelta(minutes=6)
    )


def _undelivered(now: datetime) -> None:
    """A paid order that no receiver was connected for."""
    run = rows.make_granting_run(rows.make_order())
    type(run.message).objects.filter(pk=run.message_id).update(state="no_receivers")
    run.delete()


MAKERS: dict[str, Callable[[datetime], object]] = {
    "not_granted": _ungranted,
    "undelivered": _undelivered,
    "review": lambda now: rows.make_order(verdict="review"),
    "pending": lambda now: rows.make_order(status="pending", created_at=now - timedelta(days=2)),
    "chargebacks": lambda now: rows.make_order(status="chargeback", refunded_at=now),
    "failed": lambda now: came(now, state="failed"),
    "quarantined": lambda now: came(now, state="quarantined"),
    "receivers_given_up": lambda now: rows.make_run(rows.make_order(), state="failed"),
    "receivers_failing": lambda now: rows.make_run(
        rows.make_order(), signal="payment_success", state="due", due_at=now + timedelta(minutes=5)
    ),
    "receivers_paused": lambda now: rows.make_run(
        rows.make_order(), signal="payment_success", state="paused", finished_at=None
    ),
    "incidents": lambda now: rows.make_incident(None),
}


IN_GROUPS: Final = ("receivers_failing", "receivers_given_up")
"""Queues of runs, which their page has in groups by code and place of the error."""


@pytest.mark.parametrize("name", IN_GROUPS)
def test_what_failed_leads_to_its_page(admin_client: Client, name: str) -> None:
    """From the front page and from the health, whether it is retried or was given up."""
    MAKERS[name](datetime.now(UTC))
    failures = "/admin/checkout_integration/failures/"
    (queue,) = [each for each in operations.staff_queues() if each.count and each.name in IN_GROUPS]
    assert (queue.name, queue.count, queue.address) == (name, 1, failures)
    for page in PAGES:
        assert f'href="{failures}"' in html_of(admin_client, page)
    (finding,) = [each for each in operations.health().findings if each.name == name]
    assert finding.link == failures
    assert len(admin_client.get(failures).context["tables"][0].rows) == 1


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in IN_GROUPS])
def test_a_queue_links_to_the_list_of_what_it_counts(admin_client: Client, name: str) -> None:
    """The list shows as many rows, out of all."""
    for make in MAKERS.values():
        make(datetime.now(UTC))
    MAKERS[name](datetime.now(UTC))
    (queue,) = [each for each in operations.staff_queues() if each.name == name]
    link = re.search(
        rf'<a href="([^"]+)"><span[^>]*>{queue.count}</span> {escape(queue.label)}</a>',
        html_of(admin_client, PAGE),
    )
    assert link
    listed = admin_client.get(link[1].replace("&amp;", "&"))
    assert (listed.status_code, listed.context["cl"].result_count) == (200, queue.count)


def test_every_queue_is_covered_here() -> None:
    """A queue that is added later is tested too."""
    assert {queue.name for queue in operations.staff_queues()} == set(MAKERS)


def test_a_viewer_sees_the_queues_of_their_own_lists(client: Client) -> None:
    """The numbers of the others are no business of theirs."""
    for name in ("review", "incidents"):
        MAKERS[name](datetime.now(UTC))
    client.force_login(rows.make_staff("view_health", "view_incident"))
    html = html_of(client, PAGE)
    assert "open incident," in html
    assert "in review" not in html


def test_a_finding_links_to_lists_that_the_viewer_may_see(client: Client) -> None:
    """An operator without the permission reads the sentence."""
    rows.make_incident(None)
    link = (
        'href="/admin/checkout_integration/incident/?resolved_at_known=no" aria-label="Show them: Incidents"'
    )
    client.force_login(rows.make_staff("view_health", name="operator"))
    html = html_of(client, PAGE)
    assert "Open incidents: 1." in html and link not in html
    client.force_login(rows.make_staff("view_health", "view_incident"))
    assert link in html_of(client, PAGE)


def test_support_sees_its_queues_without_the_health(client: Client) -> None:
    """On the index: the queues of the lists that it may see, and no others."""
    for name in ("review", "incidents"):
        MAKERS[name](datetime.now(UTC))
    client.force_login(rows.make_staff("view_order"))
    html = html_of(client, INDEX)
    assert "in review" in html
    assert "open incident" not in html and PAGE not in html


@pytest.mark.parametrize("address", PAGES)
def test_the_page_costs_the_same_for_any_number_of_rows(admin_client: Client, address: str) -> None:
    """No statement for a row."""

    def statements() -> int:
        html_of(admin_client, address)
        with CaptureQueriesContext(connection) as seen:
            html_of(admin_client, address)
        return len(seen)

    def fill() -> None:
        for make in MAKERS.values():
            make(datetime.now(UTC))

    installed(datetime.now(UTC))
    fill()
    few = statements()
    for _ in range(3):
        fill()
    # A server is asked whether it can be written to.
    assert statements() == few <= 71 + (connection.vendor != "sqlite")


def test_nothing_on_it_needs_a_script_or_a_style_of_its_own(admin_client: Client) -> None:
    """A strict content policy allows all of it, but for Django's own parts."""
    (content,) = re.findall(
        r'<div id="content-main" class="ci-page">.*?\n</div>', html_of(admin_client, PAGE), re.DOTALL
    )
    assert [each for each in ("<script", "<style", " style=", " onclick=") if each in content] == []


@pytest.mark.parametrize("address", ["/admin/checkout_integration/", "/admin/checkout_integration/health/"])
def test_who_may_see_no_queue_does_not_read_that_nothing_waits(client: Client, address: str) -> None:
    """An accountant, for example: it would be false."""
    rows.make_order(verdict="review")
    client.force_login(rows.make_staff("view_money", "view_health", name="accountant"))
    html = client.get(address).content.decode()
    assert "Nothing waits" not in html and "Needs a person" not in html
