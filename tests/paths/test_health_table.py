"""The table of docs/reference/health.md: each fault, after how many seconds it is shown, how bad, with which alert and text.

Each fault happens in a shop where all is well; then time passes. The last test writes it with CHECKOUT_WRITE_TABLE=1.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import models
from django.db.models import F
from django.test import Client

from checkout_integration.conf import app_settings
from checkout_integration.flows import operations, run_due
from checkout_integration.flows.ledger import Cause
from checkout_integration.flows.monitoring import assessment
from checkout_integration.flows.monitoring import webhook as refusals
from checkout_integration.flows.sync import LANES
from checkout_integration.models import (
    Checkout,
    HostClock,
    Notification,
    OutboxMessage,
    Receiver,
    ReceiverRun,
    Transition,
)
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol.order import parse_order
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import NotificationDocumentFactory, UserDocumentFactory
from tests.admin.test_reconciliation import make_difference
from tests.flows.conftest import _not_installed, _nothing_refused, database_away, hooks, listen
from tests.management.test_commands import run
from tests.support.admin import rows
from tests.support.alerts import ABOUT_ALL, firing_of_all
from tests.support.documents import ROOT
from tests.support.flows.notified import came, came_each_week, installed
from tests.support.flows.recording import record
from tests.support.flows.shop import Failing, Listening, ShopHooks
from tests.support.measured import Measured

__all__ = ["_not_installed", "_nothing_refused", "database_away", "hooks", "listen"]
pytestmark = pytest.mark.django_db
PAGE: Final = ROOT / "docs" / "reference" / "health.md"
BEGIN, END = "<!-- faults -->\n", "<!-- end of the faults -->\n"
DAY: Final = timedelta(days=1)
LESS: Final = 20
"""Seconds before it is shown, in which the test itself may take its time."""
LINK: Final = "/admin/checkout_integration"
REFUSED: Final = "GET /merchant/s2s/api/v1/order answered 401 (fm000048); check the project identifier"


class Shop:
    """A shop that sells, in which time passes by making everything older."""

    def __init__(
        self,
        listen: Listening,
        hooks: type[ShopHooks],
        deliver: Deliver,
        settings: Any,
        patch: pytest.MonkeyPatch,
    ) -> None:
        self.listen, self.hooks, self.deliver, self.settings, self.patch = (
            listen,
            hooks,
            deliver,
            settings,
            patch,
        )
        self.grant = Failing(times=0)
        self.listed = True
        hooks.user = staticmethod(lambda user: True)
        listen(checkout_paid, self.receive, name="shop.receivers.grant")
        installed(datetime.now(UTC) - 100 * DAY)
        self.ask()
        self.buy()
        self.read_list()

    def receive(self, **arguments: Any) -> None:
        """Grant, or fail as long as it should."""
        self.grant(**arguments)

    def set(self, **changes: Any) -> None:
        """Change settings of the app."""
        self.settings.CHECKOUT_INTEGRATION = {**self.settings.CHECKOUT_INTEGRATION, **changes}

    def buy(self, times: int = 1, **changes: Any) -> None:
        """Sell, and let the notification come."""
        for _ in range(times):
            answer = self.deliver(order=order_document_for(CheckoutFactory(), **changes))
            assert answer.status_code == 200
        if app_settings().runner == "request":
            run_due()

    def buy_unnoticed(self, times: int = 1) -> None:
        """Sell, and let nothing but the list say so."""
        for _ in range(times):
            document = order_document_for(CheckoutFactory(), created_at=datetime.now(UTC).isoformat())
            observation = Observation(
                source=Source.LIST, order=parse_order(document), observed_at=datetime.now(UTC)
            )
            record(app_settings().project("default"), [observation], Cause(source=Source.LIST))
        run_due()

    def ask(self, times: int = 1) -> None:
        """Let the service ask whether so many new customers may pay."""
        for _ in range(times):
            self.deliver(event="user.validate", user=UserDocumentFactory(external_id=uuid.uuid4().hex))

    def forge(self, times: int = 4, project: str = "default") -> None:
        """Let requests come that are refused, each in another minute."""
        for _ in range(times):
            refusals.ThisProcess.written_at = -refusals.WRITE_EVERY
            address, forged = f"/checkout/webhook/{project}/", {"Authorization": "Signature x"}
            answer = Client().post(address, b"{}", content_type="application/json", headers=forged)
            assert answer.status_code in {401, 404}

    def read_list(self) -> None:
        """Read each lane to its end."""
        for lane in LANES:
            rows.make_sync_run(lane=lane, started_at=datetime.now(UTC))

    def wait(self, seconds: float) -> None:
        """Let time pass: every time of every row becomes so much older; the list is read meanwhile."""
        for model in apps.get_app_config("checkout_integration").get_models():
            times = [each.name for each in model._meta.fields if isinstance(each, models.DateTimeField)]
            if times and model is not Transition and not model._meta.proxy:
                model._base_manager.update(**{name: F(name) - timedelta(seconds=seconds) for name in times})
        if self.listed:
            self.read_list()


# Faults: what happens, in the shop.


def _webhook_never_worked(shop: Shop) -> None:
    Checkout.objects.exclude(order_id="").update(order_id="")
    for model in ("OutboxMessage", "Grant", "Incident", "ValidationDecision", "Notification"):
        apps.get_model("checkout_integration", model)._base_manager.all().delete()
    installed(datetime.now(UTC) - timedelta(minutes=5))
    shop.buy_unnoticed()


def _small_shop(shop: Shop) -> None:
    """Three orders a week, and a webhook that worked until last week."""
    shop.wait(9 * DAY.total_seconds())
    shop.buy_unnoticed()
    shop.wait(2 * DAY.total_seconds())
    shop.buy_unnoticed()


def _some_are_lost(shop: Shop) -> None:
    shop.buy(2)
    shop.buy_unnoticed()


def _silent(shop: Shop) -> None:
    came_each_week(datetime.now(UTC), 30, 30, 30, 30)
    came(datetime.now(UTC))


def _unreachable(shop: Shop) -> None:
    shop.listed = False
    rows.make_sync_run(state="unreachable", failure="no connection", started_at=datetime.now(UTC))


def _key_refused_by_the_service(shop: Shop) -> None:
    shop.listed = False
    rows.make_sync_run(state="failed", failure=REFUSED, started_at=datetime.now(UTC))


def _key_wrong_here(shop: Shop) -> None:
    shop.wait(3 * 3600)
    shop.forge()


def _key_wrong_and_payments(shop: Shop) -> None:
    Notification.objects.update(received_at=datetime.now(UTC) - 9 * DAY)
    shop.wait(8 * DAY.total_seconds())
    shop.buy_unnoticed(2)
    shop.wait(901)
    shop.forge()


def _wrong_alias(shop: Shop) -> None:
    shop.forge(project="europe")


def _worker_dead(shop: Shop) -> None:
    shop.set(RUNNER="worker")
    shop.buy()


def _fails_for_all(shop: Shop) -> None:
    shop.grant = Failing()
    shop.buy(3)


def _fails_for_one(shop: Shop) -> None:
    shop.grant = Failing(times=1)
    shop.buy(4)


def _fails_for_two(shop: Shop) -> None:
    shop.grant = Failing(times=2)
    shop.buy(4)


def _given_up(shop: Shop) -> None:
    shop.grant = Failing(times=1)
    shop.buy(2)
    now = datetime.now(UTC)
    ReceiverRun.objects.filter(state="due").update(state="failed", attempts=10, due_at=now)


def _hangs(shop: Shop) -> None:
    shop.set(RECEIVER_DEADLINE=1)
    since = datetime.now(UTC) - timedelta(seconds=2)  # not for so long that it would be taken for left behind
    rows.make_run(rows.make_order(), state="running", due_at=since, finished_at=None)


def _raise(user: object) -> bool:
    raise KeyError


def _validator_broken(shop: Shop) -> None:
    shop.hooks.user = staticmethod(_raise)
    shop.ask(3)


def _validator_fails_once(shop: Shop) -> None:
    shop.hooks.user = staticmethod(_raise)
    shop.ask()


def _validator_refuses_all(shop: Shop) -> None:
    shop.wait(DAY.total_seconds())
    shop.hooks.user = staticmethod(lambda user: False)
    shop.ask(3)


def _hook_fails(shop: Shop) -> None:
    shop.patch.setattr(shop.hooks, "resolve", staticmethod(_raise))
    shop.deliver(order={**order_document_for(CheckoutFactory()), "id": "unknown", "metadata": {}})


def _quarantined(shop: Shop) -> None:
    document = NotificationDocumentFactory(created_at=datetime.now(UTC) + timedelta(days=30))
    shop.deliver(document)


def _alias_removed(shop: Shop) -> None:
    installed(datetime.now(UTC) - 50 * DAY, "eu")
    came(datetime.now(UTC), project="eu", state="failed", failure="its project is not in the settings")


def _alias_removed_with_incident(shop: Shop) -> None:
    installed(datetime.now(UTC) - 50 * DAY, "eu")
    incident = rows.make_incident(None)
    type(incident).objects.filter(pk=incident.pk).update(project="eu")


def _not_renewed(shop: Shop) -> None:
    """Five agreements ended yesterday."""
    for _ in range(5):
        document = order_document_for(
            CheckoutFactory(lasts_days=31), recurring=True, recurring_id="agreement"
        )
        shop.deliver(order=document)
    run_due()
    Checkout.objects.filter(lasts_days=31).update(owned_until=datetime.now(UTC) - DAY)


def _differs_from_the_list(shop: Shop) -> None:
    make_difference(kind="missing_there", there="")


def _sync_stopped(shop: Shop) -> None:
    shop.listed = False


def _other_amount(shop: Shop) -> None:
    shop.buy(amount=Decimal("0.01"), original_amount=Decimal("0.01"))


def _read_only(shop: Shop) -> None:
    shop.patch.setattr(
        assessment, "is_read_only", lambda: True
    )  # tests/flows/database/test_writable.py has real ones


def _receiver_unknown(shop: Shop) -> None:
    run = {"receiver": "shop.receivers.letter", "state": "unknown", "due_at": datetime.now(UTC)}
    rows.make_run(rows.make_order(), "order_changed", attempts=0, finished_at=None, **run)


def _paused(shop: Shop) -> None:
    now = datetime.now(UTC)
    times = {"first_seen": now, "last_seen": now, "paused_at": now}
    Receiver.objects.create(signal="checkout_paid", name="shop.receivers.letter", **times)


def _no_receiver(shop: Shop) -> None:
    shop.buy()
    message = OutboxMessage.objects.filter(signal=checkout_paid.name).latest("pk")
    message.runs.all().delete()
    OutboxMessage.objects.filter(pk=message.pk).update(state="no_receivers")


def let_servers_fetch(settings: Any) -> None:
    """Let game servers fetch what is paid."""
    setting = settings.CHECKOUT_INTEGRATION
    own = {**setting["PROJECTS"]["default"], "OWNERSHIP_TOKENS": ["a-token-of-the-servers"]}
    settings.CHECKOUT_INTEGRATION = {**setting, "GOODS": "pull", "PROJECTS": {"default": own}}


def _no_game_server(shop: Shop) -> None:
    let_servers_fetch(shop.settings)
    shop.buy(3)
    Checkout.objects.update(user=User.objects.create_user("ada"))  # of a guest no server can ask


def _times_are_not_rewritten(shop: Shop) -> None:
    came(datetime.now(UTC), 2, notification_id="kept", created_at=datetime.now(UTC))
    for number, row in enumerate(Notification.objects.filter(notification_id="kept")):
        Notification.objects.filter(pk=row.pk).update(
            key="k" * 32,
            body_hash=f"h{number}",
            delivery_try=number,
            created_at=datetime(2026, 11, 1, tzinfo=UTC),
        )


def _clocks_apart(shop: Shop) -> None:
    HostClock.objects.create(host="web-2", seconds_ahead=7200.0, measured_at=datetime.now(UTC))


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault, and what is to be seen of it.

    Attributes:
        name: what is wrong.
        cause: lets it happen.
        finding: the name of the finding that shows it.
        steps: after how many seconds, from the moment at which it can be known, it is how bad.
        alerts: the rules of its last step, beside those about every finding.
        text: the sentence, in which … stands for anything.
        action: the beginning of what to do.
        link: its rows in the admin.
        before: how bad the finding is until the first step.
        fixture: a fixture that makes the fault, where ``cause`` cannot.

    """

    name: str
    cause: Callable[[Shop], object]
    finding: str
    steps: Sequence[tuple[int, str]]
    alerts: Sequence[str] = ()
    text: str
    action: str
    link: str = ""
    before: str = "ok"
    fixture: str = field(default="")

    @property
    def code(self) -> int:
        """The exit code of ``checkout_work --health`` in the end."""
        return int(self.steps[-1][1] == "failing")


FAULTS: Final = (
    Fault(
        name="webhook with a wrong address from the first day",
        cause=_webhook_never_worked,
        finding="notifications",
        steps=[(901, "failing")],
        before="unknown",
        alerts=["CheckoutSilent", "CheckoutWebhookNotWorking"],
        text="No notification of a payment has ever come; payments of the last 7 days in the transaction list: 1.",
        action="Check at the service that the webhook",
        link="/order/?queue=unnotified",
    ),
    Fault(
        name="webhook that stopped in a shop with three orders a week (after its second lost order)",
        cause=_small_shop,
        finding="notifications",
        steps=[(901, "failing")],
        before="warning",
        alerts=["CheckoutSilent", "CheckoutWebhookNotWorking"],
        text="Of 2 of the last 2 payments no notification came: only the transaction list has them.",
        action="Check at the service that the webhook",
        link="/order/?queue=unnotified",
    ),
    Fault(
        name="single notifications are lost",
        cause=_some_are_lost,
        finding="notifications",
        steps=[(901, "warning")],
        alerts=["CheckoutSilent"],
        text="Of 1 of the last … payments no notification came: only the transaction list has them.",
        action="Check at the service that the webhook",
        link="/order/?queue=unnotified",
    ),
    Fault(
        name="silence of a busy shop",
        cause=_silent,
        finding="notifications",
        steps=[(1801, "warning")],
        alerts=["CheckoutSilent"],
        text="No notification of a payment for …; in the same hours of the last weeks at least … came each time.",
        action="Check at the service that the webhook",
        link="/notification/",
    ),
    Fault(
        name="service unreachable",
        cause=_unreachable,
        finding="service",
        steps=[(0, "warning"), (301, "failing")],
        alerts=["CheckoutServiceAway"],
        text="The service has not responded for ….",
        action="Nobody can pay while it is away.",
        link="/syncrun/",
    ),
    Fault(
        name="key or project that the service refuses",
        cause=_key_refused_by_the_service,
        finding="service",
        steps=[(0, "warning"), (301, "failing")],
        alerts=["CheckoutServiceAway"],
        text="The service has refused this shop's requests for …: GET … answered 401 (fm000048).",
        action="Compare PROJECT_ID, SECRET_KEY and the addresses",
        link="/syncrun/",
    ),
    Fault(
        name="key wrong here: requests are refused",
        cause=_key_wrong_here,
        finding="refused",
        steps=[(0, "warning")],
        alerts=["CheckoutRequestsRefused"],
        text="Requests refused in the last hour: 4 or more (INVALID_SIGNATURE).",
        action="None was accepted. Compare SECRET_KEY",
    ),
    Fault(
        name="key wrong here, and payments came",
        cause=_key_wrong_and_payments,
        finding="refused",
        steps=[(0, "failing")],
        alerts=["CheckoutRequestsRefused", "CheckoutSilent", "CheckoutWebhookNotWorking"],
        text="Requests refused in the last hour: 4 or more (INVALID_SIGNATURE).",
        action="None was accepted. Compare SECRET_KEY",
    ),
    Fault(
        name="address with an unknown alias at the service",
        cause=_wrong_alias,
        finding="refused_unknown",
        steps=[(0, "warning")],
        text="Requests to the address of an unknown project in the last hour: 4.",
        action="Compare the address on the webhooks page",
    ),
    Fault(
        name="worker dead",
        cause=_worker_dead,
        finding="apply",
        steps=[(62, "warning"), (301, "failing")],
        alerts=["CheckoutWorkerDead"],
        text="Notifications to apply: 1. The oldest has been due for …, and no process does it.",
        action="RUNNER is “worker”: start manage.py checkout_work.",
        link="/notification/?state=stored",
    ),
    Fault(
        name="receiver that no process knows",
        cause=_receiver_unknown,
        finding="receivers_unknown",
        steps=[(301, "failing")],
        alerts=["CheckoutReceiverUnknown"],
        text="No process that runs the shop's code has known this for five minutes: shop.receivers.letter of …",
        action="Restart workers that run an older release",
        link="/receiverrun/?state=unknown",
    ),
    Fault(
        name="receiver that staff have paused and forgotten",
        cause=_paused,
        finding="receivers_paused",
        steps=[(86_401, "warning")],
        text="Paused by staff: shop.receivers.letter (…); runs that wait: 0.",
        action="If what it was paused for is over, resume it",
        link="/receiverrun/?state=paused",
    ),
    Fault(
        name="payment that reached no receiver",
        cause=_no_receiver,
        finding="undelivered",
        steps=[(0, "failing")],
        alerts=["CheckoutReceiverUnknown"],
        text="Orders paid while no process had code of the shop connected to checkout_paid: 1, for ….",
        action="Connect the code, in the workers too",
        link="/order/?queue=undelivered",
    ),
    Fault(
        name="game servers that fetch nothing",
        cause=_no_game_server,
        finding="not_fetched",
        steps=[(3601, "failing")],
        alerts=["CheckoutReceiverUnknown"],
        text="Paid goods that no game server has acknowledged: 3, the first for …, and nothing else since.",
        action="See whether your game servers ask for grants",
        link="/order/?queue=undelivered",
    ),
    Fault(
        name="service that keeps the time of an event, and RETRY_INTERVAL says otherwise",
        cause=_times_are_not_rewritten,
        finding="attempt_times",
        steps=[(0, "warning")],
        text="Delivery attempts of one notification have the same created_at, so this service does not rewrite it. …",
        action="Set RETRY_INTERVAL of the project to 0.",
        link="/notification/?q=kept",
    ),
    Fault(
        name="clocks apart",
        cause=_clocks_apart,
        finding="clocks",
        steps=[(0, "warning")],
        text="Clocks that differ from the database's by more than two seconds: web-2 is 2 h ahead.",
        action="Synchronise the clocks of these hosts",
    ),
    Fault(
        name="receiver fails for everybody",
        cause=_fails_for_all,
        finding="receivers_failing",
        steps=[(0, "failing")],
        alerts=["CheckoutReceiversFailing"],
        text="shop.receivers.grant has failed for each of the last 3 customers in … (ValueError at …).",
        action="They are retried by themselves",
        link="/failures/",
    ),
    Fault(
        name="receiver fails for one customer",
        cause=_fails_for_one,
        finding="receivers_failing",
        steps=[(0, "warning")],
        text="shop.receivers.grant has failed for one customer in … (ValueError at …).",
        action="They are retried by themselves",
        link="/failures/",
    ),
    Fault(
        name="two customers paid and got nothing",
        cause=_fails_for_two,
        finding="not_granted",
        steps=[(301, "failing")],
        alerts=["CheckoutPaidNotGranted"],
        text="Orders paid, and not granted for over five minutes: 2, the first one for ….",
        action="The findings about the shop's code say why.",
        link="/order/?queue=not_granted",
    ),
    Fault(
        name="receiver given up",
        cause=_given_up,
        finding="receivers_given_up",
        steps=[(0, "failing")],
        alerts=["CheckoutReceiverGivenUp"],
        text="Runs given up after their last attempt: 1, the last one … ago (shop.receivers.grant: 1).",
        action="Correct the code, then run them again",
        link="/failures/",
    ),
    Fault(
        name="receiver runs for longer than RECEIVER_DEADLINE",
        cause=_hangs,
        finding="receivers_overlong",
        steps=[(0, "failing")],
        alerts=["CheckoutReceiverOverlong"],
        text="Code that has run for longer than RECEIVER_DEADLINE (…): 1 (shop.receivers.grant).",
        action="They may hang; to stop them, end their process.",
        link="/receiverrun/?state=running",
    ),
    Fault(
        name="validator broken",
        cause=_validator_broken,
        finding="user_validate",
        steps=[(0, "failing")],
        alerts=["CheckoutValidationFailing"],
        text="The validators failed or were late for 3 of the last 4 customers (KeyError in …).",
        action="They cannot pay. Correct Hooks.validate_user",
        link="/validationdecision/?approved=no",
    ),
    Fault(
        name="validator failed for one customer",
        cause=_validator_fails_once,
        finding="user_validate",
        steps=[(0, "warning")],
        text="The validators failed or were late for 1 of the last 2 customers (KeyError in …).",
        action="They cannot pay. Correct Hooks.validate_user",
        link="/validationdecision/?approved=no",
    ),
    Fault(
        name="validator refuses everybody",
        cause=_validator_refuses_all,
        finding="user_validate",
        steps=[(0, "warning")],
        text="All 3 customers of the last 24 hours were refused (INVALID_USER).",
        action="Nobody can pay.",
        link="/validationdecision/?approved=no",
    ),
    Fault(
        name="notification that cannot be applied",
        cause=_hook_fails,
        finding="not_applied",
        steps=[(0, "warning"), (301, "failing")],
        alerts=["CheckoutNotificationsNotApplied", "CheckoutIncidentsOpen"],
        text="Notifications that could not be applied: 1, the oldest for … (KeyError in …).",
        action="They are retried by themselves; correct what fails.",
        link="/notification/?state=failed",
    ),
    Fault(
        name="alias removed from the settings, its notifications wait",
        cause=_alias_removed,
        finding="removed_projects",
        steps=[(0, "failing")],
        alerts=["CheckoutProjectRemoved"],
        text="Not in PROJECTS, but notifications or incidents of it wait: eu (1).",
        action="Notifications of a project that is not in PROJECTS are not applied.",
        link="/notification/?state=failed",
    ),
    Fault(
        name="alias removed from the settings, an incident waits",
        cause=_alias_removed_with_incident,
        finding="removed_projects",
        steps=[(0, "warning")],
        alerts=["CheckoutProjectRemoved"],
        text="Not in PROJECTS, but notifications or incidents of it wait: eu (1).",
        action="Notifications of a project that is not in PROJECTS are not applied.",
        link="/notification/",
    ),
    Fault(
        name="recurring payments, and no renewal comes",
        cause=_not_renewed,
        finding="renewals",
        steps=[(0, "warning")],
        alerts=[],
        text="Agreements with renewals that ended in the last week: 5. None was renewed in that time.",
        action="Compare with the service",
        link="/checkout/?agreement=not_renewed",
    ),
    Fault(
        name="sync stopped",
        cause=_sync_stopped,
        finding="sync_recent",
        steps=[(3602, "warning"), (86_402, "failing")],
        alerts=["CheckoutSyncFailing"],
        text="Part “recent” of the transaction list has not been read to its end for …: payments and refunds whose …",
        action="RUNNER is “request”: run manage.py checkout_sync --lane due from cron",
        link="/syncrun/?lane=recent",
    ),
    Fault(
        name="order that the transaction list does not have",
        cause=_differs_from_the_list,
        finding="differences",
        steps=[(0, "warning")],
        alerts=[],
        text="Differences from the transaction list that wait for somebody: 1.",
        action="The page “Reconciliation” shows both sides",
        link="/syncdifference/?state=waiting",
    ),
    Fault(
        name="payment of another amount",
        cause=_other_amount,
        finding="incidents",
        steps=[(0, "warning")],
        alerts=["CheckoutIncidentsOpen"],
        text="Open incidents: 1.",
        action="The page of each incident says what it means.",
        link="/incident/?resolved_at_known=no",
    ),
    Fault(
        name="database cannot be written",
        cause=_read_only,
        finding="database",
        steps=[(0, "failing")],
        alerts=["CheckoutDatabaseAway"],
        text="The database responds, but it cannot be written: notifications are answered 503, and nothing is granted.",
        action="Make it writable",
    ),
    Fault(
        name="database away",
        cause=lambda shop: None,
        fixture="database_away",
        finding="database",
        steps=[(0, "failing")],
        alerts=["CheckoutDatabaseAway"],
        text="The database does not respond (OperationalError).",
        action="Start it, or correct DATABASES",
    ),
)


@pytest.fixture
def shop(
    listen: Listening,
    hooks: type[ShopHooks],
    checkout_deliver: Deliver,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Shop:
    """A shop in which all is well, and no alert fires."""
    found = Shop(listen, hooks, checkout_deliver, settings, monkeypatch)
    assert [(each.name, each.text) for each in operations.health().findings if each.severity != "ok"] == []
    return found


def level(fault: Fault) -> str:
    """Return how bad the finding of a fault is now."""
    (found,) = [each for each in operations.health().findings if each.name == fault.finding]
    return str(found.severity)


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_each_fault_is_shown(fault: Fault, shop: Shop, request: pytest.FixtureRequest) -> None:
    """In so many seconds, and not before; with its level, exit code, alert, sentence, advice and link."""
    measured = Measured()
    assert firing_of_all(measured) == set()
    fault.cause(shop)
    if fault.fixture:
        request.getfixturevalue(fault.fixture)
    now, before = 0, fault.before
    for seconds, severity in fault.steps:
        if seconds:
            shop.wait(seconds - LESS - now)
            assert level(fault) == before
            shop.wait(LESS)
        now, before = seconds, severity
        assert level(fault) == severity
    (found,) = [each for each in operations.health().findings if each.name == fault.finding]
    assert re.fullmatch(re.escape(fault.text).replace("…", ".+"), found.text), found.text
    assert found.action.startswith(fault.action) and fault.action, found.action
    assert found.link == (f"{LINK}{fault.link}" if fault.link else "")
    assert run("checkout_work", "--health", "--project", "default")[0] >= fault.code
    fires = firing_of_all(measured)
    assert set(fault.alerts) <= fires
    assert {name for name, least in ABOUT_ALL.items() if found.severity.level >= least} <= fires
    if not fault.code:
        assert operations.health().severity == "warning"


def test_a_quiet_sound_shop_is_never_yellow(shop: Shop) -> None:
    """For a week of partial refunds, abandoned baskets, declined cards, a refusal and runs that wait: no alert either."""
    measured = Measured()
    for day in range(7):
        if day % 3 == 0:
            shop.buy()
        if day == 1:
            shop.hooks.user = staticmethod(lambda user: False)
            shop.ask()
            shop.hooks.user = staticmethod(lambda user: True)
            shop.forge(times=1)
        CheckoutFactory()  # an abandoned basket: nobody paid
        rows.make_order(status="created", created_at=datetime.now(UTC), verdict="pending")
        declined = order_document_for(
            CheckoutFactory(), status="rejected", canceled_at=datetime.now(UTC).isoformat()
        )
        shop.deliver(order=declined, event="payment.cancel")
        if day in {2, 4}:
            paid = order_document_for(CheckoutFactory())
            shop.deliver(order=paid)
            refund = {"amount": Decimal("1.00"), "currency": paid["currency"], "reason": "a discount"}
            part = {**paid, "status": "refunded", "refunded": True, "refund": refund}
            shop.deliver(order=part, event="payment.refund")
        run_due()
        for _ in range(6):
            shop.wait(4 * 3600)
            health = operations.health()
            assert [(each.name, each.text) for each in health.findings if each.severity != "ok"] == []
            assert (health.severity, firing_of_all(measured)) == ("ok", set())
    assert {queue.name: queue.count for queue in operations.staff_queues() if queue.count} == {}
    assert run("checkout_work", "--health", "--fail-on", "warning")[0] == 0


def test_every_finding_has_a_fault_and_every_alert_is_about_one(settings: Any) -> None:
    """A finding that is added later needs a row; lanes and steps of work have one for all."""
    let_servers_fetch(settings)
    caused = {fault.finding for fault in FAULTS}
    of_one_kind = {"sync_open", "sync_reversals", "sync_all", "run"}
    assert {finding.name for finding in operations.health().findings} - of_one_kind == caused - {
        "sync_recent"
    }


def table() -> str:
    """Return the table of the page."""
    columns = ("fault", "seconds until it is shown", "exit code", "alert", "what health says, and its rows")
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for fault in FAULTS:
        steps = ", ".join(f"{seconds}: {severity}" for seconds, severity in fault.steps)
        alerts = ", ".join(f"`{name}`" for name in fault.alerts) or "`CheckoutLookAtIt`"
        rows_of = f" `{fault.link}`" if fault.link else ""
        lines.append(
            f"| {fault.name} | {steps} | {fault.code} | {alerts} | `{fault.finding}`: {fault.text}{rows_of} |"
        )
    return "\n".join(lines) + "\n"


def test_the_page_has_the_table() -> None:
    """As the environment can make it be written."""
    if os.environ.get("CHECKOUT_WRITE_TABLE"):
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}", encoding="utf-8")
    written = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert written == table()
