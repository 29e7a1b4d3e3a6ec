"""System checks, run by Django's own machinery: every message names the setting and the correction."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from celery import Celery
from django.apps import apps
from django.core.checks import CheckMessage, run_checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection, connections
from django.utils import timezone, translation

from checkout_integration.hooks import Hooks
from checkout_integration.models import Installation, Notification, Receiver, SyncRun
from checkout_integration.signals import checkout_paid, payment_refund, payment_success
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.flows.conftest import listen
from tests.support.flows.shop import Listening
from tests.support.wrong_settings import CANARY, GOOD, OWN, WRONG
from tests.test_tasks import as_current

__all__ = ["listen"]


class ShopHooks(Hooks):
    """The shop's decisions."""


class NoHooks:
    """A class that forgot its parent."""


def grant(**kwargs: Any) -> None:
    """Is a receiver as the README writes it."""


@pytest.fixture
def _granting() -> Iterator[None]:
    """Connect a receiver, as a shop does."""
    checkout_paid.connect(grant)
    yield
    checkout_paid.disconnect(grant)


PREPARED = {"server_side_binding": True, "prepare_threshold": 5}


@pytest.fixture
def check(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[CheckMessage]]]:
    """Runs all checks of Django with this setting, and gives the messages of this app."""
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 60)
    if connection.vendor == "postgresql":  # the connection stays the one that is open
        monkeypatch.setitem(connection.settings_dict, "OPTIONS", PREPARED)
    app = Celery("shop", broker="redis://broker.invalid", set_as_current=False)

    def run(raw: object = GOOD, *, deploy: bool = False, databases: Any = None) -> list[CheckMessage]:
        settings.CHECKOUT_INTEGRATION = raw
        messages = run_checks(include_deployment_checks=deploy, databases=databases)
        return [each for each in messages if (each.id or "").startswith("checkout_integration.")]

    with as_current(app):
        yield run


Check = Callable[..., list[CheckMessage]]
# Django's own checks of models may look at the database.
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_granting")]


def test_good_settings_pass(check: Check) -> None:
    """Without a message, for deployment too."""
    assert check() == check(deploy=True) == []


@pytest.mark.parametrize(("raw", "id_", "name", "mend"), WRONG)
def test_a_wrong_setting_is_named_with_its_mend(
    check: Check, raw: object, id_: str, name: str, mend: str
) -> None:
    """As an error, which stops the start."""
    (message,) = check(raw)
    assert message.id == f"checkout_integration.{id_}"
    assert message.is_serious()
    assert name in message.msg and (message.hint or "").startswith(mend)
    assert "canary" not in str(message)


@pytest.mark.parametrize("raw", [each[0] for each in WRONG])
def test_wrong_settings_do_not_break_the_deployment_checks(check: Check, raw: object) -> None:
    """One error, and no traceback, also with the checks that look at the database."""
    assert len(check(raw, deploy=True, databases=["default"])) == 1


def test_all_problems_are_reported_at_once(check: Check) -> None:
    """All mistakes can be corrected before the next start."""
    raw = {**GOOD, "BASE_URL": "http://service.invalid", "TIMEOUT": "fast", "UNHEARD": 1}
    assert {each.id for each in check(raw)} == {
        f"checkout_integration.{id_}" for id_ in ("E003", "E004", "E007")
    }


def test_the_command_fails_and_says_why(settings: Any) -> None:
    """``manage.py check``, as a person sees it."""
    settings.CHECKOUT_INTEGRATION = {**GOOD, "BASE_URL": "http://service.invalid"}
    with pytest.raises(SystemCheckError) as failed:
        call_command("check")
    assert "(checkout_integration.E007) BASE_URL of" in str(failed.value)
    assert "HINT: Set BASE_URL to an https:// address." in str(failed.value)


def test_hooks_of_the_shop_pass(check: Check) -> None:
    """A subclass, by its dotted path."""
    assert check({**GOOD, "HOOKS": "tests.test_checks.ShopHooks"}) == []


def test_callables_pass_without_being_called(check: Check) -> None:
    """An unreachable vault must not stop the start; the deployment check calls it."""

    def away() -> str:
        raise ConnectionError(CANARY)

    raw = {**GOOD, "PROJECTS": {"default": {**OWN, "PREVIOUS_SECRET_KEYS": [away]}}}
    assert check(raw) == []
    (message,) = check(raw, deploy=True)
    assert message.id == "checkout_integration.E005"
    assert "ConnectionError" in message.msg and "PREVIOUS_SECRET_KEYS" in (message.hint or "")
    assert "canary" not in str(message)


def test_what_a_callable_returns_is_checked_before_deployment(check: Check) -> None:
    """By the rules for a secret that is written down."""
    raw = {**GOOD, "PROJECTS": {"default": {**OWN, "SECRET_KEY": lambda: "canary-short"}}}
    assert check(raw) == []
    (message,) = check(raw, deploy=True)
    assert message.id == "checkout_integration.E005" and "SECRET_KEY" in message.msg
    assert "canary" not in str(message)


def outer() -> Callable[..., None]:
    """Return a receiver that is defined inside a function."""

    def inner(**kwargs: Any) -> None:
        """Receives."""

    return inner


def twin() -> Callable[..., None]:
    """Return another receiver of the name of `grant`."""
    other = outer()
    other.__qualname__ = "grant"
    return other


def without_kwargs(order: object) -> None:
    """Lacks the keyword arguments that Django requires of receivers."""


@pytest.mark.parametrize(
    ("nameless", "why"),
    [
        (lambda **kwargs: None, "it is a lambda"),
        (outer(), "it is defined inside a function"),
        (partial(grant, x=1), "it is a partial"),
        (ShopHooks(), "it cannot be called"),
        (without_kwargs, "it does not accept **kwargs"),
        (twin(), "another receiver has the same name"),
    ],
)
def test_a_receiver_that_could_not_be_found_again_is_refused(check: Check, nameless: Any, why: str) -> None:
    """Its runs are stored by name and may be run hours later by another process."""
    checkout_paid.connect(nameless)
    try:
        (message,) = check()
    finally:
        checkout_paid.problems.clear()
    assert message.id == "checkout_integration.E009"
    assert "checkout_paid" in message.msg and why in message.msg
    assert message.hint == (
        "Connect a function at module level that accepts **kwargs, or give a text dispatch_uid of its own."
    )


@pytest.mark.parametrize(
    ("signal", "enough"), [(checkout_paid, True), (payment_success, True), (payment_refund, False)]
)
def test_a_receiver_of_payments_is_required(check: Check, signal: Any, enough: bool) -> None:
    """Without a receiver, payments would be received but never fulfilled."""
    checkout_paid.disconnect(grant)
    signal.connect(grant)
    try:
        found = [each.id for each in check()]
    finally:
        signal.disconnect(grant)
    assert found == ([] if enough else ["checkout_integration.W001"])


@pytest.fixture
def _without_celery(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation that has no Celery: importing it fails."""
    monkeypatch.setitem(sys.modules, "celery", None)
    monkeypatch.delitem(sys.modules, "checkout_integration.tasks", raising=False)


@pytest.mark.usefixtures("_without_celery")
def test_celery_that_is_not_installed_is_named_with_its_mend(check: Check) -> None:
    """The start is stopped by a check, not by a traceback."""
    (message,) = check({**GOOD, "RUNNER": "celery"})
    assert message.id == "checkout_integration.E012"
    assert message.is_serious() and "RUNNER" in message.msg
    assert (message.hint or "").startswith('Install "checkout-integration[celery]"')
    assert check() == []


@pytest.mark.usefixtures("_without_celery")
def test_the_app_is_ready_without_celery(settings: Any) -> None:
    """Otherwise the checks could not report that it is missing."""
    settings.CHECKOUT_INTEGRATION = {**GOOD, "RUNNER": "celery"}
    apps.get_app_config("checkout_integration").ready()
    assert "checkout_integration.tasks" not in sys.modules


def test_celery_that_is_installed_is_no_problem(check: Check) -> None:
    """Where it is to run receivers."""
    assert check({**GOOD, "RUNNER": "celery"}) == []


def test_no_project_is_the_default_one(check: Check) -> None:
    """Its address would be a 404, and every checkout would have to name its project."""
    (message,) = check({**GOOD, "PROJECTS": {"games": OWN}})
    assert message.id == "checkout_integration.W006"
    assert not message.is_serious()
    for text in ('CHECKOUT_INTEGRATION["PROJECTS"]', "webhook/", "create_checkout"):
        assert text in message.msg
    assert (message.hint or "").startswith('Name a project "default"')
    assert "canary" not in str(message)


def test_sqlite_needs_immediate_transactions(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else concurrent notifications fail with "database is locked"."""
    if connection.vendor != "sqlite":
        pytest.skip("looks at SQLite only")
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", {})
    (message,) = check()
    assert message.id == "checkout_integration.W002"
    assert "'default'" in message.msg and '"transaction_mode": "IMMEDIATE"' in (message.hint or "")


@pytest.mark.mariadb
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("level", "ids"), [("repeatable read", ["W007"]), (None, ["W007"]), ("READ COMMITTED", [])]
)
def test_mariadb_needs_read_committed(
    check: Check, monkeypatch: pytest.MonkeyPatch, level: str | None, ids: list[str]
) -> None:
    """Otherwise two outer transactions could both take one checkout; None leaves the level to the server."""
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", {"isolation_level": level})
    messages = check()
    assert [message.id for message in messages] == [f"checkout_integration.{each}" for each in ids]
    assert all("isolation_level" in (message.hint or "") for message in messages)


@pytest.mark.parametrize(
    ("changes", "id_", "name"),
    [
        ({"PROJECTS": {"default": {**OWN, "SECRET_KEY": "sandbox_canary_secret"}}}, "E010", "SECRET_KEY"),
        (
            {"PROJECTS": {"default": {**OWN, "PREVIOUS_SECRET_KEYS": ["sandbox_canary_secret"]}}},
            "E010",
            "SECRET_KEY",
        ),
        ({"ACCEPT_TEST_PAYMENTS": True}, "W003", "ACCEPT_TEST_PAYMENTS"),
        ({"ALLOW_HTTP_LOOPBACK": True}, "W004", "ALLOW_HTTP_LOOPBACK"),
        (
            {"PROJECTS": {"default": {**OWN, "SECRET_KEY": lambda: f"{CANARY}\r\n"}}},
            "W017",
            "",
        ),
        ({"RUNNER": "request"}, "W005", "RUNNER"),
    ],
)
def test_what_is_meant_for_development_is_named_before_deployment(
    check: Check, changes: dict[str, Any], id_: str, name: str
) -> None:
    """By ``check --deploy`` only."""
    raw = {**GOOD, **changes}
    assert check(raw) == []
    (message,) = check(raw, deploy=True)
    assert message.id == f"checkout_integration.{id_}"
    assert name in message.msg and name in (message.hint or "")
    assert "canary" not in str(message)


def test_hosts_of_development_are_named_before_deployment(check: Check, settings: Any) -> None:
    """Where they have an effect: with DEBUG, or a key of the sandbox."""
    raw = {**GOOD, "ALLOW_HTTP_HOSTS": ["sandbox"]}
    assert check(raw, deploy=True) == []
    settings.DEBUG = True
    assert [message.id for message in check(raw, deploy=True)] == ["checkout_integration.W004"]


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"PREPEND_WWW": True}, ["PREPEND_WWW"]),
        ({"SECURE_SSL_REDIRECT": True}, ["SECURE_SSL_REDIRECT"]),
        ({"SECURE_SSL_REDIRECT": True, "SECURE_REDIRECT_EXEMPT": ["^health/"]}, ["SECURE_SSL_REDIRECT"]),
        ({"SECURE_SSL_REDIRECT": True, "PREPEND_WWW": True}, ["PREPEND_WWW", "SECURE_SSL_REDIRECT"]),
        ({"SECURE_SSL_REDIRECT": True, "SECURE_PROXY_SSL_HEADER": ("HTTP_X_SSL", "on")}, []),
        ({"SECURE_SSL_REDIRECT": True, "SECURE_REDIRECT_EXEMPT": ["webhook/$"]}, []),
        ({"SECURE_SSL_REDIRECT": True, "PREPEND_WWW": True, "MIDDLEWARE": []}, []),
    ],
)
def test_redirects_in_front_of_the_webhook_are_named_before_deployment(
    check: Check, settings: Any, changes: dict[str, Any], names: list[str]
) -> None:
    """The service follows none, and the view never sees the request: nothing else would ever say so."""
    for name, value in changes.items():
        setattr(settings, name, value)
    found = [each for each in check(deploy=True) if each.id == "checkout_integration.W019"]
    assert [each.msg.partition(" ")[0] for each in found] == names
    assert [each for each in check() if each.id == "checkout_integration.W019"] == []


class AppAlone:
    """A router that gives this app a database of its own."""

    def db_for_write(self, model: Any, **hints: Any) -> str | None:
        """Return the database of a model."""
        return "payments" if model._meta.app_label == "checkout_integration" else None

    db_for_read = db_for_write


def test_another_database_than_that_of_the_accounts_is_an_error(
    check: Check, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables could be made there; the first sale to an account would fail. Both targets of foreign keys are named."""
    monkeypatch.setitem(connections.databases, "payments", connection.settings_dict)
    # Django 6.1 would ask the database, which pytest-django forbids: it is not that of the test.
    connections["payments"].features.supports_json_field = True
    try:
        settings.DATABASE_ROUTERS = [AppAlone()]
        found = check()
    finally:
        del connections["payments"]
    assert {each.id for each in found if each.is_serious()} == {"checkout_integration.E016"}
    assert [each.msg.partition("and ")[2].split()[0] for each in found if each.is_serious()] == [
        "auth.User",
        "contenttypes.ContentType",
    ]


@pytest.mark.parametrize(
    ("app", "said"),
    [
        (None, "no Celery app of the shop is loaded"),
        (
            Celery("shop", set_as_current=False),
            "'shop' has no broker_url: tasks would go to amqp://guest:**@localhost",
        ),
        (Celery("shop", broker="redis://broker.invalid", set_as_current=False), ""),
        (Celery("shop", task_always_eager=True, set_as_current=False), ""),
    ],
)
def test_celery_needs_an_app_of_the_shop_and_a_broker(
    check: Check, monkeypatch: pytest.MonkeyPatch, app: Celery | None, said: str
) -> None:
    """Else tasks go to a queue on this machine that nobody reads, or nowhere."""
    monkeypatch.delenv("CELERY_BROKER_URL", raising=False)
    with as_current(app or Celery("default", set_as_current=False)):
        messages = check({**GOOD, "RUNNER": "celery"})
        assert check() == []
    assert {each.id for each in messages} <= {"checkout_integration.W018"}
    assert [said in each.msg for each in messages] == ([True] if said else [])


@pytest.mark.postgres
@pytest.mark.mariadb
def test_a_connection_for_each_request_is_named_before_deployment(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening it takes longer than accepting a notification."""
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 0)
    (message,) = check(deploy=True)
    assert (message.id, check()) == ("checkout_integration.W009", [])
    assert "CONN_MAX_AGE" in message.msg and "CONN_MAX_AGE" in (message.hint or "")


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({}, ["checkout_integration.I001"]),
        ({"CONN_MAX_AGE": 0}, ["checkout_integration.W009"]),
        ({"DISABLE_SERVER_SIDE_CURSORS": True}, []),
        ({"OPTIONS": {"server_side_binding": True}}, ["checkout_integration.I001"]),
        ({"OPTIONS": PREPARED}, []),
    ],
)
def test_statements_that_are_planned_anew_are_an_information(
    check: Check, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], ids: list[str]
) -> None:
    """Where connections stay open, and no pooler hands them from one process to another."""
    for name, value in {"CONN_MAX_AGE": 60, "OPTIONS": {}, **options}.items():
        monkeypatch.setitem(connection.settings_dict, name, value)
    assert [message.id for message in check(deploy=True)] == ids
    assert check() == []


@pytest.mark.parametrize("runner", ["request", "celery", "worker"])
def test_work_that_nobody_does_is_named(
    check: Check, checkout_deliver: Deliver, settings: Any, runner: str
) -> None:
    """By ``check --database`` only, since it queries the database; the message names the missing worker."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    checkout_deliver(order=OrderDocumentFactory())
    raw = {**GOOD, "RUNNER": runner}
    assert check(raw, databases=["default"]) == []
    Notification.objects.update(due_at=timezone.now() - timedelta(minutes=6))
    (message,) = check(raw, databases=["default"])
    assert (message.id, check(raw)) == ("checkout_integration.W010", [])
    assert "6 minutes" in message.msg and runner in (message.hint or "")
    with translation.override("de"):
        assert check(raw, databases=["default"])[0].hint == message.hint


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("runner", "starts"),
    [("request", "checkout_sync --lane due"), ("celery", "beat"), ("worker", "checkout_work")],
)
def test_a_list_that_nobody_reads_is_named(check: Check, runner: str, starts: str) -> None:
    """By ``check --database`` only; the message names what would read it."""
    raw = {**GOOD, "RUNNER": runner}
    begun = timezone.now() - timedelta(hours=3)
    Installation.objects.create(project="default", installed_at=begun)
    (message,) = check(raw, databases=["default"])
    assert (message.id, check(raw)) == ("checkout_integration.W011", [])
    assert "3 hours" in message.msg and starts in (message.hint or "")
    SyncRun.objects.create(project="default", lane="recent", state="complete", started_at=timezone.now())
    assert check(raw, databases=["default"]) == []


def _short() -> str:
    return "canary"


def _away() -> str:
    raise ConnectionError("canary")


@pytest.mark.parametrize("source", [_short, _away])
def test_a_callable_token_is_called_before_deployment(check: Check, source: Callable[[], str]) -> None:
    """By ``check --deploy`` only, since a vault may not be reachable where the others run."""
    raw = {**GOOD, "HEALTH_TOKEN": source}
    assert check(raw) == []
    (message,) = check(raw, deploy=True)
    assert message.id == "checkout_integration.E015"
    assert "HEALTH_TOKEN" in message.msg and "HEALTH_TOKEN" in (message.hint or "")
    assert "canary" not in str(message)


def _remember(*names: str, **columns: Any) -> None:
    now = timezone.now()
    for name in names:
        Receiver.objects.create(
            signal="checkout_paid", name=name, names=[name], first_seen=now, last_seen=now, **columns
        )


def _of_remembered() -> list[str]:
    ids = ("checkout_integration.W020", "checkout_integration.E020")
    return [f"{each.id[-4:]} {each.msg}" for each in run_checks(databases=["default"]) if each.id in ids]


@pytest.mark.django_db
def test_a_receiver_that_vanished_beside_a_new_one(listen: Listening) -> None:
    """Renamed without a word, it would run beside the new one. Declared, retired, added alone or removed alone is well."""
    _remember("shop.old", "tests.test_checks.grant")
    old = Receiver.objects.filter(name="shop.old")
    assert _of_remembered() == [], "removed alone"
    listen.connect(checkout_paid, lambda **arguments: None, "shop.new")
    (warning,) = _of_remembered()
    assert warning.startswith(
        "W020 Receivers of checkout_paid are not connected any more: shop.old. Others are new: shop.new."
    )
    old.update(retired_at=timezone.now())
    assert _of_remembered() == []
    old.update(retired_at=None, names=["shop.new", "shop.old"])
    assert _of_remembered() == [], "declared"
    listen.connect(checkout_paid, lambda **arguments: None, "shop.old")
    assert [each[:4] for each in _of_remembered()] == ["E020"], "both are connected, and are one"
    old.update(names=["shop.old"])
    assert _of_remembered() == [], "added alone"
