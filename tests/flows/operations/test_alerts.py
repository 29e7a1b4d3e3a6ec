"""Alerts: what gets worse, happens once more or is well again is said, at most once an hour for a finding."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from types import ModuleType, SimpleNamespace
from typing import Any

import django
import pytest
from django.apps import apps
from django.core.management import call_command
from django.db.models import F
from django.utils import translation

from checkout_integration import alerts, flows, telemetry
from checkout_integration.checks import check_alerts
from checkout_integration.flows.monitoring import Finding, Severity
from checkout_integration.flows.operations import alerts as looking
from checkout_integration.models import Alert, Incident, OutboxMessage, ReceiverRun
from checkout_integration.signals import health_changed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.documents import block
from tests.support.flows.shop import Failing, Listening, make_due, statements

pytestmark = pytest.mark.django_db
SAID: list[tuple[str, str]] = []


def say(subject: str, text: str) -> None:
    """Stand for a function of the shop's."""
    SAID.append((subject, text))


@pytest.fixture(autouse=True)
def _connected(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Mail the one admin of the host, as the apps connect it when they are ready."""
    # Django 5.2 wants pairs, and 6.1 warns of them.
    settings.ADMINS = ["ada@example.com"] if django.VERSION >= (6, 0) else [("Ada", "ada@example.com")]
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "ALERTS": "mail_admins"}
    monkeypatch.setattr(telemetry, "IS_INSTALLED", False)
    monkeypatch.setattr(looking.ThisProcess, "looks_at", math.inf)
    SAID.clear()
    apps.get_app_config("checkout_integration").ready()
    yield
    assert health_changed.disconnect(alerts.send_alert)


def look(after: timedelta = timedelta(minutes=1)) -> None:
    """Let so much time pass, and work."""
    Alert.objects.update(sent_at=F("sent_at") - after)
    OutboxMessage.objects.update(recorded_at=F("recorded_at") - after)
    looking.ThisProcess.looks_at = 0.0
    flows.run_due()


def to_review(checkout_deliver: Deliver) -> None:
    """Let a payment of another amount come: staff should review it, and an incident is open."""
    checkout_deliver(order=order_document_for(CheckoutFactory(), amount=Decimal("0.01")))


def subjects(mailoutbox: list[Any]) -> list[str]:
    """The subjects of the mails, without the prefix of the host."""
    return [mail.subject.removeprefix("[Django] ") for mail in mailoutbox]


def test_what_needs_somebody_is_mailed_once(checkout_deliver: Deliver, mailoutbox: list[Any]) -> None:
    """With the sentence of health and the path of its rows; all is well before it."""
    look()
    assert mailoutbox == []
    to_review(checkout_deliver)
    for _ in range(3):
        look()
    look(timedelta(hours=2))
    (mail,) = mailoutbox
    assert subjects(mailoutbox) == ["warning: Incidents (default)"] and mail.to == ["ada@example.com"]
    assert mail.body == (
        "Open incidents: 1. The page of each incident says what it means.\n\n"
        "/admin/checkout_integration/incident/?resolved_at_known=no"
    )


def test_that_it_is_well_again_is_mailed_after_the_hour(
    checkout_deliver: Deliver, mailoutbox: list[Any]
) -> None:
    """And no more than that one mail in it, whatever happens."""
    to_review(checkout_deliver)
    look()
    Incident.objects.update(resolved_at=F("recorded_at"))
    look(timedelta(minutes=40))
    assert len(mailoutbox) == 1
    look(timedelta(minutes=30))
    look()
    assert subjects(mailoutbox)[1:] == ["ok: Incidents (default)"]
    assert mailoutbox[1].body == "No incident is open."


def test_what_happens_again_is_mailed_after_the_hour(
    checkout_deliver: Deliver, mailoutbox: list[Any]
) -> None:
    """One mail for all of it; nothing more where nothing happened."""
    to_review(checkout_deliver)
    look()
    for _ in range(3):
        to_review(checkout_deliver)
        look()
    assert len(mailoutbox) == 1
    look(timedelta(hours=1))
    look(timedelta(hours=2))
    assert subjects(mailoutbox) == ["warning: Incidents (default)"] * 2
    assert mailoutbox[1].body.startswith("Open incidents: 4.")


def test_what_gets_worse_is_mailed_at_once(monkeypatch: pytest.MonkeyPatch, mailoutbox: list[Any]) -> None:
    """Within the hour; back and forth after that is not."""
    now = looking.health()
    levels = [Severity.WARNING, Severity.FAILING, Severity.WARNING, Severity.FAILING, Severity.UNKNOWN]
    for level in levels:
        finding = Finding(name="service", title="Service", project="eu", severity=level, text="It is so.")
        found = SimpleNamespace(checked_at=now.checked_at, findings=[finding])
        monkeypatch.setattr(looking, "health", lambda found=found: found)
        look()
    assert subjects(mailoutbox) == ["warning: Service (eu)", "failing: Service (eu)"]
    look(timedelta(hours=1))
    assert subjects(mailoutbox)[2:] == ["ok: Service (eu)"]


def test_addresses_and_functions_get_it_too(
    checkout_deliver: Deliver, settings: Any, mailoutbox: list[Any]
) -> None:
    """By the setting as it is when the alert is sent."""
    setting = settings.CHECKOUT_INTEGRATION
    for to in (["ops@shop.example", "ada@shop.example"], f"{__name__}.say", say):
        settings.CHECKOUT_INTEGRATION = {**setting, "ALERTS": to}
        to_review(checkout_deliver)
        look(timedelta(hours=2))
    (mail,) = mailoutbox
    assert mail.to == ["ops@shop.example", "ada@shop.example"]
    assert subjects(mailoutbox) == ["warning: Incidents (default)"]
    assert [subject for subject, _ in SAID] == ["warning: Incidents (default)"] * 2


def test_without_a_receiver_health_is_not_looked_at(checkout_deliver: Deliver) -> None:
    """A shop that wants no alerts pays nothing for them."""
    health_changed.disconnect(alerts.send_alert)
    to_review(checkout_deliver)
    with statements() as seen:
        look()
    alerts.connect()
    assert not any("SELECT" in each and "alert" in each for each in seen) and Alert.objects.count() == 0


def test_one_process_of_all_looks_once_a_minute(checkout_deliver: Deliver, mailoutbox: list[Any]) -> None:
    """The others see in the database that one has looked."""
    look()
    to_review(checkout_deliver)
    for _ in range(2):
        looking.ThisProcess.looks_at = 0.0  # another process
        flows.run_due()
    assert mailoutbox == []
    look()
    assert len(mailoutbox) == 1


def test_it_is_in_the_language_of_the_host(checkout_deliver: Deliver, mailoutbox: list[Any]) -> None:
    """Not in that of the customer whom the thread has served last."""
    to_review(checkout_deliver)
    with translation.override("de"):
        look()
    assert "Open incidents: 1." in mailoutbox[0].body


def test_one_that_cannot_be_sent_is_sent_later(
    checkout_deliver: Deliver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once; that it failed is a finding, and causes no signal of its own."""
    failing = Failing(times=1)

    def say_at_last(subject: str, text: str) -> None:
        failing()
        SAID.append((subject, text))

    monkeypatch.setattr(f"{__name__}.say", say_at_last)
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "ALERTS": f"{__name__}.say"}
    to_review(checkout_deliver)
    look()
    assert SAID == []
    make_due()
    flows.run_due()
    assert [subject for subject, _ in SAID] == ["warning: Incidents (default)"]
    assert OutboxMessage.objects.filter(signal="receiver_given_up").count() == 0


def test_a_process_that_dies_has_said_nothing(
    checkout_deliver: Deliver, mailoutbox: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was said is noted in the transaction that writes the signal."""
    to_review(checkout_deliver)
    write = looking.outbox.write_messages

    def die(messages: Any) -> None:
        write(messages)
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(looking.outbox, "write_messages", die)
        with pytest.raises(SystemExit):
            look()
    assert mailoutbox == []
    look()
    assert len(mailoutbox) == 1


def test_a_receiver_of_the_shop_hears_it_too(checkout_deliver: Deliver, listen: Listening) -> None:
    """With words and ids only."""
    heard = listen(health_changed)
    to_review(checkout_deliver)
    look()
    (call,) = heard
    assert (call["finding"], call["severity"], call["previous"]) == ("incidents", "warning", "ok")
    assert (call["project"], call["title"], call["source"]) == ("default", "Incidents", "time")


def test_the_worker_of_a_shop_without_admins_is_warned(settings: Any) -> None:
    """mail_admins says nothing where there are none."""
    assert check_alerts(None) == []
    settings.ADMINS = []
    assert [message.id for message in check_alerts(None)] == ["checkout_integration.W026"]


def test_the_examples_of_the_page_work(
    settings: Any, checkout_deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/health.md: one line, and a function that writes into a chat."""
    names: dict[str, Any] = {"CHECKOUT_INTEGRATION": {}}
    exec(block("docs/health.md", "# settings.py, alerts"), names)
    assert names["CHECKOUT_INTEGRATION"] == {"ALERTS": "mail_admins"}
    page = ModuleType("shop.alerts")
    exec(block("docs/health.md", "# shop/alerts.py"), vars(page))
    posted: list[Any] = []

    def post(address: str, **kwargs: Any) -> Any:
        posted.append((address, kwargs["json"]["text"]))
        return SimpleNamespace(raise_for_status=lambda: None)

    monkeypatch.setattr(vars(page)["requests"], "post", post)
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "ALERTS": vars(page)["write_into_chat"],
    }
    to_review(checkout_deliver)
    look()
    ((address, text),) = posted
    assert address == "https://chat.invalid/hook" and text.startswith("warning: Incidents (default)\nOpen")
    assert set(ReceiverRun.objects.filter(receiver__contains="alerts").values_list("state", flat=True)) == {
        "done"
    }
    call_command("check")
