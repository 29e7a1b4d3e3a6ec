"""Every text that staff see is translated: on pages in a language that marks translated texts, no other words are found."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from django.test import Client
from django.utils.html import escape

from checkout_integration.flows.monitoring import webhook as refusals
from checkout_integration.models import Installation, Order, SyncDifference
from tests.languages.marked_pages import ADMIN, unmarked_in, unmarked_on
from tests.languages.pseudo import marked_texts
from tests.support.admin import rows
from tests.support.admin.screens import SCREENS, make_row, page_address

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
BUTTON = re.compile(
    r'<(?:a class="button[^"]*" href|form method="post" action)="([^"]*/[0-9]+/(?!evidence/)[a-z-]+/)"'
)
"""A button of a page; the one of the evidence leads to a file, which a test of its own reads."""


@pytest.mark.parametrize("screen", SCREENS)
def test_lists_have_translated_texts_only(admin_client: Client, screen: str) -> None:
    """Headings, filters, states, search help and the number of rows of each list."""
    make_row(screen)
    assert unmarked_on(admin_client, f"{ADMIN}{screen}/") == []


@pytest.mark.parametrize("screen", SCREENS)
def test_empty_lists_have_translated_texts_only(admin_client: Client, screen: str) -> None:
    """What an empty list, and a search without a result, say."""
    assert unmarked_on(admin_client, f"{ADMIN}{screen}/") == []
    assert unmarked_on(admin_client, f"{ADMIN}{screen}/?q=4711") == []


@pytest.mark.parametrize("screen", SCREENS)
def test_pages_of_rows_have_translated_texts_only(admin_client: Client, screen: str) -> None:
    """Labels, states, sentences and buttons on the page of each kind of row, and what each button asks and answers."""
    address = page_address(screen, make_row(screen))
    assert unmarked_on(admin_client, address) == []
    for button in BUTTON.findall(admin_client.get(address).content.decode()):
        assert unmarked_on(admin_client, button) == [], button
        assert unmarked_on(admin_client, button, {}) == [], button


@pytest.mark.parametrize(
    "columns",
    [
        {"verdict": "review", "verdict_reason": "unbound"},
        {"verdict": "historic", "verdict_reason": "before_installation"},
        {"status": "created", "verdict": "pending"},
        {"status": "refunded", "refund_amount": 2, "refund_currency": "USD"},
        {"status": "chargeback"},
    ],
)
def test_orders_have_translated_texts_only(admin_client: Client, columns: dict[str, Any]) -> None:
    """Summary, table, timeline and buttons in other states than paid."""
    order = rows.make_order(
        checkout=rows.make_checkout() if "reason" not in str(columns) else None, **columns
    )
    for state in ("failed", "due", "running", "superseded"):
        rows.make_run(order, state=state, attempts=2, error="KeyError", receiver=f"receiver-{state}")
    address = page_address("order", order)
    assert unmarked_on(admin_client, address) == []
    for button in BUTTON.findall(admin_client.get(address).content.decode()):
        assert unmarked_on(admin_client, button) == [], button


def test_viewers_without_personal_data_see_translated_texts_only(client: Client) -> None:
    """What is hidden says so in their language."""
    order = rows.make_order(user=rows.make_customer())
    client.force_login(rows.make_staff("view_order"))
    assert unmarked_on(client, page_address("order", order)) == []
    assert unmarked_on(client, f"{ADMIN}order/") == []


def test_actions_have_translated_texts_only(admin_client: Client) -> None:
    """The confirmation of each action, and what it says when it is done."""
    order = rows.make_order()
    rows.make_run(order, state="failed", attempts=10, error="KeyError", receiver="receiver-x")
    for action in ("check_selected", "run_selected"):
        chosen = {"action": action, "_selected_action": [str(order.pk)]}
        assert unmarked_on(admin_client, f"{ADMIN}order/", chosen) == []
        assert unmarked_on(admin_client, f"{ADMIN}order/", {**chosen, "confirmed": "yes"}) == []
    waiting = rows.make_waiting_notification()
    chosen = {"action": "apply_selected", "_selected_action": [str(waiting.pk)]}
    assert unmarked_on(admin_client, f"{ADMIN}notification/", chosen) == []
    assert unmarked_on(admin_client, f"{ADMIN}notification/", {**chosen, "confirmed": "yes"}) == []


def test_refusals_have_translated_texts_only(admin_client: Client) -> None:
    """A project that the settings do not have, a service that is away, and an order that is bound already."""
    order = rows.make_order()
    Order.objects.filter(pk=order.pk).update(project="gone", verdict="review")
    page = page_address("order", order).removesuffix("change/")
    for button, posted in (
        ("check", {}),
        ("accept", {"reason": "4711"}),
        ("bind", {"reason": "4711", "type": "simple"}),
    ):
        assert unmarked_on(admin_client, f"{page}{button}/", posted) == [], button
    Order.objects.filter(pk=order.pk).update(project="default")
    for button, posted in (("check", {}), ("bind", {"reason": "4711", "type": "simple"})):
        assert unmarked_on(admin_client, f"{page}{button}/", posted) == [], button


def test_money_has_translated_texts_only(admin_client: Client) -> None:
    """Filters, tables and charts, with and without rows, and what a wrong period says."""
    page = f"{ADMIN}money/"
    assert unmarked_on(admin_client, page) == []
    assert unmarked_on(admin_client, f"{page}?first=2026-03-01&last=2025-03-01") == []
    now = datetime.now(UTC)
    for days in (0, 1, 2):
        rows.make_order(created_at=now - timedelta(days=days), country="DE", method_type="BANK_CARD")
    for by in ("", "&by=day", "&by=method&by=vat&by=country"):
        assert unmarked_on(admin_client, f"{page}?mode=test{by}") == []
    assert unmarked_on(admin_client, ADMIN) == []


def test_health_and_queues_have_translated_texts_only(admin_client: Client) -> None:
    """Findings that are well, and those that are not."""
    pages = (ADMIN, f"{ADMIN}installation/", "/admin/")
    for page in pages:
        assert unmarked_on(admin_client, page) == []
    long_ago = datetime.now(UTC) - timedelta(days=9)
    Installation.objects.update_or_create(project="default", defaults={"installed_at": long_ago})
    rows.make_run(rows.make_order(), state="failed", attempts=10, due_at=long_ago)
    rows.make_run(rows.make_order(), state="due", due_at=long_ago)
    rows.make_run(rows.make_order(), state="running", due_at=long_ago)
    for state in ("failed", "quarantined"):
        rows.make_waiting_notification(state)
    rows.make_incident(rows.make_order())
    for _ in range(200):
        refusals.count_refused("default", "INVALID_SIGNATURE")
        refusals.count_refused(refusals.NO_PROJECT, "UNKNOWN_PROJECT")
    refusals.write_refused()
    for page in pages:
        assert unmarked_on(admin_client, page) == []


def test_reconciliation_has_translated_texts_only(admin_client: Client) -> None:
    """Lanes, passes, totals and differences."""
    page = f"{ADMIN}syncdifference/"
    assert unmarked_on(admin_client, page) == []
    total = {"currency": "USD", "status": "processed", "here": {"count": 2, "unknown": 1, "sum": "3"}}
    run = rows.make_sync_run(lane="all", totals=[{**total, "there": {"count": 1, "unknown": 1, "sum": None}}])
    given = {
        "run": run,
        "project": "default",
        "order_id": "order-4711",
        "here": "",
        "there": "x",
        "found_at": run.started_at,
    }
    for number, kind in enumerate(("missing_here", "missing_there", "status", "amount", "unknown")):
        SyncDifference.objects.create(kind=kind, waiting_key=f"key-{number}", **given)
    assert unmarked_on(admin_client, page) == []


def test_evidence_has_translated_texts_only(admin_client: Client) -> None:
    """The page for people in the file of an order."""
    order = make_row("order")
    assert isinstance(order, Order)
    with marked_texts():
        response = admin_client.get(f"{ADMIN}order/{order.pk}/evidence/")
        file = BytesIO(b"".join(response.streaming_content))  # type: ignore[attr-defined]
    assert unmarked_in(ZipFile(file).read("summary.html").decode()) == []


def test_a_text_without_a_mark_is_found() -> None:
    """The search itself: between marks, in them, in attributes, and after a mark that was cut."""
    html = '<p>⟦marked⟧ plain <b>⟦begun</b> inside⟧</p><h1>⟦cut…</h1><p title="spoken">⟦a⟧</p><i translate="no">code</i>'
    assert unmarked_in(html) == ["plain", "spoken"]
    assert unmarked_in(f"<p>{escape('⟦5 < 6⟧')}</p>") == []
