"""Rows that are the same as at their last reading: nothing is read, nothing is written, nothing is lost."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkout_integration import flows
from checkout_integration.flows.database import state_database
from checkout_integration.models import Checkout, Incident, ListedRow, Order, Refund
from checkout_integration.policy import state as state_rules
from checkout_integration.sandbox import Sandbox
from tests.support.client.stub import http, running
from tests.support.flows.list_service import ListService, listed, report
from tests.support.flows.shop import ShopHooks
from tests.support.scale import times

pytestmark = pytest.mark.django_db
WRITE = re.compile(r"(\d+ times: )?(INSERT|UPDATE|DELETE)")
BOOKKEEPING = (
    "syncrun",
    "syncwindow",
    "synccursor",
    "installation",
)  # SQLite's write lock is an UPDATE of no installation


def pay(sandbox: Sandbox, count: int = 1) -> list[Checkout]:
    """Sell, and let the customers pay."""
    checkouts = [flows.create_checkout(amount=Decimal("9.99"), currency="USD") for _ in range(count)]
    for checkout in checkouts:
        sandbox.payments.pay(checkout.order_id)
    return checkouts


def writes_of_a_pass() -> list[str]:
    """Sync, and return the statements that write to other tables than those of the sync itself."""
    with CaptureQueriesContext(connection) as queries:
        assert flows.sync.sync_transactions().state == "complete"
    assert state_database() == connection.alias
    written = [query["sql"] for query in queries if WRITE.match(query["sql"])]
    return [sql for sql in written if not any(table in sql for table in BOOKKEEPING)]


def test_an_unchanged_pass_writes_nothing(checkout_sandbox: Sandbox) -> None:
    """Not one row of any order; what was changed meanwhile is written alone."""
    checkouts = pay(checkout_sandbox, 3)
    assert writes_of_a_pass()
    changed_at = dict(Order.objects.values_list("order_id", "changed_at"))
    assert writes_of_a_pass() == []
    checkout_sandbox.payments.refund(checkouts[1].order_id)
    assert writes_of_a_pass()
    moved = {
        key for key, at in Order.objects.values_list("order_id", "changed_at") if at != changed_at.get(key)
    }
    assert moved == {checkouts[1].order_id}
    assert writes_of_a_pass() == []


@pytest.mark.postgres
def test_an_unchanged_pass_over_many_orders_writes_no_row(
    service: ListService, installed_long_ago: None, record_property: Any
) -> None:
    """By the statistics of the database, which count each row that was inserted, updated or deleted; and nothing differs."""
    service.rows = [listed(f"order {number}", number % 50) for number in range(times(300, 10_000))]
    assert len(report("all").differences) == len(service.rows)
    before = written_rows()
    for lane in ("all", "recent"):
        unchanged = report(lane)
        assert (unchanged.differences, unchanged.waiting, unchanged.totals_agree) == ([], [], True)
    written = {table: count for table, count in written_rows().items() if count != before[table]}
    assert {table for table in written if not any(name in table for name in BOOKKEEPING)} == set()
    record_property("rows of an unchanged pass", f"{len(service.rows)} read, none of them written")


def written_rows() -> dict[str, int]:
    """How many rows of each table this transaction has inserted, updated and deleted."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_xact_user_tables")
        return {str(table): int(count) for table, count in cursor.fetchall()}


def test_a_row_that_failed_is_read_again(checkout_sandbox: Sandbox, hooks: type[ShopHooks]) -> None:
    """Nothing is remembered of it, so the next pass records it without any change at the service."""
    (checkout,) = pay(checkout_sandbox)
    Order.objects.all().delete()
    Checkout.objects.all().delete()

    def fail(order: Any) -> None:
        raise KeyError("a bug of the shop")

    hooks.resolve = staticmethod(fail)
    flows.sync.sync_transactions()
    assert not ListedRow.objects.exists()
    hooks.resolve = staticmethod(lambda order: None)
    flows.sync.sync_transactions()
    assert Order.objects.get().order_id == checkout.order_id
    assert ListedRow.objects.count() == 1


def test_a_reversal_that_waits_is_read_again(checkout_sandbox: Sandbox) -> None:
    """Until its order is known: then it is the order's, and remembered."""
    (checkout,) = pay(checkout_sandbox)
    Order.objects.all().delete()
    checkout_sandbox.clock.advance(3600)
    checkout_sandbox.payments.refund(checkout.order_id)
    flows.sync.sync_transactions(lane="reversals")
    assert Refund.objects.get().order is None
    assert not ListedRow.objects.exists()
    flows.sync.sync_transactions()
    assert Order.objects.get().status == "refunded"
    assert ListedRow.objects.count() == 2


def test_other_rules_read_each_row_once_more(
    checkout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version of the rules is a part of the hash."""
    pay(checkout_sandbox)
    flows.sync.sync_transactions()
    before = ListedRow.objects.get().row_hash
    monkeypatch.setattr(
        "checkout_integration.flows.sync.list_rows.RULES_VERSION", state_rules.RULES_VERSION + 1
    )
    flows.sync.sync_transactions()
    assert ListedRow.objects.get().row_hash != before


def test_a_row_that_cannot_be_read_costs_an_incident(settings: Any) -> None:
    """And never the pass: the other rows of its page are recorded."""
    rows = b'{"count":2,"items":[{"id":"bad","id":"bad"},{"id":"good","status":"processed","amount":9.99}]}'
    end = b'{"count":2,"items":[]}'
    with running(http(200, rows), http(200, rows), http(200, end)) as stub:
        urls = dict.fromkeys(("BASE_URL", "CHECKOUT_URL", "LIST_URL"), stub.url)
        settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **urls, "ALLOW_HTTP_LOOPBACK": True}
        flows.sync.sync_transactions(lane="all")
    assert [order.order_id for order in Order.objects.all()] == ["good"]
    assert [incident.detail for incident in Incident.objects.filter(kind="not_applied")] == [
        "a row of the answer was not read: an object has two equal keys at order bad"
    ]


def test_one_order_that_is_requested_is_read_whatever_is_remembered(checkout_sandbox: Sandbox) -> None:
    """Staff have a reason to ask."""
    (checkout,) = pay(checkout_sandbox)
    flows.sync.sync_transactions()
    assert flows.refresh_checkout(checkout)
