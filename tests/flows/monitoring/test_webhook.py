"""Findings about the webhook: payments of which no notification came, and silence against the usual rhythm."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from checkout_integration.flows import operations
from checkout_integration.flows.monitoring import order_queues
from checkout_integration.flows.operations import Finding
from checkout_integration.models import Notification, Order
from tests.support.admin import rows
from tests.support.flows.notified import came, came_each_week, installed

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
LONG_AGO = timedelta(days=100)


@pytest.fixture
def now() -> datetime:
    """The time, of an app that was installed long ago."""
    moment = datetime.now(UTC)
    installed(moment - LONG_AGO)
    return moment


def found(name: str, project: str = "default") -> Finding:
    """The finding of this name."""
    (finding,) = [each for each in operations.health(project).of(project) if each.name == name]
    return finding


def test_silence_in_hours_that_were_busy_each_week_is_a_warning(now: datetime) -> None:
    """It says how long, and how many came in the same stretch of the weeks before."""
    last = now - HOUR
    came(last)
    came_each_week(last, 30, 25, 40, 30)
    finding = found("notifications")
    assert (finding.severity, finding.figures["usual_count"]) == ("warning", 25)
    assert "No notification of a payment for 60 min" in finding.text and "25 came" in finding.text


def test_a_question_about_a_customer_is_no_sign_of_notified_payments(now: datetime) -> None:
    """user.validate comes before a payment: it neither ends a silence nor hides a webhook that never worked."""
    came_each_week(now - HOUR, 30, 30, 30, 30)
    came(now - HOUR)
    for at in (now, now - timedelta(minutes=1)):
        rows.make_notification(f"user-{at}", event="user.validate", received_at=at)
    finding = found("notifications")
    assert (finding.severity, finding.figures["last_at"]) == ("warning", (now - HOUR).isoformat())
    Notification.objects.exclude(event="user.validate").delete()
    paid(now - timedelta(minutes=16), notified=False)
    finding = found("notifications")
    assert finding.severity == "failing" and "No notification of a payment has ever come" in finding.text
    assert finding.link.endswith("/order/?queue=unnotified")


def test_a_single_lost_notification_is_named_with_its_rows(now: datetime) -> None:
    """Although it is no warning yet."""
    came(now - timedelta(minutes=2))
    for minutes in range(20, 29):
        paid(now - timedelta(minutes=minutes), notified=True)
    paid(now - timedelta(minutes=30), notified=False)
    finding = found("notifications")
    assert finding.severity == "ok" and finding.link.endswith("/order/?queue=unnotified")
    assert (
        finding.text
        == "The last notification of a payment came 2 min ago. Of 1 of the last 10 payments none came."
    )


@pytest.mark.parametrize("counts", [(30, 30, 30, 19), (30, 0, 30, 30), (0, 0, 0, 0)])
def test_silence_in_hours_that_were_quiet_in_one_week_is_none(now: datetime, counts: tuple[int, ...]) -> None:
    """Few payments, a night or a holiday: nobody is woken."""
    last = now - HOUR
    came(last)
    came_each_week(last, *counts)
    assert found("notifications").severity == "ok"


def test_the_next_notification_ends_the_silence(now: datetime) -> None:
    """Without anybody doing anything."""
    came_each_week(now - HOUR, 30, 30, 30, 30)
    came(now - HOUR)
    assert found("notifications").severity == "warning"
    came(now)
    assert found("notifications").severity == "ok"


def test_half_an_hour_is_no_silence(now: datetime) -> None:
    """However busy the shop usually is."""
    last = now - timedelta(minutes=29)
    came(last)
    came_each_week(last, 100, 100, 100, 100)
    assert found("notifications").severity == "ok"


@pytest.mark.parametrize(("days", "severity"), [(6, "ok"), (8, "warning")])
def test_weeks_before_the_installation_are_not_compared(days: int, severity: str) -> None:
    """In the first week there is nothing to compare with; after that the weeks that are there."""
    moment = datetime.now(UTC)
    last = moment - HOUR
    installed(last - timedelta(days=days))
    came(last)
    came_each_week(last, 30)
    assert found("notifications").severity == severity


def test_of_nothing_but_an_installation_nothing_is_known(now: datetime) -> None:
    """A new shop has no payments, so nothing shows that its webhook works."""
    assert (found("notifications").severity, found("notifications").figures["last_at"]) == ("unknown", None)


def test_each_project_has_a_rhythm_of_its_own(now: datetime, settings: Any) -> None:
    """A busy project does not speak for a silent one, nor the other way round."""
    eu = {"PROJECT_ID": "eu", "SECRET_KEY": "sandbox_secret_of_eu"}
    projects = {**settings.CHECKOUT_INTEGRATION["PROJECTS"], "eu": eu}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    installed(now - LONG_AGO, "eu")
    last = now - HOUR
    came(last, project="eu")
    came_each_week(last, 30, 30, 30, 30, project="eu")
    came(now - timedelta(minutes=2), 60)  # more than the newest rows that are read first
    assert found("notifications").severity == "ok"
    silent = found("notifications", "eu")
    assert (silent.severity, silent.figures["last_at"]) == ("warning", last.isoformat())
    Notification.objects.filter(project="default").delete()
    came(last)
    assert found("notifications").severity == "ok"


def paid(created_at: datetime, *, notified: bool, listed: bool = True, **columns: Any) -> Order:
    """Make a paid order as notifications, or the list, or both make it."""
    sources = ["list"] * listed + ["notification"] * notified
    facts = {"slots": {f"processed/{source}": {"at": "2026"} for source in sources}}
    order = rows.make_order(status="processed", created_at=created_at, facts=facts, **columns)
    Order.objects.filter(pk=order.pk).update(changed_at=columns.get("changed_at", created_at))
    return order


def test_a_webhook_that_never_worked_is_seen_on_the_first_day(now: datetime) -> None:
    """By one payment that only the list knows, a quarter of an hour after it; whatever was before the installation."""
    installed(now - HOUR)
    paid(now - timedelta(days=3), notified=False)
    paid(now - timedelta(minutes=14), notified=False)
    assert found("notifications").severity == "unknown"
    order = paid(now - timedelta(minutes=16), notified=False)
    assert found("notifications").severity == "failing"
    assert (
        "has ever come; payments of the last 7 days in the transaction list: 1" in found("notifications").text
    )
    path, _, query = found("notifications").link.partition("?")
    assert (path, query) == ("/admin/checkout_integration/order/", "queue=unnotified")
    assert list(Order.objects.filter(order_queues()["unnotified"][1])) == [order]
    came(now)
    Order.objects.update(facts={"slots": {"processed/list": {}, "processed/notification": {}}})
    assert found("notifications").severity == "ok"
    assert not Order.objects.filter(order_queues()["unnotified"][1]).exists()


def test_what_the_first_pass_imports_has_no_notification_and_is_no_alarm(now: datetime) -> None:
    """Nothing was asked of the webhook yet. What is paid after the pass has begun counts, and the link shows that alone."""
    for hours in (3, 4, 5):
        paid(now - hours * HOUR, notified=False)
    rows.make_sync_run(lane="all", started_at=now - 2 * HOUR)
    rows.make_sync_run(started_at=now)
    assert found("notifications").severity == "unknown"
    assert not Order.objects.filter(order_queues()["unnotified"][1]).exists()
    order = paid(now - HOUR, notified=False)
    assert (found("notifications").severity, found("notifications").figures["paid"]) == ("failing", 1)
    assert list(Order.objects.filter(order_queues()["unnotified"][1])) == [order]


@pytest.mark.parametrize(
    ("lost", "arrived", "severity"),
    [(0, 3, "ok"), (1, 2, "warning"), (3, 0, "failing"), (1, 0, "warning"), (2, 8, "ok"), (3, 7, "warning")],
)
def test_payments_that_only_the_list_knows(now: datetime, lost: int, arrived: int, severity: str) -> None:
    """More than a fifth of the last ten of a week: look at it. All of them, of more than one customer: failing."""
    came(now - timedelta(days=8))
    for number in range(20):  # long ago, and of another week
        paid(now - timedelta(days=7, minutes=10 + number), notified=number % 2 == 0)
    for number in range(lost + arrived):
        paid(now - timedelta(hours=1 + number), notified=number >= lost)
    assert found("notifications").severity == severity


def test_only_the_last_ten_payments_count(now: datetime) -> None:
    """What was lost before them is over."""
    came(now)
    for number in range(20):
        paid(now - timedelta(hours=1 + number), notified=number < 10)
    assert (found("notifications").severity, found("notifications").figures["paid"]) == ("ok", 10)


def test_a_customer_who_took_long_is_not_judged_at_once(now: datetime) -> None:
    """The order is old, but its payment was listed a minute ago: the notification may still come."""
    came(now)
    paid(now - HOUR, notified=False, changed_at=now - timedelta(minutes=1))
    assert found("notifications").severity == "ok"


def test_orders_that_were_not_paid_do_not_count(now: datetime) -> None:
    """Abandoned baskets and declined cards have no notification of a payment."""
    for status in ("created", "pending", "rejected", "canceled"):
        rows.make_order(
            status=status, created_at=now - HOUR, facts={"slots": {f"{status}/list": {"at": "2026"}}}
        )
    assert found("notifications").severity == "unknown"


def test_the_payments_of_a_small_project_beside_a_busy_one(now: datetime, settings: Any) -> None:
    """Each project is judged by its own last ten."""
    eu = {"PROJECT_ID": "eu", "SECRET_KEY": "sandbox_secret_of_eu"}
    projects = {**settings.CHECKOUT_INTEGRATION["PROJECTS"], "eu": eu}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    installed(now - LONG_AGO, "eu")
    came(now)
    for number in range(20):
        paid(now - timedelta(minutes=20 + number), notified=True)
    paid(now - timedelta(hours=9), notified=False, project="eu")
    assert (found("notifications").severity, found("notifications", "eu").severity) == ("ok", "failing")


@pytest.mark.slow
def test_the_silence_of_a_small_project_beside_a_busy_one(now: datetime, settings: Any) -> None:
    """However many notifications of the other came since, and in the same stretches of the weeks before."""
    eu = {"PROJECT_ID": "eu", "SECRET_KEY": "sandbox_secret_of_eu"}
    projects = {**settings.CHECKOUT_INTEGRATION["PROJECTS"], "eu": eu}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    installed(now - LONG_AGO, "eu")
    last = now - HOUR
    came(last, project="eu")
    came(last + timedelta(minutes=1), 5_001)
    for weeks in range(1, 5):
        came(last - timedelta(weeks=weeks) + timedelta(seconds=1), 2_001)
    came_each_week(last + timedelta(minutes=30), 25, 25, 25, 25, project="eu")
    finding = found("notifications", "eu")
    assert (finding.severity, finding.figures["usual_count"]) == ("warning", 25)
    assert finding.figures["last_at"] == last.isoformat()
