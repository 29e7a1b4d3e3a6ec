"""The page's settings of two projects: each sells with its own key, and neither takes the other's notifications."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.conf import app_settings, problems
from checkout_integration.models import Order
from checkout_integration.sandbox import Sandbox, SandboxProject, SandboxServer
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import NotificationDocumentFactory
from tests.support.documents import block

KEYS = {"default": "sandbox_key_of_my_shop", "eu": "sandbox_key_of_my_shop_eu"}


@pytest.fixture
def shop(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Execute the block of docs/settings.md; the service is a sandbox that knows both projects."""
    projects = [
        SandboxProject(project_id="my-shop", secret_key=KEYS["default"]),
        SandboxProject(project_id="my-shop-eu", secret_key=KEYS["eu"]),
    ]
    with Sandbox(projects) as sandbox, SandboxServer(sandbox) as server:
        monkeypatch.setenv("CHECKOUT_SECRET_KEY", KEYS["default"])
        monkeypatch.setenv("CHECKOUT_EU_SECRET_KEY", KEYS["eu"])
        for name in ("CHECKOUT_BASE_URL", "CHECKOUT_URL", "CHECKOUT_FORM_URL"):
            monkeypatch.setenv(name, server.url)
        written: dict[str, Any] = {}
        exec(block("docs/settings.md", "# settings.py, two projects"), written)
        on_this_machine = {"ALLOW_HTTP_LOOPBACK": True, "ACCEPT_TEST_PAYMENTS": True}
        settings.CHECKOUT_INTEGRATION = {**written["CHECKOUT_INTEGRATION"], **on_this_machine}
        yield sandbox


def test_nothing_is_wrong_with_them(shop: Sandbox, settings: Any) -> None:
    """The system checks have nothing to say, and only one project accepts unbound orders."""
    assert list(problems(settings.CHECKOUT_INTEGRATION)) == []
    projects = app_settings().projects
    assert [project.unbound_orders for project in projects.values()] == ["review", "accept"]


@pytest.mark.spec("AUT-02", "EP2-03", "EP3-04")
@pytest.mark.django_db
@pytest.mark.parametrize("project", ["default", "eu"])
def test_each_project_sells_with_its_own_key(shop: Sandbox, project: str) -> None:
    """The order belongs to the project, and the list of that project shows its payment."""
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD", project=project)
    shop.payments.pay(checkout.order_id)
    assert flows.sync.sync_transactions(project).state == "complete"
    order = Order.objects.get(order_id=checkout.order_id)
    assert (order.project, order.status, order.verdict) == (project, "processed", "verified")


@pytest.mark.spec("AUT-04")
@pytest.mark.django_db
@pytest.mark.parametrize(("project", "key"), [("default", "eu"), ("eu", "default")])
def test_a_notification_of_the_other_project_is_refused(
    shop: Sandbox, checkout_deliver: Deliver, project: str, key: str
) -> None:
    """It is signed with the other key."""
    document = NotificationDocumentFactory()
    assert checkout_deliver(document, project=project, secret=KEYS[key]).status_code == 401
    assert checkout_deliver(document, project=project, secret=KEYS[project]).status_code == 200
