"""The findings about due work, receivers, lanes and incidents, and the health as a whole."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkout_integration.conf import UnknownAlias
from checkout_integration.flows import operations, run_due
from checkout_integration.flows.operations import Finding
from checkout_integration.flows.sync import LANES as LANE_NAMES
from checkout_integration.models import Installation, Notification, Order, OutboxMessage, ReceiverRun
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.admin import rows
from tests.support.documents import block
from tests.support.flows.notified import came, installed
from tests.support.flows.shop import Failing, Listening, make_due
from tests.support.plans import analyze, empty_tables, plans_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def now() -> datetime:
    """The time, of an app that was installed an hour ago: no lane is overdue."""
    moment = datetime.now(UTC)
    installed(moment - timedelta(minutes=50))
    return moment


def found(name: str) -> Finding:
    """The finding of this name."""
    (finding,) = [each for each in operations.health().findings if each.name == name]
    return finding


def test_of_a_new_installation_nothing_is_known(now: datetime) -> None:
    """Before anything came nothing shows that it works, and nothing that it does not; each gauge of it is -1."""
    for _ in ("installed", "not installed"):
        health = operations.health()
        unknown = {each.name for each in health.findings if each.severity == "unknown"}
        assert health.severity == "unknown" and {"notifications", "service"} <= unknown
        assert {each.severity.level for each in health.findings if each.name in unknown} == {-1}
        Installation.objects.all().delete()


def test_the_whole_is_well_once_all_of_it_was_seen(now: datetime) -> None:
    """And stays so, however long ago that was: it is in the rows."""
    come(now)
    assert operations.health().severity == "ok"
    Notification.objects.update(received_at=now - timedelta(days=300))
    assert operations.health().severity == "ok"


def come(now: datetime) -> None:
    """Let a notification come and each lane be read: all that health waits for has been seen."""
    came(now)
    for lane in LANE_NAMES:
        rows.make_sync_run(lane=lane, started_at=now)


@pytest.mark.parametrize(("minutes", "severity"), [(0, "ok"), (2, "warning"), (6, "failing")])
@pytest.mark.parametrize("step", ["apply", "run"])
def test_the_oldest_work_of_each_step_ages(
    listen: Listening, now: datetime, step: str, minutes: int, severity: str
) -> None:
    """The finding names who should do it; the other steps are well, and it clears once the work is done."""
    listen(checkout_paid)
    since = datetime.now(UTC) - timedelta(minutes=minutes)
    if step == "apply":
        came(now, state="stored", due_at=since, body=b"{}")
    else:
        OrderFactory(checkout=CheckoutFactory())
        OutboxMessage.objects.update(recorded_at=since)
    if step == "run":
        ReceiverRun.objects.update(due_at=since)
    finding = found(step)
    assert (finding.severity, "RUNNER" in finding.action) == (severity, severity != "ok")
    assert [found(other).severity for other in {"apply", "run"} - {step}] == ["ok"]
    Notification.objects.update(due_at=None)
    run_due()
    assert found(step).severity == "ok"


def test_a_receiver_that_fails_is_a_warning_until_it_has_run(listen: Listening, now: datetime) -> None:
    """Between its attempts."""
    listen(checkout_paid, Failing(times=1))
    OrderFactory(checkout=CheckoutFactory())
    run_due()
    finding = found("receivers_failing")
    assert (finding.severity, finding.figures["failing"], finding.figures["customers"]) == ("warning", 1, 1)
    make_due()
    run_due()
    assert found("receivers_failing").severity == "ok"


@pytest.mark.parametrize(("days", "severity"), [(1, "failing"), (8, "warning")])
def test_a_receiver_that_was_given_up_is_failing_for_a_week(now: datetime, days: int, severity: str) -> None:
    """After that a monitor need not stay red; the page says it all the same."""
    rows.make_run(rows.make_order(), state="failed", due_at=now - timedelta(days=days))
    assert found("receivers_given_up").severity == severity
    ReceiverRun.objects.update(state="done")
    assert found("receivers_given_up").severity == "ok"


def test_a_receiver_beyond_its_deadline_is_failing(now: datetime, settings: Any) -> None:
    """It may hang."""
    since = datetime.now(UTC) - timedelta(seconds=4)  # not for so long that it would be taken for left behind
    rows.make_run(rows.make_order(), state="running", due_at=since, finished_at=None)
    assert found("receivers_overlong").severity == "ok"
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RECEIVER_DEADLINE": 1}
    assert (found("receivers_overlong").severity, found("receivers_overlong").figures["overdue"]) == (
        "failing",
        1,
    )


def test_open_incidents_are_a_warning(now: datetime) -> None:
    """Until they are resolved."""
    incident = rows.make_incident(None)
    assert (found("incidents").severity, found("incidents").figures) == ("warning", {"open": 1})
    incident.resolved_at = now
    incident.save()
    assert found("incidents").severity == "ok"


LANES = [
    ("recent", timedelta(minutes=50), "ok"),
    ("recent", timedelta(minutes=70), "warning"),
    ("recent", timedelta(hours=25), "failing"),
    ("open", timedelta(hours=1.5), "ok"),
    ("open", timedelta(hours=2.5), "warning"),
    ("reversals", timedelta(days=1.5), "ok"),
    ("reversals", timedelta(days=2.5), "warning"),
    ("all", timedelta(days=10), "ok"),
    ("all", timedelta(days=15), "warning"),
]


@pytest.mark.parametrize(("lane", "age", "severity"), LANES)
def test_a_lane_is_overdue_after_twice_its_interval(lane: str, age: timedelta, severity: str) -> None:
    """And after an hour at least; a complete pass ends it, one over a period that somebody chose does not."""
    now = datetime.now(UTC)
    installed(now - timedelta(days=100))
    rows.make_sync_run(lane=lane, started_at=now - age)
    rows.make_sync_run(lane=lane, started_at=now, window_from=now - age, window_to=now)
    rows.make_sync_run(lane=lane, started_at=now, state="unreachable")
    finding = found(f"sync_{lane}")
    assert (finding.severity, finding.figures["complete_at"]) == (severity, (now - age).isoformat())
    rows.make_sync_run(lane=lane, started_at=now + timedelta(seconds=1))
    assert found(f"sync_{lane}").severity == "ok"


def test_passes_that_fail_for_days_are_overdue_too() -> None:
    """The last complete one is not looked for among all passes of the past."""
    now = datetime.now(UTC)
    installed(now - timedelta(days=100))
    rows.make_sync_run(started_at=now - timedelta(days=90))
    for number in range(300):
        rows.make_sync_run(started_at=now - timedelta(minutes=5 * number), state="failed")
    finding = found("sync_recent")
    assert (finding.severity, finding.figures["complete_at"]) == ("failing", None)
    assert "failed" in finding.action


def test_the_worst_finding_is_the_severity_of_the_whole(now: datetime) -> None:
    """And of a project the worst stands first."""
    rows.make_incident(None)
    assert operations.health().severity == "warning"
    came(now - timedelta(hours=2), state="failed")
    health = operations.health()
    assert health.severity == "failing"
    assert [each.name for each in health.of("default")][:2] == ["not_applied", "incidents"]


def test_an_unknown_project_is_refused() -> None:
    """With the aliases that there are."""
    with pytest.raises(UnknownAlias, match="default"):
        operations.health("elsewhere")


def test_a_database_that_is_away_is_the_one_finding(database_away: None) -> None:
    """It raises nothing, and names no host."""
    (finding,) = operations.health().findings
    assert (finding.name, finding.severity) == ("database", "failing")
    assert "nonexistent" not in finding.text


def many_rows(now: datetime) -> None:
    """A few rows of everything that the health looks at."""
    came(now - timedelta(hours=2), 5, state="failed")
    for _ in range(5):
        order = rows.make_order()
        rows.make_incident(order)
        rows.make_run(order, state="due", finished_at=None)
        rows.make_run(order, state="failed")
        rows.make_sync_run(started_at=now)


@pytest.mark.parametrize("look", [operations.health, operations.staff_queues])
def test_the_number_of_statements_does_not_grow(now: datetime, look: Callable[[], object]) -> None:
    """Nor is anything counted row by row."""
    many_rows(now)
    with CaptureQueriesContext(connection) as few:
        look()
    many_rows(now)
    with CaptureQueriesContext(connection) as many:
        look()
    clock = 1  # a server is asked for its time, SQLite is not
    assert len(many) == len(few) <= 37 + clock


@pytest.mark.postgres
@pytest.mark.parametrize("look", [operations.health, operations.staff_queues])
def test_indexes_serve_every_statement(now: datetime, look: Callable[[], object]) -> None:
    """No statement can only be served by reading a whole table; a few installations are read whole."""
    empty_tables()
    installed(now)
    many_rows(now)
    analyze()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    for plan in plans_of(look):
        assert plan.tables_read("Seq Scan") <= {Installation._meta.db_table}, plan


def test_the_morning_of_the_page(now: datetime) -> None:
    """Its code says what is not well, and what waits for somebody."""
    page = ModuleType("shop.morning")
    exec(block("docs/health.md", "# shop/morning.py"), vars(page))
    come(now)
    assert (page.to_say(), page.to_do()) == ([], {})
    rows.make_incident(None)
    assert [line.partition(":")[0] for line in page.to_say()] == ["incidents"]
    assert page.to_do() == {"incidents": "1"}


QUEUES: list[tuple[str, Callable[[datetime], object]]] = [
    ("review", lambda now: rows.make_order(verdict="review")),
    ("pending", lambda now: rows.make_order(status="pending", created_at=now - timedelta(days=2))),
    ("chargebacks", lambda now: rows.make_order(status="chargeback", refunded_at=now - timedelta(days=2))),
    ("failed", lambda now: came(now, state="failed")),
    ("quarantined", lambda now: came(now, state="quarantined")),
    ("receivers_given_up", lambda now: rows.make_run(rows.make_order(), state="failed")),
    (
        "receivers_failing",
        lambda now: rows.make_run(rows.make_order(), state="due", due_at=now + timedelta(minutes=5)),
    ),
    ("incidents", lambda now: rows.make_incident(None)),
]


@pytest.mark.parametrize(("name", "make"), QUEUES, ids=[name for name, _make in QUEUES])
def test_each_queue_counts_its_rows(now: datetime, name: str, make: Callable[[datetime], object]) -> None:
    """And no others."""
    make(now)
    assert {queue.name: queue.count for queue in operations.staff_queues() if queue.count} == {name: 1}


NOT_WAITING = [
    {"verdict": "review", "status": "refunded"},
    {"status": "pending", "created_at": datetime.now(UTC)},
    {"status": "created", "created_at": datetime.now(UTC) - timedelta(days=2)},
    {"status": "rejected", "created_at": datetime.now(UTC) - timedelta(days=2)},
    {"status": "chargeback", "refunded_at": datetime.now(UTC) - timedelta(days=8)},
]


@pytest.mark.parametrize("columns", NOT_WAITING)
def test_what_waits_for_nobody_is_in_no_queue(columns: dict[str, Any]) -> None:
    """Reversed, young, abandoned, or long ago."""
    rows.make_order(**columns)
    assert [queue.name for queue in operations.staff_queues() if queue.count] == []


def test_an_order_is_not_granted_until_its_receiver_has_run(listen: Listening, now: datetime) -> None:
    """Two receivers of one order are one order; a receiver of another signal grants nothing. Five minutes are left to it."""
    failing = Failing(times=2)
    listen(checkout_paid, failing, name="one")
    listen(checkout_paid, failing, name="two")
    OrderFactory(checkout=CheckoutFactory())
    run_due()
    rows.make_run(rows.make_order(), signal="order_changed", state="due", due_at=now + timedelta(days=1))
    assert {queue.name: queue.count for queue in operations.staff_queues()}["not_granted"] == 0
    OutboxMessage.objects.update(recorded_at=now - timedelta(minutes=6))
    counts = {queue.name: queue.count for queue in operations.staff_queues()}
    assert (counts["not_granted"], counts["receivers_failing"]) == (1, 3)
    make_due()
    run_due()
    assert {queue.name: queue.count for queue in operations.staff_queues()}["not_granted"] == 0


def test_an_order_whose_grant_was_closed_is_not_to_be_granted(listen: Listening, now: datetime) -> None:
    """It was refunded before its receiver had run."""
    listen(checkout_paid, Failing())
    OrderFactory(checkout=CheckoutFactory())
    run_due()
    Order.objects.get().grants.update(state="closed")
    OutboxMessage.objects.update(recorded_at=now - timedelta(minutes=6))
    assert {queue.name: queue.count for queue in operations.staff_queues()}["not_granted"] == 0


def test_a_count_ends_at_its_limit(now: datetime) -> None:
    """1,000+ means 1,000 or more."""
    came(now, 1_001, state="quarantined")
    (queue,) = [each for each in operations.staff_queues() if each.count]
    assert (queue.name, queue.shown) == ("quarantined", "1,000+")
