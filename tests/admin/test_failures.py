"""Failed attempts of receivers on the pages of the run and of the order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client

from checkout_integration.models import FailedAttempt, ReceiverRun
from tests.support.admin import rows
from tests.support.admin.screens import page_address

pytestmark = pytest.mark.django_db
WHERE = "shop.stock.Empty at /srv/shop/receivers.py:12 in grant"


def failed_run() -> ReceiverRun:
    """A receiver that failed twice."""
    run = rows.make_run(rows.make_order(), state="due", attempts=2, error="Empty", finished_at=None)
    for attempt in (1, 2):
        FailedAttempt.objects.create(
            run=run, attempt=attempt, error="Empty", traceback=f"{WHERE}\n  <b>line {attempt}</b>"
        )
    return run


def test_both_pages_name_the_shops_file_and_line(admin_client: Client) -> None:
    """The history of attempts, newest first, escaped."""
    run = failed_run()
    for address in (page_address("receiverrun", run), page_address("order", run.order)):
        html = admin_client.get(address).content.decode()
        assert html.count(f"<summary>{WHERE}</summary>") == 2
        assert html.index("&lt;b&gt;line 2&lt;/b&gt;") < html.index("&lt;b&gt;line 1&lt;/b&gt;")


def test_they_need_a_permission(client: Client) -> None:
    """Paths and lines of the shop's code are for those who mend it."""
    run = failed_run()
    client.force_login(rows.make_staff("view_receiverrun", "view_order", name="support"))
    pages = [page_address("receiverrun", run), page_address("order", run.order)]
    assert [WHERE in client.get(page).content.decode() for page in pages] == [False, False]
    client.force_login(
        rows.make_staff("view_receiverrun", "view_order", "view_failedattempt", name="engineer")
    )
    assert [WHERE in client.get(page).content.decode() for page in pages] == [True, True]


def test_a_page_without_failures_has_no_table_of_them(admin_client: Client) -> None:
    """Nothing is said of failures where there were none."""
    run = rows.make_run(rows.make_order())
    assert (
        "Failures of the shop&#x27;s code"
        not in admin_client.get(page_address("receiverrun", run)).content.decode()
    )


@pytest.mark.parametrize(
    ("runner", "columns", "words"),
    [
        (
            "worker",
            {"due_at": timedelta(hours=1)},
            "runs again by itself: an engineer finds the place below. Running it before",
        ),
        ("worker", {"due_at": -timedelta(seconds=5)}, "runs again now. Reload this page"),
        ("request", {"due_at": -timedelta(seconds=5)}, "runs again with the next notification"),
        ("worker", {"due_at": timedelta(), "state": "running"}, "runs again now. Reload this page"),
        ("request", {"due_at": timedelta(), "state": "running"}, "runs again now. Reload this page"),
        ("worker", {"due_at": -timedelta(hours=1)}, "runs again by itself"),
        (
            "worker",
            {"due_at": -timedelta(hours=1), "state": "failed"},
            "was given up: an engineer finds the place below. When it is",
        ),
    ],
)
def test_the_order_says_what_becomes_of_the_failure(
    admin_client: Client, settings: Any, runner: str, columns: dict[str, Any], words: str
) -> None:
    """Whether it runs again by itself, runs at this moment, or waits for the next notification, or for a person."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": runner}
    run = failed_run()
    changes = {**columns, "due_at": datetime.now(UTC) + columns["due_at"]}
    ReceiverRun.objects.filter(pk=run.pk).update(**changes)
    page = unescape(admin_client.get(page_address("order", run.order)).content.decode())
    assert words in page


def test_the_confirmation_says_what_it_costs(admin_client: Client) -> None:
    """To run code again before it is corrected takes one of its attempts."""
    run = failed_run()
    ReceiverRun.objects.filter(pk=run.pk).update(due_at=datetime.now(UTC) + timedelta(hours=1))
    page = admin_client.get(page_address("order", run.order).replace("change", "run")).content.decode()
    assert "Before code that failed is corrected this costs an attempt" in page
