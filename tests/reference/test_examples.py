"""The worked examples of docs/reference, as they stand there."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from logging.config import DictConfigurator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.management import call_command
from django.template import Context, Template
from django.test import RequestFactory, override_settings
from django.utils.translation import override

from checkout_integration import errors, flows
from checkout_integration.flows import outbox
from checkout_integration.hooks import FailedRun, Hooks, Refusal
from checkout_integration.models import Checkout, Order
from checkout_integration.protocol.user import Address, parse_user
from checkout_integration.protocol.user import User as ServiceUser
from checkout_integration.schedule import DRAIN_SECONDS, SYNC_SECONDS
from checkout_integration.signals import LIFE_CYCLE, SIGNALS, DurableSignal, checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from checkout_integration.testing.payloads import UserDocumentFactory
from tests.reference.surroundings import COMMANDS, parser_of
from tests.support.documents import ROOT, block


def executed(page: str, source: str) -> ModuleType:
    """Return the module that a block of a page is."""
    module = ModuleType(f"{page}_example")
    exec(source, vars(module))
    return module


@pytest.fixture
def receivers(caplog: pytest.LogCaptureFixture) -> Iterator[ModuleType]:
    """Connect the receivers of the page of signals for the length of a test."""
    caplog.set_level(logging.INFO, logger="shop")
    module = executed("signals", block("docs/reference/signals.md", "# shop/signals.py"))
    yield module
    for signal in SIGNALS.values():
        for name, receiver in signal.connected().items():
            if name.startswith(module.__name__):
                signal.disconnect(receiver)


@pytest.mark.django_db
def test_each_receiver_of_the_page_is_called(
    receivers: ModuleType, checkout_deliver: Deliver, caplog: pytest.LogCaptureFixture
) -> None:
    """A payment and its refund, one of another amount, one charged back, one cancelled, and a user.validate."""
    checkout = CheckoutFactory()
    for status, event in (("processed", "payment.success"), ("refunded", "payment.refund")):
        checkout_deliver(order=order_document_for(checkout, status=status), event=event)
    checkout_deliver(order=order_document_for(CheckoutFactory(), amount=Decimal("0.01")))
    other = CheckoutFactory()
    checkout_deliver(order=order_document_for(other))
    checkout_deliver(order=order_document_for(other, status="chargeback"), event="payment.chargeback")
    checkout_deliver(order=order_document_for(CheckoutFactory(), status="canceled"), event="payment.cancel")
    checkout_deliver(event="user.validate")
    said = caplog.text
    parts = ["grant", "revoke", "look at order", "known by notification", "was paid", "was refunded"]
    parts += ["was charged back", "ended unpaid", "user.validate: False"]
    assert [part for part in parts if part not in said] == []


@pytest.mark.django_db
def test_the_receivers_of_failures_on_the_page_are_called(
    receivers: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    """Each of the life-cycle signals."""
    send_failures()
    assert [
        part
        for part in ("is failed: somewhere", "was given up", "lane recent", "was ok and is warning")
        if part not in caplog.text
    ] == []


def send_failures() -> None:
    """Send each life-cycle signal once."""
    arguments: list[dict[str, Any]] = [
        {"notification": 1, "state": "failed", "reason": "somewhere", "order_id": ""},
        {
            "run": 1,
            "receiver": "shop.grant",
            "failed_signal": "checkout_paid",
            "error": "E",
            "order_id": "",
        },
        {"sync_run": 1, "lane": "recent", "state": "failed", "first": True, "failure": "of this test"},
        {"finding": "incidents", "severity": "warning", "previous": "ok", "text": "Open incidents: 1."},
    ]
    signals: tuple[DurableSignal[Any], ...] = LIFE_CYCLE
    for signal, own in zip(signals, arguments, strict=True):
        outbox.write_messages([outbox.life_cycle_message(signal, "default", 1, source="sync", **own)])
    flows.run_due()


@pytest.mark.django_db
def test_each_hook_of_the_page_decides() -> None:
    """With an account, without one, and with data from a browser."""
    module = executed("hooks", block("docs/reference/hooks.md", "# shop/hooks.py"))
    hooks: Hooks = module.ShopHooks()
    account = User.objects.create_user("ada")
    ada, eve = (parse_user(UserDocumentFactory(external_id=key)) for key in (str(account.pk), "eve"))
    assert (hooks.validate_user(ada), hooks.find_user(ada)) == (True, account)
    assert isinstance(hooks.validate_user(eve), Refusal)
    assert hooks.find_user(eve) is None
    assert [validator(ada) for validator in hooks.validators()] == [True, True]
    assert hooks.build_checkout(RequestFactory().post("/"), {"hat": "hat"})["amount"] == Decimal("9.99")
    assert hooks.resolve_checkout(OrderFactory().snapshot) is None
    account.last_login = datetime.now(UTC)
    (use,) = hooks.proof_of_use(Order(checkout=Checkout(user=account)))
    assert (use.at, use.text) == (account.last_login, "The customer logged in to the shop.")
    with pytest.raises(PermissionDenied):
        Hooks().build_checkout(RequestFactory().post("/"), {})


def test_the_page_of_hooks_names_each_attribute_of_a_user() -> None:
    """So that nobody has to look for the specification."""
    page = (ROOT / "docs/reference/hooks.md").read_text(encoding="utf-8")
    table = page.partition("## The documents")[2].partition("## Methods")[0]
    names = {field.name for kind in (ServiceUser, Address) for field in fields(kind)}
    assert {name for name in names if f"`{name}`" not in table} == set()


def test_the_hook_of_the_page_hears_of_failures(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the last attempt only."""
    module = executed("hooks", block("docs/reference/hooks.md", "# shop/hooks.py"))
    values = {"receiver": "shop.grant", "signal": "checkout_paid", "project": "default", "order_id": ""}
    for attempt, given_up in ((9, False), (10, True)):
        run = FailedRun(**values, attempt=attempt, given_up=given_up, traceback="")
        module.ShopHooks().receiver_failed(run, ValueError())
    assert capsys.readouterr().out == "shop.grant of checkout_paid was given up at attempt 10.\n"


@pytest.mark.django_db
@pytest.mark.usefixtures("receivers")
def test_the_report_of_the_page_reads_rows() -> None:
    """What was sold, to whom, and what happened."""
    report = executed("models", block("docs/reference/models.md", "# shop/reports.py"))
    account = User.objects.create_user("ada")
    order = OrderFactory(checkout=CheckoutFactory(user=account))
    assert report.revenue("USD", datetime.now(UTC) - timedelta(days=1)) == Decimal("9.99")
    assert report.purchases_of(account) == [f"{order.order_id}: processed"]
    assert report.what_needs_a_look()["orders whose receivers have not run"] == 1
    assert report.story_of(order)[-2:] == ["goods open", f"receipt for {order.snapshot.receipt_email}"]


@pytest.mark.django_db
def test_the_page_of_words_finds_what_is_urgent() -> None:
    """A payment of another amount."""
    module = executed("words", block("docs/reference/words.md", "# shop/mailing.py"))
    order = OrderFactory(checkout=CheckoutFactory(), amount=Decimal("0.01"))
    assert module.what_to_tell_staff() == [f"{order.order_id}: another price"]


@pytest.mark.django_db(transaction=True)
def test_the_page_of_exceptions_sells(checkout_sandbox: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A checkout, and one that breaks a rule."""
    shop = executed("errors", block("docs/reference/errors.md", "# shop/checkout.py"))
    assert isinstance(shop.sell(Decimal("9.99")), Checkout)
    assert shop.sell(Decimal("9.999")) is None
    assert capsys.readouterr().out.startswith("Correct the call:")


def test_the_page_of_exceptions_has_advice_on_each() -> None:
    """Every class that is no family has its own; nothing falls through."""
    advice_on = executed("errors", block("docs/reference/errors.md", "# shop/advice.py")).advice_on
    kinds = [getattr(errors, name) for name in errors.__all__]
    families = {errors.CheckoutError, errors.ErrorResponse, errors.NotRecorded}
    vague = {kind for kind in kinds if advice_on(_made(kind)) == "tell an engineer"}
    assert vague == families


def _made(kind: type[Exception]) -> Exception:
    """Return an exception of this class, without what it says."""
    made = kind.__new__(kind)
    vars(made).update(retry_is_safe=True)
    return made


@pytest.mark.django_db(transaction=True)
def test_the_tags_of_the_page_render(checkout_sandbox: Any) -> None:
    """Each of them, for a checkout and for a token."""
    page = (ROOT / "docs/reference/template-tags.md").read_text(encoding="utf-8")
    source = page.partition("```html\n")[2].partition("```")[0]
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    issued = flows.create_token(amount=Decimal("9.99"), currency="USD")
    shown = Template(source).render(Context({"checkout": checkout, "issued": issued}))
    assert shown.count("<iframe") == 2
    assert shown.count("data-checkout-form") == 1
    assert shown.count("renderPage") + shown.count("<script") >= 2


@pytest.mark.django_db(transaction=True)
def test_the_page_with_a_link_answers(checkout_sandbox: Any) -> None:
    """A page in the shop's own template."""
    module = executed("template-tags", block("docs/reference/template-tags.md", "# shop/pages.py"))
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    templates = {"shop/pay.html": "{{ price }} {{ address }} {{ nonce }}"}
    loaders = [("django.template.loaders.locmem.Loader", templates)]
    backend = "django.template.backends.django.DjangoTemplates"
    with override_settings(TEMPLATES=[{"BACKEND": backend, "OPTIONS": {"loaders": loaders}}]):
        response = module.pay(RequestFactory().get("/"), checkout.reference)
    assert response.content.startswith(b"9.99 http")


@pytest.mark.django_db(transaction=True)
def test_the_functions_of_the_page_serve_a_template_of_the_shop(checkout_sandbox: Any) -> None:
    """For an order, and for a token."""
    module = executed("template-tags", block("docs/reference/template-tags.md", "# shop/own_template.py"))
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    assert checkout.order_id in "".join(module.context_for(checkout)["options"].values())
    issued = flows.create_token(amount=Decimal("9.99"), currency="USD")
    assert issued.token in module.context_of_token(issued)["options"].values()
    with override("de"):
        assert module.price_of(checkout) == "9,99"


def test_the_content_policy_of_the_page_is_one() -> None:
    """For a settings module."""
    source = block("docs/reference/template-tags.md", "# mysite/settings.py, content policy")
    policy = executed("template-tags", source).SECURE_CSP
    assert policy["frame-src"] == ["'self'", "https://pay.example.com"]


@override_settings(ROOT_URLCONF="tests.api.urls")
def test_the_page_of_rest_asks(db: None) -> None:
    """The test of the page passes."""
    module = executed("rest", block("docs/reference/rest.md", "# shop/test_api.py"))
    module.test_an_account_sees_its_own_checkouts(None)
    module.test_an_account_sees_what_it_owns(None)


@pytest.mark.django_db(transaction=True)
def test_the_commands_of_the_page_run(
    checkout_sandbox: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them, but for the sandbox, which runs until it is stopped: its options are known."""
    monkeypatch.chdir(tmp_path)
    checkout_paid.connect(_grant, dispatch_uid="shop.receivers.grant")
    OrderFactory(checkout=CheckoutFactory(), user=UserDocumentFactory(external_id="player-1"))
    shown = block("docs/reference/commands.md", "$ python manage.py checkout_work --once")
    lines = [shlex.split(line)[3:] for line in shown.splitlines()]
    assert {name for name, *_ in lines} == {f"checkout_{name}" for name in COMMANDS}
    for name, *options in lines:
        if name == "checkout_sandbox":
            assert {option for option in options if option.startswith("--")} <= set(parser_of(name))
        else:
            call_command(name, *options)
    assert checkout_paid.disconnect(dispatch_uid="shop.receivers.grant")
    assert capsys.readouterr().out


def _grant(**kwargs: Any) -> None:
    """Stand for the shop's receiver."""


def test_the_schedule_of_the_page_is_celerys() -> None:
    """The names of the tasks are those that the page sends."""
    module = executed("commands", block("docs/reference/commands.md", "# mysite/beat.py"))
    assert "checkout_integration.run_due" in module.app.conf.beat_schedule
    from checkout_integration import tasks

    page = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    assert f"every {DRAIN_SECONDS:.0f} seconds" in page
    assert f"every {SYNC_SECONDS / 60:.0f} minutes" in page
    assert all(f"| `{lane}` |" in page for lane in flows.sync.LANES)
    names = {tasks.run_due.name, tasks.sync_transactions.name, tasks.prune.name}
    assert names == {
        "checkout_integration.run_due",
        "checkout_integration.sync_transactions",
        "checkout_integration.prune",
    }
    assert set(module.app.conf.beat_schedule) == {
        "checkout_integration.run_due",
        "checkout_integration.sync_due.default",
        "checkout_integration.prune",
    }


@pytest.mark.django_db
def test_the_checks_of_the_page_run() -> None:
    """The command is one of Django's."""
    words = shlex.split(
        block("docs/reference/checks.md", "$ python manage.py check --deploy --database default")
    )
    call_command(*words[3:], "--fail-level", "CRITICAL")


def test_the_loggers_of_the_page_can_be_configured() -> None:
    """Each of them is one of ours, and the whole is a configuration."""
    module = executed("logging", block("docs/reference/logging.md", "# mysite/settings.py, logging"))
    assert DictConfigurator(module.LOGGING).config["version"] == 1
    assert all(name.startswith("checkout_integration") for name in module.LOGGING["loggers"])
