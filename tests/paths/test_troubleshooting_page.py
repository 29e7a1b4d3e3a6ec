"""docs/troubleshooting.md: each line of its tables is caused here, and shows what the page says that one sees."""

from __future__ import annotations

import io
import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import requests
import time_machine
from django.contrib.auth.models import User
from django.core import checks as django_checks
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client, RequestFactory
from django.views import View

from checkout_integration import checks, flows
from checkout_integration.models import Notification, Order
from checkout_integration.sandbox import SandboxServer
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from checkout_integration.testing.service import CheckoutSandbox
from checkout_integration.views.selling import SellMixin
from tests.flows.conftest import _not_installed, _nothing_refused, listen
from tests.support.admin import rows
from tests.support.documents import ROOT, block
from tests.support.flows.notified import installed
from tests.support.flows.shop import Failing, Listening
from tests.support.wrong_settings import GOOD

__all__ = ["_not_installed", "_nothing_refused", "listen"]
pytestmark = pytest.mark.django_db(transaction=True)
TERMS: dict[str, Any] = {"amount": Decimal("9.99"), "currency": "USD"}
SYMPTOM = re.compile(r"^\| (?P<seen>[^|]+) \| (?P<why>[^|]+) \| (?P<mend>[^|]+) \|$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Shop:
    """What a symptom is caused with."""

    settings: Any
    service: CheckoutSandbox
    deliver: Deliver
    listen: Listening
    log: pytest.LogCaptureFixture
    patch: pytest.MonkeyPatch

    def set_to(self, **changes: Any) -> None:
        """Change settings of the app."""
        self.settings.CHECKOUT_INTEGRATION = {**self.settings.CHECKOUT_INTEGRATION, **changes}

    def checked(self, **changes: Any) -> str:
        """Return what the system checks say, those of a deployment too."""
        self.set_to(**changes)
        messages = django_checks.run_checks(include_deployment_checks=True)
        return "\n".join(f"{each.id} {each.msg} {each.hint}" for each in messages)

    def refused(self, **terms: Any) -> str:
        """Return the exception of a checkout that cannot be made."""
        with pytest.raises(Exception) as raised:  # noqa: PT011  # which one is what the page says
            flows.create_checkout(**{**TERMS, **terms})
        return f"{raised.type.__name__}: {raised.value}"

    def post(self, address: str = "/checkout/webhook/", **headers: str) -> str:
        """Post to the shop; gives the status, the body, and what was logged."""
        self.log.clear()
        answer = Client().post(address, b"{}", content_type="application/json", headers=headers)
        return f"{answer.status_code} {answer.content.decode()} {self.log.text}"

    def verdict(self, document: dict[str, Any]) -> str:
        """Deliver a payment; gives the verdict."""
        self.deliver(order=document)
        order = Order.objects.get()
        return f"{order.verdict} {order.verdict_reason}"


Cause = Callable[[Shop], str]
CAUSES: dict[str, Cause] = {}


def symptom(seen: str) -> Callable[[Cause], Cause]:
    """Register what causes the line of the page that begins with this message."""

    def register(cause: Cause) -> Cause:
        CAUSES[seen] = cause
        return cause

    return register


@symptom("KeyError: 'CHECKOUT_PROJECT_ID'")
def _no_variables(shop: Shop) -> str:
    shop.patch.delenv("CHECKOUT_PROJECT_ID", raising=False)
    setting = block("docs/quickstart.md", "# mysite/settings.py").partition("CHECKOUT_INTEGRATION = ")[2]
    with pytest.raises(KeyError) as raised:
        exec(f"import os\nDEBUG = True\nCHECKOUT_INTEGRATION = {setting}", {})
    return f"{raised.type.__name__}: {raised.value}"


@symptom("ImproperlyConfigured")
def _a_wrong_setting(shop: Shop) -> str:
    shop.set_to(TIMEOUT="fast")
    return shop.refused()


@symptom("checkout_integration.E003")
def _a_slip_of_the_pen(shop: Shop) -> str:
    return shop.checked(BASE_ULR="x")


@symptom("checkout_integration.E010")
def _the_sandboxes_key(shop: Shop) -> str:
    return shop.checked()


@symptom("UnknownAlias")
def _no_such_project(shop: Shop) -> str:
    return shop.refused(project="us")


@symptom("database is locked")
def _sqlite_as_django_makes_it(shop: Shop) -> str:
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}
    code = (
        "import django, sqlite3; from django.conf import settings\n"
        f"settings.configure(DATABASES={{'default': {database!r}}}, CHECKOUT_INTEGRATION={GOOD!r}, "
        "INSTALLED_APPS=['django.contrib.contenttypes', 'django.contrib.auth', 'checkout_integration'])\n"
        "django.setup()\nfrom django.core.checks import run_checks\n"
        "print(*[f'{each.id} {each.msg}' for each in run_checks(databases=['default'])], sep='\\n')"
    )
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "W002" in said.stdout
    return said.stdout


@symptom("The payment could not be started")
def _no_service(shop: Shop) -> str:
    class Buy(SellMixin, View):
        """Sell a hat."""

        def get_terms(self) -> Any:
            """Return what is sold."""
            return TERMS

    shop.set_to(CHECKOUT_URL="http://127.0.0.1:9", TIMEOUT=1.0)
    request = RequestFactory().post("/buy/")
    request.user = User.objects.create_user("ada")
    answer: Any = Buy.as_view()(request)
    assert answer.status_code == 503
    return str(answer.content.decode())


@symptom("BadCredentials")
def _another_key_there(shop: Shop) -> str:
    shop.service.projects.update("test-project", secret_key="sandbox_another_key_there")
    shop.set_to(TIMEOUT=1.0)
    with pytest.raises(flows.CheckoutError) as raised:
        flows.create_token(**TERMS)
    return raised.type.__name__


@symptom("TransactionOpen")
def _in_a_transaction(shop: Shop) -> str:
    with transaction.atomic():
        return shop.refused()


@symptom("CreationError")
def _three_decimals(shop: Shop) -> str:
    return shop.refused(amount=Decimal("9.999"))


@symptom("fm000014")
def _addresses_that_are_not_allowed(shop: Shop) -> str:
    shop.service.projects.update("test-project", dynamic_urls=False)
    shop.set_to(DYNAMIC_URLS=True, RETURN_URL="https://shop.example/thanks/")
    return shop.refused()


@symptom("INVALID_SIGNATURE")
def _another_key_here(shop: Shop) -> str:
    answer = shop.deliver(order=OrderDocumentFactory(), secret="sandbox_another_key_here")
    assert answer.status_code == 401
    return answer.content.decode()


@symptom("404")
def _an_unknown_alias(shop: Shop) -> str:
    return shop.post("/checkout/webhook/us/")


@symptom("301")
def _tls_ends_at_the_proxy(shop: Shop) -> str:
    shop.settings.SECURE_SSL_REDIRECT = True
    return shop.post(x_forwarded_proto="https")


@symptom("400")
def _another_host(shop: Shop) -> str:
    shop.settings.ALLOWED_HOSTS = ["shop.example"]
    said = shop.post(host="my-name.tunnel.example")
    assert "Invalid HTTP_HOST" in said
    return said


@symptom("No notification of a payment has ever come")
def _no_address_there(shop: Shop) -> str:
    installed(datetime.now(UTC) - timedelta(minutes=5))
    flows.sync.sync_transactions()
    checkout = flows.create_checkout(**TERMS)
    shop.service.projects.update("test-project", webhook_url="")
    shop.service.pay(checkout.order_id)
    flows.sync.sync_transactions()
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=16)):
        return "".join(each.text for each in flows.operations.health().findings)


@symptom("unbound")
def _not_of_this_shop(shop: Shop) -> str:
    return shop.verdict(OrderDocumentFactory())


@symptom("mode")
def _a_test_payment(shop: Shop) -> str:
    return shop.verdict(order_document_for(CheckoutFactory(test=False), is_production=False))


@symptom("amount")
def _another_amount(shop: Shop) -> str:
    return shop.verdict(order_document_for(CheckoutFactory(), amount=Decimal("0.01")))


@symptom("and no process does it")
def _no_worker(shop: Shop) -> str:
    shop.set_to(RUNNER="worker")
    shop.deliver(order=order_document_for(CheckoutFactory()))
    Notification.objects.update(due_at=datetime.now(UTC) - timedelta(minutes=6))
    assert not Order.objects.exists()
    return "".join(each.text for each in flows.operations.health().findings)


@symptom("checkout_integration.W001")
def _no_receiver(shop: Shop) -> str:
    return "".join(str(each.id) for each in checks.check_receivers(None))


@symptom("checkout_integration.E009")
def _a_lambda(shop: Shop) -> str:
    nothing = lambda **kwargs: None  # noqa: E731
    checkout_paid.connect(nothing, weak=False)
    try:
        return "".join(str(each.id) for each in checks.check_receivers(None))
    finally:
        checkout_paid.disconnect(nothing)


@symptom("Receiver shop.receivers.grant failed at attempt 1")
def _a_receiver_that_raises(shop: Shop) -> str:
    shop.listen(checkout_paid, Failing(), name="shop.receivers.grant")
    with shop.log.at_level(logging.WARNING, "checkout_integration"):
        shop.deliver(order=order_document_for(CheckoutFactory()))
        flows.run_due()
    assert "canary-of-a-receiver" not in shop.log.text
    return shop.log.text


@symptom("only with the next notification")
def _without_a_worker(shop: Shop) -> str:
    said = shop.checked(RUNNER="request")
    assert "W005" in said
    return said


@symptom("INVALID_USER")
def _no_hook(shop: Shop) -> str:
    answer = shop.deliver(event="user.validate")
    assert answer.status_code == 403
    return answer.content.decode()


@symptom("LaneTaken")
def _two_passes(shop: Shop) -> str:
    flows.sync.begin_pass("default", "recent")
    with pytest.raises(flows.sync.LaneTaken) as raised:
        flows.sync.begin_pass("default", "recent")
    return raised.type.__name__


@symptom("3")
def _a_list_without_a_service(shop: Shop) -> str:
    shop.set_to(BASE_URL="http://127.0.0.1:9", LIST_URL="", TIMEOUT=1.0)
    with pytest.raises((CommandError, SystemExit)) as raised:
        call_command("checkout_sync", stdout=io.StringIO(), stderr=io.StringIO())
    return str(getattr(raised.value, "returncode", getattr(raised.value, "code", "")))


@symptom("403 Forbidden")
def _without_the_permission(shop: Shop) -> str:
    client = Client()
    client.force_login(rows.make_staff())
    answer = client.get("/admin/checkout_integration/order/")
    return f"{answer.status_code} {answer.reason_phrase}"


@symptom("401")
def _without_a_token(shop: Shop) -> str:
    answer = Client().get("/checkout/health/")
    assert "HEALTH_TOKEN" in json.dumps(answer.json())
    return str(answer.status_code)


@symptom("421")
def _a_host_that_the_sandbox_does_not_know(shop: Shop) -> str:
    with SandboxServer(shop.service) as server:
        answer = requests.get(server.url, headers={"Host": "sandbox"}, timeout=30)
    return f"{answer.status_code} {answer.text}"


@symptom("The sandbox needs werkzeug")
def _without_the_extra(shop: Shop) -> str:
    code = (
        "import runpy, sys; sys.modules['werkzeug'] = None; runpy.run_module('checkout_integration.sandbox')"
    )
    code = code.replace("sandbox')", "sandbox', run_name='__main__')")
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    ).stderr


def lines() -> dict[str, str]:
    """Return the lines of the page's tables: what one sees, by the message in it."""
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    found = {}
    for row in SYMPTOM.finditer(text):
        messages = re.findall(r"`([^`]+)`", row["seen"])
        if messages:
            assert messages[0] not in found, f"two lines begin with {messages[0]}"
            found[messages[0]] = row["mend"]
    return found


@pytest.fixture
def shop(
    settings: Any,
    checkout_sandbox: CheckoutSandbox,
    checkout_deliver: Deliver,
    listen: Listening,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> Shop:
    """A shop beside a sandbox."""
    return Shop(
        settings=settings,
        service=checkout_sandbox,
        deliver=checkout_deliver,
        listen=listen,
        log=caplog,
        patch=monkeypatch,
    )


@pytest.mark.django_db(transaction=False)
def test_each_line_is_tried() -> None:
    """And no cause is of a line that is gone."""
    assert set(lines()) == set(CAUSES)
    assert len(CAUSES) >= 30


@pytest.mark.parametrize("seen", CAUSES)
def test_the_line_shows_what_one_sees(seen: str, shop: Shop) -> None:
    """Caused, its message is there."""
    assert seen in CAUSES[seen](shop)


def test_the_command_of_the_page() -> None:
    """It has this option."""
    words = block(
        "docs/troubleshooting.md", "$ python manage.py checkout_doctor --shop https://your.host"
    ).split()
    assert words[3] == "checkout_doctor" and words[4] == "--shop"
