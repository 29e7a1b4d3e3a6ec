"""Commands by which somebody decides record who it was: the account of ``--as``, else the system's user."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime
from importlib import import_module
from io import StringIO
from pkgutil import iter_modules
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from django.test import Client

from checkout_integration.management import commands
from checkout_integration.management.database_command import StaffCommand
from checkout_integration.management.options import system_user
from checkout_integration.models import (
    Incident,
    Notification,
    Order,
    Receiver,
    ReceiverRun,
    StaffAct,
    Transition,
)
from checkout_integration.models.actor import SystemUser
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.flows.operations.test_binding import unbound
from tests.support.admin import rows
from tests.support.admin.screens import page_address
from tests.support.flows.shop import Listening

pytestmark = pytest.mark.django_db

BY_THEMSELVES = {"checkout_doctor", "checkout_sandbox", "checkout_sync", "checkout_work"}
"""Machines run these by the settings, and nobody decides anything."""
WAYS = pytest.mark.parametrize("way", [(), ("--as", "grace")], ids=["system", "account"])


@pytest.fixture(autouse=True)
def grace(db: None) -> User:
    """A member of staff."""
    return User.objects.create_user("grace", is_staff=True)


@pytest.fixture(autouse=True)
def _system_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the commands be run by a user of the system."""
    monkeypatch.setenv("LOGNAME", "deploy")


def run(*words: str) -> None:
    """Run a command to its end."""
    call_command(*words, stdout=StringIO())


def _fails(*arguments: Any) -> bool:
    raise LookupError("a bug")


def expected(way: tuple[str, ...]) -> str:
    """The one whom the history must have."""
    return "grace" if way else "deploy"


def test_every_command_that_decides_has_the_option() -> None:
    """A new command has it too, unless it is listed as a machine's."""
    names = {module.name for module in iter_modules(commands.__path__)}
    deciding = {
        name
        for name in names
        if issubclass(import_module(f"{commands.__name__}.{name}").Command, StaffCommand)
    }
    assert deciding == names - BY_THEMSELVES


@WAYS
def test_accepted(checkout_deliver: Deliver, way: tuple[str, ...]) -> None:
    """In the history of the order, among the acts of staff, and on the incident that it resolves."""
    order = unbound(checkout_deliver)
    run("checkout_accept", "--order", order.order_id, "--reason", "phoned", *way)
    act = StaffAct.objects.get()
    assert (act.act, act.origin, act.order, act.reason) == ("accept", "command", order, "phoned")
    resolved = Incident.objects.get(kind="review:unbound")
    named = [str(each.actor) for each in (Transition.objects.get(act="accept"), act, resolved)]
    assert (named, resolved.ended_itself) == ([expected(way)] * 3, False)


@WAYS
def test_bound(checkout_deliver: Deliver, way: tuple[str, ...]) -> None:
    """As well: the checkout was named by somebody, who resolved the incident."""
    order, checkout = unbound(checkout_deliver), CheckoutFactory()
    words = ("--order", order.order_id, "--checkout", checkout.reference, "--reason", "their receipt")
    run("checkout_accept", *words, *way)
    acts = StaffAct.objects.order_by("pk")
    assert {str(each.actor) for each in [*acts, Incident.objects.get(kind="review:unbound")]} == {
        expected(way)
    }
    assert "bind" in acts.values_list("act", flat=True)


@WAYS
def test_pruned(way: tuple[str, ...], settings: Any) -> None:
    """With the number of rows of each kind; a schedule does what the settings say, and is nobody."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "RETENTION": {"notification_bodies": 30},
    }
    old = rows.make_notification("order-1")
    Notification.objects.update(received_at=datetime(2020, 1, 1, tzinfo=UTC))
    run("checkout_prune", "--dry-run", *way)
    assert not StaffAct.objects.exists() and Notification.objects.get(pk=old.pk).body
    run("checkout_prune", *way)
    run("checkout_prune", *way)  # which finds nothing to do
    act = StaffAct.objects.get()
    assert (act.act, act.counts, str(act.actor)) == ("prune", {"notification_bodies": 1}, expected(way))


@WAYS
def test_replayed_retried_and_retired(listen: Listening, way: tuple[str, ...]) -> None:
    """With the receiver and the number of runs."""
    order = OrderFactory(checkout=CheckoutFactory())
    listen(checkout_paid, name="late")
    run("checkout_replay", "--receiver", "late", "--dry-run", *way)
    assert not StaffAct.objects.exists()
    run("checkout_replay", "--receiver", "late", *way)
    run("checkout_replay", "--receiver", "late", *way)  # which finds nothing to do
    ReceiverRun.objects.filter(message__order=order).update(state="failed")
    run("checkout_replay", "--receiver", "late", "--failed", *way)
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    Receiver.objects.create(signal="checkout_paid", name="gone", first_seen=long_ago, last_seen=long_ago)
    run("checkout_replay", "--receiver", "gone", "--retire", *way)
    acts = [
        (act.act, str(act.actor), act.receiver, act.counts["receiver_runs"])
        for act in StaffAct.objects.order_by("pk")
    ]
    who = expected(way)
    assert acts == [("replay", who, "late", 1), ("retry", who, "late", 1), ("retire", who, "gone", 0)]
    assert set(StaffAct.objects.values_list("origin", flat=True)) == {"command"}


@WAYS
def test_applied(checkout_deliver: Deliver, way: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """A notification that changes its order."""
    monkeypatch.setattr("checkout_integration.flows.inbox.reading.is_testing_case", _fails)
    checkout_deliver(order=OrderDocumentFactory())
    monkeypatch.undo()
    monkeypatch.setenv("LOGNAME", "deploy")
    row = Notification.objects.get(state="failed")
    run("checkout_apply", "--notification", row.key, *way)
    act, resolved = StaffAct.objects.get(), Incident.objects.get(kind="not_applied")
    assert (act.act, act.notification, act.order) == ("apply", row, Order.objects.get())
    assert {str(each.actor) for each in (Transition.objects.latest("pk"), act, resolved)} == {expected(way)}


def test_somebody_who_has_no_account(checkout_deliver: Deliver) -> None:
    """A slip of the pen is no person: nothing is done."""
    order = unbound(checkout_deliver)
    with pytest.raises(CommandError, match="There is no account 'grcae'"):
        run("checkout_accept", "--order", order.order_id, "--reason", "phoned", "--as", "grcae")
    assert not Transition.objects.exclude(act="").exists()


def test_a_system_without_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may have only a number for its user."""

    def nameless() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert system_user().startswith("user ")


def test_the_name_is_never_changed(checkout_deliver: Deliver) -> None:
    """As little as the rest of the history, by SQL neither."""
    order = unbound(checkout_deliver)
    run("checkout_accept", "--order", order.order_id, "--reason", "phoned")
    with pytest.raises(TypeError):
        Transition.objects.update(system_user="")
    with pytest.raises(DatabaseError), connection.cursor() as cursor:
        cursor.execute("UPDATE checkout_integration_transition SET system_user = 'nobody'")


def test_staff_see_it(checkout_deliver: Deliver, listen: Listening, admin_client: Client) -> None:
    """On the order's page, and in the list of acts."""
    order = unbound(checkout_deliver)
    run("checkout_accept", "--order", order.order_id, "--reason", "phoned")
    assert "deploy" in admin_client.get(page_address("order", order)).content.decode()
    OrderFactory(checkout=CheckoutFactory())
    listen(checkout_paid, name="late")
    run("checkout_replay", "--receiver", "late")
    page = admin_client.get("/admin/checkout_integration/staffact/").content.decode()
    assert "deploy" in page and "late" in page and "past events given to the shop&#x27;s code" in page


def test_nobody_is_the_shop_itself() -> None:
    """Code of the shop may act without a name; a system's user has no account."""
    assert (Transition().actor, SystemUser("deploy").pk) == (None, None)
