"""The README's five steps in a blank project, with the built wheel, and nothing running but the project's own server."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from checkout_integration.protocol import strict_json
from checkout_integration.sandbox import Sandbox, SandboxProject, SandboxServer
from checkout_integration.testing.payloads import NotificationDocumentFactory, OrderDocumentFactory
from tests.paths.blank import PROJECT_ID, ROOT, SECRET, BlankProject, build_wheel

SELL = """
from decimal import Decimal
from checkout_integration import flows
print(flows.create_checkout(amount=Decimal("9.99"), currency="USD").order_id)
"""

UNDONE = """
import time
from checkout_integration.models import Delivery
deadline = time.monotonic() + 20
while (left := Delivery.objects.exclude(state="done").count()) and time.monotonic() < deadline:
    time.sleep(0.1)
print(left)
"""


@dataclass(frozen=True, kw_only=True)
class Merchant:
    """The blank project beside the service that it uses."""

    project: BlankProject
    sandbox: Sandbox


@pytest.fixture(scope="module")
def merchant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Merchant]:
    """Make the blank project once, and run the sandbox beside it."""
    if not (ROOT / "checkout_integration").exists():
        pytest.skip("a copy of the tests has no product to build")
    folder = tmp_path_factory.mktemp("blank")
    known = SandboxProject(project_id=PROJECT_ID, secret_key=SECRET)
    with Sandbox([known]) as sandbox, SandboxServer(sandbox) as server:
        yield Merchant(project=BlankProject.start(folder, build_wheel(folder), server.url), sandbox=sandbox)


def post_signed(shop: str, document: Mapping[str, Any]) -> requests.Response:
    """Send a notification as the service does: SHA-256 over the body and the secret."""
    body = strict_json.dumps(document).encode()
    signature = hashlib.sha256(body + SECRET.encode()).hexdigest()
    headers = {"Authorization": f"Signature {signature}", "Content-Type": "application/json"}
    return requests.post(f"{shop}/checkout/webhook/", body, headers=headers, timeout=30)


def await_note(project: BlankProject, note: str) -> None:
    """Wait until a receiver has noted this: receivers run after the answer."""
    deadline = time.monotonic() + 30
    while note not in project.notes():
        assert time.monotonic() < deadline, f"{note!r} is not among {project.notes()}"
        time.sleep(0.1)


def text_of_orders(project: BlankProject, shop: str) -> str:
    """Return the admin's list of orders, as a superuser sees it."""
    account = {"DJANGO_SUPERUSER_PASSWORD": "sam-helps", "DJANGO_SUPERUSER_USERNAME": "sam"}
    project.manage("createsuperuser", "--noinput", "--email", "sam@example.com", **account)
    with requests.Session() as session:
        session.get(f"{shop}/admin/login/", timeout=30)
        form = {
            "username": "sam",
            "password": "sam-helps",
            "csrfmiddlewaretoken": session.cookies["csrftoken"],
        }
        session.post(f"{shop}/admin/login/", form, timeout=30)
        return session.get(f"{shop}/admin/checkout_integration/order/", timeout=30).text


def test_a_signed_success_is_in_the_admin_and_its_receiver_ran(merchant: Merchant) -> None:
    """Nobody sold this order: the service's fact is told, the goods are not granted."""
    told = OrderDocumentFactory()
    with merchant.project.served() as shop:
        answer = post_signed(shop, NotificationDocumentFactory(object=told))
        assert (answer.status_code, answer.content) == (200, b"")
        await_note(merchant.project, f"payment_success {told['id']} review")
        assert told["id"] in text_of_orders(merchant.project, shop)
    assert f"checkout_paid {told['id']}" not in merchant.project.notes()


def test_a_sale_is_paid(merchant: Merchant) -> None:
    """`create_checkout` against the sandbox, a payment there, and the goods are granted."""
    with merchant.project.served() as shop:
        merchant.sandbox.projects.update(PROJECT_ID, webhook_url=f"{shop}/checkout/webhook/")
        order_id = merchant.project.manage("shell", "-c", SELL).split()[-1]
        merchant.sandbox.payments.pay(order_id)
        await_note(merchant.project, f"checkout_paid {order_id}")


def test_many_at_once_are_all_delivered(merchant: Merchant) -> None:
    """On SQLite as Django sets it up: notifications and receivers at the same time lose nothing to its lock."""
    documents = [NotificationDocumentFactory(object=OrderDocumentFactory()) for _ in range(24)]
    with merchant.project.served() as shop, ThreadPoolExecutor(8) as senders:
        answers = list(senders.map(lambda document: post_signed(shop, document).status_code, documents))
        assert answers == [200] * 24
        for document in documents:
            await_note(merchant.project, f"payment_success {document['object']['id']} review")
        assert merchant.project.manage("shell", "-c", UNDONE).split()[-1] == "0"


def test_an_unbound_order_grants_only_where_the_setting_says_so(merchant: Merchant) -> None:
    """UNBOUND_ORDERS="accept" is for shops whose orders are made in the browser; receivers are given no checkout then."""
    told = OrderDocumentFactory()
    with merchant.project.served(DJANGO_SETTINGS_MODULE="blank.accepting") as shop:
        assert post_signed(shop, NotificationDocumentFactory(object=told)).status_code == 200
        await_note(merchant.project, f"checkout_paid {told['id']}")
        assert merchant.project.manage("shell", "-c", UNDONE).split()[-1] == "0"
