"""The drift report: each kind of difference is shown with both values, healed or waiting, and only while it is one."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.models import Installation, Order, Refund, SyncDifference, SyncRun
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.list_service import HOUR_AGO, ListService, document, found, listed, report, signed
from tests.support.flows.shop import ShopHooks, notification, record_listed

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("installed_long_ago")]


@pytest.mark.spec("ORD-04", "ORD-22", "STA-01")
def test_one_difference_of_each_kind(service: ListService, checkout_deliver: Deliver) -> None:
    """Each is shown with both values; the list heals what it outranks, and the rest waits."""
    service.rows = [
        listed("lost", 1),
        listed("refunded", 2, status="refunded", refunded_at=HOUR_AGO.isoformat()),
        listed("rejected", 3, status="rejected"),
        listed("dearer", 4, amount=Decimal("12.99")),
        listed("odd", 5, status="disputed"),
        listed("strange", 6, currency="GEM"),
        listed("equal", 7),
    ]
    for row in service.rows[1:]:
        here: dict[str, Any] = {
            "status": "processed",
            "amount": Decimal("9.99"),
            "currency": "USD",
            "refunded_at": "",
        }
        here |= {"charge_amount": here["amount"], "charge_currency": "USD"}
        signed(checkout_deliver, dict(row), **here)
    assert found(report()) == {
        ("missing_here", "lost", "", "processed 9.99 USD", "healed"),
        ("status", "refunded", "processed 9.99 USD", "refunded 9.99 USD", "healed"),
        ("status", "rejected", "processed 9.99 USD", "rejected 9.99 USD", "waiting"),
        ("amount", "dearer", "processed 9.99 USD", "processed 12.99 USD", "waiting"),
        ("unknown", "odd", "processed 9.99 USD", "disputed 9.99 USD", "waiting"),
        ("unknown", "strange", "processed 9.99 USD", "processed 9.99 GEM", "waiting"),
        ("amount", "strange", "processed 9.99 USD", "processed 9.99 GEM", "waiting"),
    }


def test_an_unchanged_pass_finds_nothing_and_what_waits_is_still_shown(
    service: ListService, checkout_deliver: Deliver
) -> None:
    """Until the service and the shop agree."""
    service.rows = [listed("rejected", status="rejected"), listed("lost")]
    signed(checkout_deliver, dict(service.rows[0]), status="processed")
    first = report()
    assert (len(first.differences), len(first.waiting)) == (2, 1)
    second = report()
    assert (second.differences, [each.order_id for each in second.waiting]) == ([], ["rejected"])
    service.rows[0] = listed("rejected")
    third = report()
    assert (third.differences, third.waiting) == ([], [])
    assert set(SyncDifference.objects.values_list("state", flat=True)) == {"healed"}


def test_a_row_that_cannot_be_recorded_waits_and_is_listed_once(
    service: ListService, hooks: type[ShopHooks]
) -> None:
    """Every pass reads it again, because nothing is remembered of it."""
    service.rows = [listed("fails")]

    def fail(order: Any) -> None:
        raise KeyError("a bug of the shop")

    hooks.resolve = staticmethod(fail)
    assert found(report()) == {("missing_here", "fails", "", "processed 9.99 USD", "waiting")}
    again = report()
    assert (again.differences, len(again.waiting)) == ([], 1)
    Order.objects.create(project="other", order_id="fails", status="processed")
    assert len(report().waiting) == 1, "the order of another project explains nothing"
    hooks.resolve = staticmethod(lambda order: None)
    assert found(report()) == {("missing_here", "fails", "", "processed 9.99 USD", "healed")}
    assert report().waiting == []


def test_a_row_that_cannot_be_read_is_unknown(service: ListService) -> None:
    """Its order may be paid, and nobody can see it."""
    service.rows = [
        {
            "id": "deep",
            "x": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]],
        }
    ]
    assert found(report()) == {("unknown", "deep", "", "unreadable", "waiting")}
    service.rows = [listed("deep")]
    assert found(report()) == {("missing_here", "deep", "", "processed 9.99 USD", "healed")}
    assert report().waiting == []


def test_text_that_is_no_word_is_not_shown(service: ListService) -> None:
    """It may be anything, a name too."""
    service.rows = [listed("odd", status="Jane Doe, 1 High Street")]
    assert found(report()) == {("unknown", "odd", "", "unreadable 9.99 USD", "waiting")}


@pytest.mark.spec("STA-02", "STA-09")
def test_what_only_the_list_shows_is_no_difference(service: ListService) -> None:
    """No notification is sent of an order that is not paid, nor of its amount while its form is open."""
    service.rows = [listed("a", status="created"), listed("b", status="created", amount=1)]
    assert found(report()) == set()
    service.rows = [listed("a", status="pending"), listed("b", status="created", amount=2)]
    assert found(report()) == set()
    service.rows = [listed("a")]
    assert found(report()) == {("status", "a", "pending 9.99 USD", "processed 9.99 USD", "healed")}


def test_a_list_that_lags_is_no_difference(service: ListService, checkout_deliver: Deliver) -> None:
    """Its data may be a quarter of an hour old."""
    service.rows = [listed("a", status="created")]
    order = OrderDocumentFactory(id="a", created_at=HOUR_AGO.isoformat())
    assert checkout_deliver(notification(order=order)).status_code == 200
    assert found(report()) == set()


def test_old_orders_are_no_differences_in_the_first_pass(service: ListService) -> None:
    """They are from before the installation; what becomes of them later is one."""
    Installation.objects.update(installed_at=datetime.now(UTC))
    long_ago = (HOUR_AGO - timedelta(days=90)).isoformat()
    service.rows = [{**listed("old"), "created_at": long_ago}]
    assert found(report()) == set()
    service.rows = [{**service.rows[0], "status": "refunded", "refunded_at": HOUR_AGO.isoformat()}]
    assert {each[0] for each in found(report("all"))} == {"status"}


@pytest.mark.parametrize("own_status", ["processed", "refunded"])
def test_a_reversal_document_is_no_order_of_its_own(
    service: ListService, checkout_deliver: Deliver, own_status: str
) -> None:
    """It is a difference of its order, once; afterwards it explains the order's own row, whatever that says."""
    service.rows = [listed("a"), listed("b", 1), listed("c", 2)]
    for row in service.rows:
        signed(checkout_deliver, dict(row))
    assert found(report()) == set()
    signed(checkout_deliver, dict(service.rows[1]), "payment.refund", status="refunded")
    documents = [document(f"document of {name}", of=name) for name in "ab"]
    rows = [{**row, "status": own_status} for row in service.rows[:2]]
    service.rows = [*rows, *service.rows[2:], *documents]
    assert found(report()) == {("status", "a", "processed 9.99 USD", "refunded 9.99 USD", "healed")}
    service.rows[0] = {**service.rows[0], "description": "read again"}
    assert found(report()) == set()


@pytest.mark.parametrize("status", ["processed", "chargeback"])
def test_a_reversal_that_missed_its_order_finds_it(service: ListService, status: str) -> None:
    """Their transactions were open at the same time; any pass puts them together, though it does not read them again."""
    service.rows = [listed("other")]
    report()
    reversal = document("reversal", of="a")
    if status == "chargeback":
        reversal["status"] = status
    record_listed([reversal])
    Refund.objects.update(transaction="not seen yet")
    record_listed([listed("a", status=status)])
    Refund.objects.filter(document_id="reversal").update(transaction=reversal["transaction"])
    assert Refund.objects.filter(order=None).exists()
    assert report().waiting == []
    order = Order.objects.get(order_id="a")
    assert (order.status, Refund.objects.get().order) == (reversal["status"], order)


@pytest.mark.spec("RFD-01")
def test_a_second_partial_refund_is_another_amount(service: ListService) -> None:
    """The status stays as it was."""
    service.rows = [listed("a")]
    report()
    parts = [
        document(f"part {number}", "a", 30 + number, refund={"amount": number, "currency": "USD"})
        for number in (2, 3)
    ]
    service.rows.append(parts[0])
    assert found(report()) == {("status", "a", "processed 9.99 USD", "refunded 2 USD", "healed")}
    service.rows.append(parts[1])
    assert found(report()) == {("amount", "a", "refunded 2 USD", "refunded 5 USD", "healed")}


def test_a_reversal_whose_order_is_not_known_waits_for_it(service: ListService) -> None:
    """Then it is a part of the order."""
    service.rows = [document("document", of="a")]
    assert found(report()) == {("missing_here", "document", "", "refunded 9.99 USD", "waiting")}
    service.rows = [listed("a"), *service.rows]
    again = report()
    assert found(again) == {("missing_here", "a", "", "refunded 9.99 USD", "healed")}
    assert again.waiting == []


def test_the_report_is_json(service: ListService) -> None:
    """Texts and numbers only."""
    service.rows = [listed("lost")]
    written = json.loads(json.dumps(report().as_json()))
    assert (written["counts"], written["waiting"]) == ({"missing_here": 1}, 0)
    assert written["differences"][0]["there"] == "processed 9.99 USD"


def test_a_pass_lists_a_limited_number(service: ListService, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever happened to the shop: the orders are recorded all the same."""
    monkeypatch.setattr("checkout_integration.flows.sync.differences.MOST", 3)
    service.rows = [listed(f"order {number}", number) for number in range(5)]
    assert len(report().differences) == 3
    assert Order.objects.count() == 5


def test_a_refresh_of_one_order_reports_nothing(service: ListService) -> None:
    """It is no pass."""
    record_listed([listed("a", status="created")])
    service.rows = [listed("a")]
    flows.refresh_order(Order.objects.get())
    assert not SyncRun.objects.exists()
    assert not SyncDifference.objects.exists()
