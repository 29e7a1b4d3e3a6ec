"""What the list left out, the totals of both sides, and dry runs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import F

from checkout_integration.client import Client
from checkout_integration.flows.sync import (
    begin_pass,
    differences,
    drift_report,
    read_window,
    sync_transactions,
    windows_left,
)
from checkout_integration.models import Checkout, Installation, Order, SyncCursor, SyncDifference, SyncRun
from checkout_integration.testing.delivery import Deliver
from tests.support.documents import block
from tests.support.flows.list_service import HOUR_AGO, ListService, document, found, listed, report, signed
from tests.support.flows.shop import ShopHooks, record_listed
from tests.support.tables import rows_of_all_tables

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("installed_long_ago")]


def settled() -> None:
    """Let all orders have changed for the last time an hour ago: the list certainly shows them."""
    Order.objects.update(changed_at=HOUR_AGO)


def test_an_order_that_the_list_left_out_is_missing_there(service: ListService) -> None:
    """It is found by a complete pass, once, and healed when the list shows it again."""
    service.rows = [listed(name, minutes) for minutes, name in enumerate("abc")]
    report()
    settled()
    (_, missing, _), service.rows = service.rows, [service.rows[0], service.rows[2]]
    assert found(report()) == {("missing_there", "b", "processed 9.99 USD", "", "waiting")}
    again = report()
    assert (again.differences, [each.order_id for each in again.waiting]) == ([], ["b"])
    service.rows.insert(1, missing)
    assert report().waiting == []


@pytest.mark.parametrize("why", ["unpaid", "just now", "earlier", "later", "reversals"])
def test_some_may_be_left_out(service: ListService, why: str) -> None:
    """An order nobody has paid, one that has just changed, one outside of the period; a filter by status leaves out many."""
    status = "created" if why == "unpaid" else "processed"
    minutes = {"earlier": -5, "later": 15}.get(why, 5)
    service.rows = [listed("a"), listed("b", minutes, status=status), listed("c", 10)]
    report()
    if why != "just now":
        settled()
    service.rows = [service.rows[0], service.rows[2]]
    assert found(report("reversals" if why == "reversals" else "recent")) == set()


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_failed_pass_misses_nothing(service: ListService, dry_run: bool) -> None:
    """What it has not read may be there."""
    service.rows = [listed(name, minutes) for minutes, name in enumerate("abc")]
    report()
    settled()
    service.rows, service.uncounted = [service.rows[0], service.rows[2]], 1
    run = sync_transactions(dry_run=dry_run)
    assert (run.state, list(drift_report(run).differences)) == ("failed", [])
    assert run.failure == "The service counts 1 rows more than it gave."


def line(
    currency: str, status: str, here: tuple[int, str | None], there: tuple[int, str | None], unknown: int = 0
) -> dict[str, Any]:
    """One line of the totals; the amount of so many orders is unknown, on both sides."""
    sides = {
        name: {"count": side[0], "unknown": unknown, "sum": side[1]}
        for name, side in (("here", here), ("there", there))
    }
    return {"currency": currency, "status": status, **sides}


@pytest.mark.spec("ORD-04", "ORD-22", "ORD-23")
def test_totals_of_both_sides(service: ListService) -> None:
    """By currency and status, to the last digit; amounts of two currencies are never added."""
    service.rows = [
        listed("a", 1, amount=Decimal("0.1")),
        listed("b", 2, amount=Decimal("0.2")),
        listed("c", 3, currency="EUR", amount=7),
        listed("d", 4, status="refunded"),
        listed("e", 5, status="created", amount=None),
        listed("f", 6, amount=None),
    ]
    complete = report("all")
    assert complete.run.totals == [
        line("EUR", "processed", (1, "7.0000"), (1, "7.0000")),
        line("USD", "created", (1, None), (1, None), unknown=1),
        line("USD", "processed", (3, "0.3000"), (3, "0.3000"), unknown=1),
        line("USD", "refunded", (1, "9.9900"), (1, "9.9900")),
    ]
    assert complete.totals_agree
    assert report("recent").run.totals == []


def test_totals_that_disagree_are_shown(service: ListService, checkout_deliver: Deliver) -> None:
    """Both values, whatever the reason is."""
    service.rows = [listed("a", 1), listed("b", 2), listed("c", 3, status="rejected"), listed("d", 4)]
    signed(checkout_deliver, dict(service.rows[2]), status="processed")
    report()
    settled()
    service.rows = [service.rows[0], *service.rows[2:]]
    complete = report("all")
    assert complete.run.totals == [
        line("USD", "processed", (4, "39.9600"), (2, "19.9800")),
        line("USD", "rejected", (0, "0.0000"), (1, "9.9900")),
    ]
    assert not complete.totals_agree


@pytest.mark.parametrize("own_status", ["processed", "refunded"])
def test_reversals_are_no_disagreement_of_the_totals(service: ListService, own_status: str) -> None:
    """Neither a reversal that is a row of its own, nor its order, whatever the order's own row says."""
    service.rows = [listed("a", 1), listed("b", 2), listed("c", 3)]
    report()
    settled()
    service.rows = [listed("a", 1, status=own_status), *service.rows[1:], document("refund", of="a")]
    assert report("all").totals_agree
    assert Order.objects.get(order_id="a").status == "refunded"
    assert [each["status"] for each in report("all").run.totals] == ["processed"]


def test_a_reversal_that_waits_is_no_disagreement_of_the_totals(service: ListService) -> None:
    """It waits for its order as a difference; it is no order."""
    service.rows = [listed("a"), document("refund", of="unknown")]
    complete = report("all")
    assert (complete.totals_agree, [each.order_id for each in complete.waiting]) == (True, ["refund"])


def test_rows_that_are_read_twice_are_counted_once(service: ListService, settings: Any) -> None:
    """Pages overlap."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_PAGE_SIZE": 3}
    service.rows = [listed(f"order {number}", number) for number in range(10)]
    complete = report("all")
    assert complete.run.rows > 10
    assert complete.run.totals == [line("USD", "processed", (10, "99.9000"), (10, "99.9000"))]


def test_orders_of_the_last_minutes_are_not_counted(service: ListService) -> None:
    """They are still changing, here and there."""
    now = datetime.now(UTC)
    service.rows = [listed("old"), {**listed("new"), "created_at": now.isoformat()}]
    assert report("all").run.totals == [line("USD", "processed", (1, "9.9900"), (1, "9.9900"))]


def test_a_dry_run_compares_and_writes_nothing(service: ListService, checkout_deliver: Deliver) -> None:
    """Every table is the same afterwards; the differences are those that a pass finds, and all of them wait."""
    service.rows = [
        listed("lost", 1),
        listed("refunded", 2),
        listed("rejected", 3, status="rejected"),
        listed("dearer", 4, amount=12, charge_amount=12),
        listed("odd", 5, status="disputed"),
        document("document", of="refunded"),
        {"id": "unreadable", "x": json.loads("[" * 40 + "]" * 40)},
    ]
    for row in service.rows[1:5]:
        here: dict[str, Any] = {
            "status": "processed",
            "amount": Decimal("9.99"),
            "charge_amount": Decimal("9.99"),
        }
        signed(checkout_deliver, dict(row), **here)
    record_listed([listed("gone", 4)])
    settled()
    before = rows_of_all_tables()
    run = sync_transactions(lane="all", dry_run=True)
    assert rows_of_all_tables() == before
    assert run._state.adding
    assert run.state == "complete"
    assert found(drift_report(run)) == {
        ("missing_here", "lost", "", "processed 9.99 USD", "waiting"),
        ("missing_there", "gone", "processed 9.99 USD", "", "waiting"),
        ("status", "refunded", "processed 9.99 USD", "refunded 9.99 USD", "waiting"),
        ("status", "rejected", "processed 9.99 USD", "rejected 9.99 USD", "waiting"),
        ("amount", "dearer", "processed 9.99 USD", "processed 12 USD", "waiting"),
        ("unknown", "odd", "processed 9.99 USD", "disputed 9.99 USD", "waiting"),
        ("unknown", "unreadable", "", "unreadable", "waiting"),
    }
    assert not drift_report(run).totals_agree


def test_a_dry_run_of_a_shop_without_a_pass(service: ListService) -> None:
    """Not even the time of the installation is written."""
    Installation.objects.all().delete()
    service.rows = [listed("a")]
    assert len(drift_report(sync_transactions(dry_run=True)).differences) == 1
    assert not any(
        model.objects.exists() for model in (Installation, SyncRun, SyncDifference, Order, Checkout)
    )


def test_a_dry_run_that_the_service_does_not_answer(settings: Any) -> None:
    """It says so, and compares nothing."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "LIST_URL": "http://127.0.0.1:9",
        "ALLOW_HTTP_LOOPBACK": True,
        "TIMEOUT": 1,
    }
    run = sync_transactions(dry_run=True)
    assert (run.state, drift_report(run).differences) == ("unreachable", ())
    assert run.failure


def test_what_was_removed_by_another_way_is_healed(service: ListService, checkout_deliver: Deliver) -> None:
    """A notification that comes after the list, for instance: the next complete pass sees that both sides agree."""
    service.rows = [listed("a", status="rejected")]
    signed(checkout_deliver, dict(service.rows[0]), status="processed")
    assert len(report().waiting) == 1
    later = (HOUR_AGO + timedelta(minutes=30)).isoformat()
    signed(checkout_deliver, dict(service.rows[0]), "payment.cancel", status="rejected", canceled_at=later)
    assert Order.objects.get().status == "rejected"
    assert report().waiting == []


def test_a_payment_that_came_by_another_way_is_healed(
    service: ListService, checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """Although the list, or this part of it, does not show the order any more."""
    row = listed("a")
    service.rows = [row]

    def fail(order: Any) -> None:
        raise KeyError("a bug of the shop")

    hooks.resolve = staticmethod(fail)
    assert len(report().waiting) == 1
    hooks.resolve = staticmethod(lambda order: None)
    service.rows = []
    assert len(report().waiting) == 1
    signed(checkout_deliver, row)
    assert report().waiting == []


def test_a_document_on_a_later_page_explains_a_row(
    service: ListService, settings: Any, checkout_deliver: Deliver
) -> None:
    """The order's own row stays processed there, so it was no difference at all."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_PAGE_SIZE": 2}
    service.rows = [listed(name, minutes) for minutes, name in enumerate("abcd")]
    signed(checkout_deliver, dict(service.rows[0]))
    signed(checkout_deliver, dict(service.rows[0]), "payment.refund", status="refunded")
    service.rows.append(document("refund", of="a"))
    assert {each[0] for each in found(report())} == {"missing_here"}


def test_the_windows_of_a_pass_add_up_and_a_resumed_one_reports_all(
    service: ListService, settings: Any
) -> None:
    """What the pass before it found in its windows belongs to the pass that has them now."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_PAGE_SIZE": 2}
    service.rows = [listed(f"order {number}", number * 8 * 60 - 10_000) for number in range(18)]
    killed = begin_pass("default", "all")
    first, *rest = windows_left(killed)
    assert len(rest) > 3
    assert read_window(killed, first)
    SyncCursor.objects.update(busy_until=HOUR_AGO)
    run = sync_transactions(lane="all")
    resumed = drift_report(run)
    assert resumed.counts == {"missing_here": 18}
    assert resumed.totals_agree
    assert sum(each["there"]["count"] for each in run.totals) >= 18
    assert drift_report(killed).differences == []


def test_the_example_of_the_page(service: ListService) -> None:
    """docs/sync.md."""
    service.rows = [listed("lost")]
    page: dict[str, Any] = {}
    exec(block("docs/sync.md", "# drift.py"), page)
    assert page["what_differs"]() == ["missing_here lost:  here, processed 9.99 USD there"]


@pytest.mark.parametrize("place", [(Client, "list_transactions"), (differences, "compared_window")])
def test_a_pass_that_was_overtaken_stores_no_difference(
    service: ListService, monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str]
) -> None:
    """Neither what it cannot read nor what the list has left out: the next pass may have seen more."""
    service.rows = [listed(name, minutes) for minutes, name in enumerate("abc")]
    report()
    settled()
    is_page, look = place[0] is Client, getattr(*place)
    deep = {"id": "deep", "x": json.loads("[" * 40 + "]" * 40)}
    service.rows = [deep] if is_page else [service.rows[0], service.rows[2]]

    def overtaken(*given: Any) -> Any:
        found_there = look(*given)
        SyncCursor.objects.update(fence=F("fence") + 1)
        return found_there

    # A mock, since the moment between a look and its transaction has no other seam.
    monkeypatch.setattr(*place, overtaken)
    assert sync_transactions(lane="all").state == "abandoned"
    assert not SyncDifference.objects.filter(kind__in=["unknown", "missing_there"]).exists()
