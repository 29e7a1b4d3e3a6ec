"""Each alert of docs/monitoring fires when what it is about happens, and clears when that is over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command

from checkout_integration import flows, telemetry
from checkout_integration.flows.monitoring import webhook as refusals
from checkout_integration.models import Notification
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_paid, notification_failed, receiver_given_up, sync_failed
from checkout_integration.signals.durable import USUAL
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.flows.conftest import _not_installed, _nothing_refused, database_away, hooks, listen
from tests.support.admin import rows
from tests.support.alerts import ABOUT_ALL, CONDITION, RULE, dashboard, firing, is_true, rules
from tests.support.flows.notified import came, came_each_week, installed
from tests.support.flows.shop import Failing, Listening, ShopHooks, fault, leave_behind, make_due
from tests.support.measured import Measured

__all__ = ["_not_installed", "_nothing_refused", "database_away", "hooks", "listen"]
pytestmark = pytest.mark.django_db
METRIC = re.compile(r"\bcheckout_\w+")
HOUR = timedelta(hours=1)
OTHER_SECRET = "another-secret-of-this-test"


@pytest.fixture
def measured(listen: Listening) -> Measured:
    """Give what is measured from now on, of an app in which all is well: it has a receiver of what is paid."""
    listen(checkout_paid, name="shop.receivers.grant")
    installed(datetime.now(UTC) - timedelta(minutes=50))
    found = Measured()
    assert firing(found) == set()
    return found


def test_the_service_is_silent(measured: Measured, checkout_deliver: Deliver) -> None:
    """For an hour in which thirty notifications came each week before; the next one ends it."""
    now = datetime.now(UTC)
    installed(now - timedelta(days=100))
    rows.make_sync_run(started_at=now, lane="recent")
    came(now - HOUR)
    came_each_week(now - HOUR, 30, 30, 30, 30)
    assert "CheckoutSilent" in firing(measured)
    assert measured.value("checkout_notifications_silence_seconds", project="default") == pytest.approx(
        3600, abs=60
    )
    checkout_deliver(order=OrderDocumentFactory())
    assert "CheckoutSilent" not in firing(measured)


def test_the_worker_is_dead(measured: Measured, checkout_deliver: Deliver, settings: Any) -> None:
    """A notification was due for six minutes; a worker that starts again ends it."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    assert firing(measured) == set()
    Notification.objects.update(due_at=datetime.now(UTC) - timedelta(minutes=6))
    assert firing(measured) == {"CheckoutWorkerDead"}
    assert measured.value("checkout_queue_age_seconds", step="apply") == pytest.approx(360, abs=60)
    assert measured.value("checkout_queue_length", step="apply") == 1
    call_command("checkout_work", "--once")
    assert firing(measured) == set()


def test_a_receiver_was_given_up(measured: Measured, listen: Listening) -> None:
    """After ten attempts; the shop is alerted by its own receiver too. The corrected one ends it."""
    grant = Failing(times=USUAL.most_attempts)
    listen(checkout_paid, grant, name="grant")
    heard = listen(receiver_given_up)
    OrderFactory(checkout=CheckoutFactory())
    for _ in range(USUAL.most_attempts - 1):
        flows.run_due()
        make_due()
    assert (firing(measured), heard) == (set(), [])
    flows.run_due()
    flows.run_due()
    assert firing(measured) == {"CheckoutReceiverGivenUp"}
    assert [call["receiver"] for call in heard] == ["grant"]
    call_command("checkout_replay", "--receiver", "grant", "--failed")
    flows.run_due()
    assert (firing(measured), grant.tries) == (set(), USUAL.most_attempts + 1)


def test_passes_fail(measured: Measured, checkout_sandbox: Sandbox, listen: Listening) -> None:
    """For more than an hour; the first complete one ends it."""
    heard = listen(sync_failed)
    now = datetime.now(UTC)
    installed(now - timedelta(days=1))
    rows.make_sync_run(started_at=now - 1.5 * HOUR, lane="recent")
    for lane in ("open", "reversals", "all"):
        rows.make_sync_run(started_at=now, lane=lane)
    fault(checkout_sandbox, "api", "server_error", "transactions")
    assert flows.sync.sync_transactions().state == "failed"
    flows.run_due()
    assert firing(measured) == {"CheckoutSyncFailing"}
    assert [(call["state"], call["first"]) for call in heard] == [("failed", True)]
    checkout_sandbox.faults.set_from({"rules": []})
    assert flows.sync.sync_transactions().state == "complete"
    assert firing(measured) == set()
    assert measured.value("checkout_sync_age_seconds", lane="recent") == pytest.approx(0, abs=60)


def test_the_secret_was_rotated_out(measured: Measured, checkout_deliver: Deliver, settings: Any) -> None:
    """The service signs with a secret that the settings do not have; the counter says why. The new secret ends it."""
    for _ in range(4):
        assert checkout_deliver(order=OrderDocumentFactory(), secret=OTHER_SECRET).status_code == 401
        refusals.ThisProcess.written_at = -refusals.WRITE_EVERY  # a minute later
    assert firing(measured) == {"CheckoutRequestsRefused"}
    assert measured.added("checkout_requests_refused_total") == {("default", "INVALID_SIGNATURE"): 4}
    project = {**settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"], "SECRET_KEY": OTHER_SECRET}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": {"default": project}}
    assert checkout_deliver(order=order_document_for(CheckoutFactory())).status_code == 200
    assert firing(measured) == set()


def test_notifications_are_not_applied(
    measured: Measured,
    checkout_deliver: Deliver,
    hooks: type[ShopHooks],
    listen: Listening,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hook has a fault; the corrected one ends it, and the incident with it."""
    heard, checkout = listen(notification_failed), CheckoutFactory()
    with monkeypatch.context() as patch:
        patch.setattr(hooks, "resolve", staticmethod(Failing()))
        checkout_deliver(order={**order_document_for(checkout), "id": "unknown", "metadata": {}})
    assert firing(measured) == {"CheckoutNotificationsNotApplied", "CheckoutIncidentsOpen"}
    assert measured.value("checkout_notifications_waiting", state="failed") == 1
    monkeypatch.setattr(hooks, "resolve", staticmethod(lambda order: checkout))
    leave_behind()
    flows.run_due()
    assert firing(measured) == set()
    assert [call["state"] for call in heard] == ["failed"]


def test_a_receiver_hangs(measured: Measured, settings: Any) -> None:
    """It has run for longer than RECEIVER_DEADLINE; its end ends it."""
    run = rows.make_run(rows.make_order(), state="running", due_at=datetime.now(UTC), finished_at=None)
    assert firing(measured) == set()
    run.due_at = datetime.now(UTC) - timedelta(seconds=1.5)  # later it would be taken for left behind
    run.save()
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RECEIVER_DEADLINE": 1}
    assert firing(measured) == {"CheckoutReceiverOverlong"}
    run.state = "done"
    run.save()
    assert firing(measured) == set()


def test_the_database_is_away(measured: Measured, settings: Any, database_away: None) -> None:
    """No figure is known then; they are back with it."""
    assert firing(measured) == {"CheckoutDatabaseAway"}
    assert measured.value("checkout_queue_length", step="apply") is None
    settings.DATABASE_ROUTERS = []
    assert firing(measured) == set()
    assert measured.value("checkout_queue_length", step="apply") == 0


IN_THE_TABLE = {
    "CheckoutWebhookNotWorking",
    "CheckoutServiceAway",
    "CheckoutReceiversFailing",
    "CheckoutPaidNotGranted",
    "CheckoutReceiverUnknown",
    "CheckoutValidationFailing",
    "CheckoutProjectRemoved",
}
"""Rules that ``test_health_table`` causes."""


def test_each_rule_has_a_test() -> None:
    """The tests above, and those of the table."""
    assert set(rules()) == {
        "CheckoutSilent",
        "CheckoutRequestsRefused",
        "CheckoutWorkerDead",
        "CheckoutReceiverGivenUp",
        "CheckoutReceiverOverlong",
        "CheckoutSyncFailing",
        "CheckoutNotificationsNotApplied",
        "CheckoutIncidentsOpen",
        "CheckoutDatabaseAway",
        *IN_THE_TABLE,
        *ABOUT_ALL,
    }


def expressions() -> Iterator[str]:
    """Yield each expression of the rules and of the dashboard."""
    yield from (rule["expr"] for rule in rules().values())
    yield from (target["expr"] for panel in dashboard()["panels"] for target in panel["targets"])
    yield from (each["definition"] for each in dashboard()["templating"]["list"] if "definition" in each)


def test_each_metric_of_the_files_is_one_that_is_exported(
    measured: Measured,
    checkout_deliver: Deliver,
    checkout_sandbox: Sandbox,
    hooks: type[ShopHooks],
    listen: Listening,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By its name and labels in Prometheus, after everything has happened once; and each metric of ours is shown."""
    listen(checkout_paid)
    flows.create_checkout(amount=Decimal("9.99"), currency="EUR", type="simple")
    flows.sync.sync_transactions()
    telemetry.count(telemetry.PASSES, project="default", lane="recent", outcome="complete")
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    flows.run_due()
    checkout_deliver(secret=OTHER_SECRET)
    monkeypatch.setattr(hooks, "resolve", staticmethod(Failing()))
    checkout_deliver(order=OrderDocumentFactory(status="processed"))
    flows.run_due()
    exported = {sample.name: set(sample.labels) for sample in measured.samples()}
    shown = {name for expression in expressions() for name in METRIC.findall(expression)}
    assert shown - exported.keys() == set()
    histograms = {f"checkout_{step}_duration_seconds_bucket" for step in telemetry.STEPS}
    others = {
        name for name in exported if not re.search(r"_seconds_(bucket|count|sum|created)$|_created$", name)
    }
    assert (others | histograms) - shown == set()
    for expression in expressions():
        (name,) = set(METRIC.findall(expression))
        used = {label for label, _, _ in CONDITION.findall(expression)}
        used |= {each.strip() for by in re.findall(r"by \(([^)]*)\)", expression) for each in by.split(",")}
        assert used <= exported[name], expression


@pytest.mark.parametrize(("value", "expected"), [(0, False), (1, True), (2, True)])
def test_a_rule_is_judged_by_its_limit(value: int, expected: bool) -> None:
    """As Prometheus judges it."""
    from prometheus_client.samples import Sample

    sample = Sample("checkout_health", {"finding": "notifications", "project": "default"}, value)
    other = Sample("checkout_health", {"finding": "other", "project": "default"}, 2)
    assert is_true(rules()["CheckoutSilent"]["expr"], [other, sample]) is expected


def test_each_rule_names_what_to_do() -> None:
    """In one sentence each, with a severity."""
    for rule in rules().values():
        assert RULE.fullmatch(rule["expr"])
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert rule["annotations"]["summary"] and rule["annotations"]["description"].endswith(".")


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    """And each has a title of its own."""
    places = set[tuple[int, int]]()
    for panel in dashboard()["panels"]:
        at = panel["gridPos"]
        own = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not own & places and at["x"] + at["w"] <= 24
        places |= own
    titles = [panel["title"] for panel in dashboard()["panels"]]
    assert len(set(titles)) == len(titles)
