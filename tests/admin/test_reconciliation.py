"""The page about the transaction list: passes, lag, totals, and differences with both values."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from checkout_integration.admin.site.values import moment_text
from checkout_integration.models import StaffAct, SyncCursor, SyncDifference, SyncRun
from tests.support.admin import rows

pytestmark = pytest.mark.django_db
PAGE = "/admin/checkout_integration/syncdifference/"
INDEX = "/admin/checkout_integration/"
TOTALS = [
    {
        "currency": "USD",
        "status": "processed",
        "here": {"count": 1200, "unknown": 0, "sum": "9.99"},
        "there": {"count": 1201, "unknown": 0, "sum": "19.98"},
    },
    {
        "currency": "EUR",
        "status": "refunded",
        "here": {"count": 1, "unknown": 0, "sum": "5"},
        "there": {"count": 1, "unknown": 0, "sum": "5"},
    },
]


def html_of(client: Client, address: str = PAGE) -> str:
    """The page as text."""
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def make_difference(order_id: str = "order-9", **columns: Any) -> SyncDifference:
    """One that waits."""
    number = SyncDifference.objects.count()
    given = {
        "run": columns.pop("run", None) or rows.make_sync_run(),
        "project": "default",
        "kind": "status",
        "here": "created 9.99 USD",
        "there": "processed 9.99 USD",
        "state": "waiting",
        "found_at": datetime.now(UTC),
    }
    made = {**given, **columns}
    key = f"key-{number}" if made["state"] == "waiting" else None
    difference: SyncDifference = SyncDifference.objects.create(order_id=order_id, waiting_key=key, **made)
    return difference


def make_lane(lane: str = "recent", **columns: Any) -> None:
    """A pass that took two minutes, and its lane's watermark three hours ago."""
    now = datetime.now(UTC)
    given = {
        "started_at": now - timedelta(minutes=2),
        "finished_at": now,
        "pages": 3,
        "rows": 1234,
        "changed": 7,
    }
    rows.make_sync_run(lane=lane, **{**given, **columns})
    watermark = now - timedelta(hours=3)
    SyncCursor.objects.get_or_create(project="default", lane=lane, defaults={"watermark": watermark})


def test_the_page_needs_its_permission(client: Client) -> None:
    """No other opens it, nor shows the link on the index."""
    client.force_login(rows.make_staff("view_syncrun", "view_health"))
    assert client.get(PAGE).status_code == 403
    assert PAGE not in html_of(client, INDEX)
    client.force_login(rows.make_staff("view_syncdifference", "view_health", name="operator"))
    assert "No pass yet." in html_of(client)
    assert f'<a href="{PAGE}">Reconciliation' in html_of(client, INDEX)


def test_it_is_only_read(admin_client: Client) -> None:
    """It has no other address, and takes no POST."""
    row = make_difference()
    assert admin_client.post(PAGE, {"action": "delete_selected"}).status_code == 405
    for address in (f"{PAGE}add/", f"{PAGE}{row.pk}/change/", f"{PAGE}{row.pk}/delete/"):
        assert admin_client.get(address).status_code == 404


def test_an_empty_page_teaches(admin_client: Client) -> None:
    """How to read the list, how to compare, and who does it."""
    html = html_of(admin_client)
    assert "python manage.py checkout_sync”" in html
    assert "checkout_sync --lane all --dry-run" in html
    assert "RUNNER is “request”: run manage.py checkout_sync --lane due from cron" in html


def test_a_lane_has_its_passes_and_its_lag(admin_client: Client) -> None:
    """State, time, pages, rows, orders that changed, the reason of a failure, and how far it is behind."""
    make_lane(state="failed", failure="ValueError at page 3")
    html = html_of(admin_client)
    for part in ("3 h", "1,234", "2 min", "failed", "ValueError at page 3"):
        assert part in html, part
    assert "never read to its end" not in html
    SyncCursor.objects.all().delete()
    assert "never read to its end" in html_of(admin_client)


def test_only_the_newest_passes_of_a_lane_are_shown(admin_client: Client) -> None:
    """Three each; the list of passes has the others."""
    for hours in range(5):
        make_lane(rows=8000 + hours, started_at=datetime.now(UTC) - timedelta(hours=hours))
    html = html_of(admin_client)
    assert [f"8,00{hours}" in html for hours in range(5)] == [True, True, True, False, False]


@pytest.mark.spec("ORD-04", "ORD-22", "ORD-23", "STA-01")
def test_totals_are_compared_by_currency_and_status(admin_client: Client) -> None:
    """Of the newest complete pass over everything; currencies are never added."""
    make_lane("all", totals=TOTALS)
    make_lane("all", state="failed", totals=[], started_at=datetime.now(UTC))
    html = html_of(admin_client)
    for part in ("9.99 USD in 1,200 orders", "19.98 USD in 1,201 orders", "5.00 EUR in 1 order<"):
        assert part in html, part
    assert (html.count("</span> different</span>"), html.count("</span> equal</span>")) == (1, 1)


def test_totals_have_their_date_and_statuses_the_words_of_the_desk(admin_client: Client) -> None:
    """So do the differences: what neither side knows as a status stays as it is."""
    make_lane("all", totals=TOTALS, started_at=datetime(2026, 11, 22, 3, 5, tzinfo=UTC))
    make_difference(there="unreadable")
    html = html_of(admin_client)
    assert re.search("totals of the whole list, at 2026-11-22 03:05<", html)
    assert (
        '<td data-label="Status">paid; refunded and charged back, too</td>' in html
        and '<td data-label="Status">refunded</td>' in html
    )
    assert "not paid 9.99 USD" in html and "unreadable" in html
    assert "processed" not in html.partition('class="ci-page ci-index"')[2]


def test_who_reads_the_list_is_said_while_nobody_does(admin_client: Client) -> None:
    """Not after a pass: there is nothing to do."""
    hint, now = "Who reads the list?", datetime.now(UTC)
    assert hint in html_of(admin_client)
    make_lane(started_at=now - timedelta(hours=2), finished_at=now - timedelta(minutes=61))
    assert hint in html_of(admin_client)
    make_lane(started_at=now - timedelta(minutes=2))
    assert hint not in html_of(admin_client)
    make_lane(started_at=now, state="failed")
    assert hint in html_of(admin_client)


def test_an_unknown_amount_is_no_zero_in_the_totals(admin_client: Client) -> None:
    """The page says of how many orders a sum is."""
    part = {**TOTALS[1], "here": {"count": 3, "unknown": 1, "sum": "10"}}
    make_lane("all", totals=[{**part, "there": {"count": 3, "unknown": 3, "sum": None}}])
    html = html_of(admin_client)
    assert "10.00 EUR in 2 of 3 orders" in html
    assert "unknown in 3 orders" in html
    assert ">0.00" not in html


def test_differences_have_both_values(client: Client) -> None:
    """And a link to the order for those who may open it."""
    order = rows.make_order("order-9")
    make_difference()
    client.force_login(rows.make_staff("view_syncdifference", "view_order"))
    html = html_of(client)
    assert "not paid 9.99 USD" in html and " paid 9.99 USD" in html and "</span> waiting</span>" in html
    assert f'<a href="/admin/checkout_integration/order/{order.pk}/change/">order-9</a>' in html
    client.force_login(rows.make_staff("view_syncdifference", name="auditor"))
    html = html_of(client)
    assert "order-9" in html and "/admin/checkout_integration/order/" not in html


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", ["a", "b", "c"]),
        ("state=waiting", ["a", "c"]),
        ("state=healed", ["b"]),
        ("kind=amount", ["c"]),
        ("project=second", ["b"]),
    ],
)
def test_filters(admin_client: Client, settings: Any, query: str, shown: list[str]) -> None:
    """By state, kind and project."""
    projects = settings.CHECKOUT_INTEGRATION["PROJECTS"]
    second = {"PROJECT_ID": "second", "SECRET_KEY": "sandbox_secret_of_second"}
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "PROJECTS": {**projects, "second": second},
    }
    make_difference("a")
    make_difference("b", state="healed", project="second")
    make_difference("c", kind="amount")
    listed = admin_client.get(f"{PAGE}?{query}").context["cl"].queryset
    assert sorted(row.order_id for row in listed) == shown


def test_values_of_the_service_are_escaped(admin_client: Client) -> None:
    """Whatever a currency or an id is."""
    make_difference("<script>1</script>", there="<script>2</script>")
    make_lane("all", totals=[{**TOTALS[0], "currency": "<script>", "status": "<script>"}])
    assert "<script>1" not in (html := html_of(admin_client))
    assert "<script>2" not in html and '<td data-label="Currency"><script>' not in html


def test_it_costs_the_same_for_any_number_of_rows(admin_client: Client) -> None:
    """No statement for a pass, or a difference."""

    def statements() -> int:
        html_of(admin_client)
        with CaptureQueriesContext(connection) as seen:
            html_of(admin_client)
        return len(seen)

    make_lane("all", totals=TOTALS)
    make_difference()
    few = statements()
    for _ in range(4):
        make_lane("all", totals=TOTALS)
        make_difference()
    assert statements() == few <= 16


def test_nothing_on_it_needs_a_script_or_a_style_of_its_own(admin_client: Client) -> None:
    """A strict content policy allows all of it, but for Django's own parts."""
    make_lane("all", totals=TOTALS)
    content = (
        html_of(admin_client).partition('<div class="ci-page ci-index">')[2].partition('id="content-main"')[0]
    )
    assert content
    assert [each for each in ("<script", "<style", " style=", " onclick=") if each in content] == []


def test_totals_need_the_permission_to_see_money(client: Client) -> None:
    """They are the turnover of the shop."""
    rows.make_sync_run(lane="all", totals=TOTALS, window_from=None, window_to=None, state="complete")
    client.force_login(rows.make_staff("view_syncdifference"))
    assert "19.98 USD" not in client.get(PAGE).content.decode()
    client.force_login(rows.make_staff("view_syncdifference", "view_money", name="owner"))
    assert "19.98 USD" in client.get(PAGE).content.decode()


def verdict_of(client: Client) -> str:
    """The first line of the page, without markup."""
    (line,) = re.findall(r'<p class="ci-headline">(.*?)</p>', html_of(client), re.DOTALL)
    return " ".join(unescape(re.sub("<[^>]+>", " ", line)).split())


def test_one_line_says_whether_all_is_equal(admin_client: Client) -> None:
    """Never read, equal, different; and whether the newest pass has failed."""
    assert verdict_of(admin_client).startswith(
        "! not read Project default: the service's list was not read yet"
    )
    now = datetime.now(UTC)
    rows.make_sync_run(started_at=now - timedelta(minutes=9), finished_at=now - timedelta(minutes=8))
    assert verdict_of(admin_client).startswith(
        "✓ equal Project default: nothing waits. The list was last read"
    )
    assert verdict_of(admin_client).endswith("8 min ago.")
    make_difference(state="healed")
    rows.make_sync_run(started_at=now, state="running")
    assert verdict_of(admin_client).startswith("✓ equal")
    rows.make_sync_run(started_at=now, finished_at=now, state="failed", failure="no answer")
    assert verdict_of(admin_client).startswith("! not read Project default: nothing waits.")
    assert verdict_of(admin_client).endswith("The last attempt has failed: no answer")
    make_difference("order-7")
    assert "different Project default: 1 difference waits for somebody." in verdict_of(admin_client)


def test_a_comparison_that_is_not_of_now_says_so(admin_client: Client) -> None:
    """With its time; once a later pass or a deletion of tests has changed something, it was equal then."""
    now = datetime.now(UTC)
    at = now - timedelta(hours=2)
    whole: dict[str, Any] = {"lane": "all", "state": "complete", "window_from": None, "window_to": None}
    rows.make_sync_run(**whole, totals=TOTALS[:1], started_at=at, finished_at=at)
    text = f"nothing waits. The list was last read 2 h ago. All of it was compared at {moment_text(at)}."
    assert verdict_of(admin_client) == f"✓ equal Project default: {text}"
    rows.make_sync_run(started_at=now, finished_at=now, changed=0)
    assert verdict_of(admin_client).startswith("✓ equal Project")
    rows.make_sync_run(started_at=now, finished_at=now, changed=3)
    assert verdict_of(admin_client).startswith("✓ equal when it was compared Project")
    assert verdict_of(admin_client).endswith("Since then the list has changed 3 orders here.")
    SyncRun.objects.filter(changed=3).delete()
    StaffAct.objects.create(act="delete_tests", origin="admin")
    assert verdict_of(admin_client).endswith("Since then test data was deleted here.")
    assert verdict_of(admin_client).startswith("✓ equal when it was compared Project")


def test_amounts_are_written_as_on_all_pages(admin_client: Client) -> None:
    """And the number of rows does not say that so many differ."""
    make_difference(here="processed 1500 JPY", there="processed 1234.5 USD")
    make_difference("b", here="", there="processed")
    html = html_of(admin_client)
    assert "paid 1,500 JPY" in html and "paid 1,234.50 USD" in html
    assert "2 noted differences" in html


def test_what_waits_comes_first(admin_client: Client) -> None:
    """Before what was healed later."""
    for name, state in (("order-1", "healed"), ("order-2", "waiting"), ("order-3", "healed")):
        make_difference(name, state=state)
    html = html_of(admin_client)
    assert sorted(("order-1", "order-2", "order-3"), key=html.index) == ["order-2", "order-3", "order-1"]
