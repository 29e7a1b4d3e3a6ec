"""The README in a blank project, with the built wheel: its steps, and each way of running receivers."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from checkout_integration.protocol import strict_json
from checkout_integration.sandbox import Sandbox, SandboxProject, SandboxServer
from checkout_integration.testing.payloads import (
    NotificationDocumentFactory,
    OrderDocumentFactory,
    UserDocumentFactory,
)
from tests.support.documents import ROOT, block
from tests.support.paths.blank_project import (
    PROJECT_ID,
    SECRET,
    BlankProject,
    await_answer,
    free_port,
    install,
)

pytestmark = pytest.mark.slow

SELL = """
from decimal import Decimal
from checkout_integration import flows
from shop.models import Basket
print(flows.create_checkout(amount=Decimal("9.99"), currency="USD", subject=Basket.objects.create()).order_id)
"""
UNDONE = """
import time
from checkout_integration.models import ReceiverRun, FailedAttempt
orders = {}
deadline = time.monotonic() + 20
runs = ReceiverRun.objects.filter(message__order__order_id__in=orders)
while (left := runs.exclude(state="done").count()) and time.monotonic() < deadline:
    time.sleep(0.1)
print(*FailedAttempt.objects.filter(run__in=runs).values_list("traceback", flat=True), left, sep="\\n")
"""
DELIVERED = "from shop.models import Delivery; print(Delivery.objects.count())"
KNOWN = "from checkout_integration.models import Order; print(Order.objects.get(order_id='{}').status)"


@dataclass(frozen=True, kw_only=True)
class Merchant:
    """The blank project beside the service that it uses."""

    project: BlankProject
    sandbox: Sandbox

    @contextmanager
    def served(self, settings: str = "", **variables: str) -> Iterator[str]:
        """Serve the project, and let the service notify it."""
        with self.project.served(settings=settings, **variables) as shop:
            self.sandbox.projects.update(PROJECT_ID, webhook_url=f"{shop}/checkout/webhook/")
            yield shop

    def sell(self) -> str:
        """Sell something; gives the order's id."""
        return self.project.manage("shell", "-c", SELL).split()[-1]

    def sell_and_pay(self) -> str:
        """Sell something that the customer pays for at once."""
        order_id = self.sell()
        self.sandbox.payments.pay(order_id)
        return order_id

    def runs_left(self, orders: Sequence[str]) -> str:
        """Wait for the receivers of these orders; gives how many are not done, after what made them fail."""
        text = self.project.manage("shell", "-c", UNDONE.format(list(orders))).strip()
        left = text.rpartition("\n")[2]
        return left if left == "0" else text

    def count_delivered(self) -> int:
        """How many baskets the README's receivers have delivered."""
        return int(self.project.manage("shell", "-c", DELIVERED).split()[-1])


@pytest.fixture(scope="module")
def merchant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Merchant]:
    """Make the blank project once, and run the sandbox beside it."""
    if not (ROOT / "checkout_integration").exists():
        pytest.skip("a copy of the tests has no product to build")
    folder = tmp_path_factory.mktemp("blank")
    known = SandboxProject(project_id=PROJECT_ID, secret_key=SECRET)
    with Sandbox([known]) as sandbox, SandboxServer(sandbox) as server:
        project = BlankProject.start(folder / "project", install(folder), server.url)
        project.take_notes()
        yield Merchant(project=project, sandbox=sandbox)


def post_signed(shop: str, document: Mapping[str, Any]) -> requests.Response:
    """Send a notification as the service does: SHA-256 over the body and the secret."""
    body = strict_json.dumps(document).encode()
    signature = hashlib.sha256(body + SECRET.encode()).hexdigest()
    headers = {"Authorization": f"Signature {signature}", "Content-Type": "application/json"}
    return requests.post(f"{shop}/checkout/webhook/", body, headers=headers, timeout=30)


def await_note(project: BlankProject, note: str) -> None:
    """Wait until a receiver has noted this: receivers run after the response."""
    await_that(lambda: note in project.notes(), lambda: f"{note!r} is not among {project.notes()}")


def await_that(is_so: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    """Wait for what another process does."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.1)


def log_in(project: BlankProject, shop: str, session: requests.Session, name: str) -> None:
    """Make a superuser and log in at the admin."""
    account = {"DJANGO_SUPERUSER_PASSWORD": "sam-helps", "DJANGO_SUPERUSER_USERNAME": name}
    project.manage("createsuperuser", "--noinput", "--email", "sam@example.com", **account)
    session.get(f"{shop}/admin/login/", timeout=30)
    form = {"username": name, "password": "sam-helps", "csrfmiddlewaretoken": session.cookies["csrftoken"]}
    session.post(f"{shop}/admin/login/", form, timeout=30)


def text_of_orders(project: BlankProject, shop: str) -> str:
    """Return the admin's list of orders, as a superuser sees it."""
    with requests.Session() as session:
        log_in(project, shop, session, "sam")
        return session.get(f"{shop}/admin/checkout_integration/order/", timeout=30).text


def test_a_signed_success_is_in_the_admin_and_its_receiver_ran(merchant: Merchant) -> None:
    """The order has no checkout: its payment is recorded, the goods are not granted."""
    document = OrderDocumentFactory()
    with merchant.project.served() as shop:
        answer = post_signed(shop, NotificationDocumentFactory(object=document))
        assert (answer.status_code, answer.content) == (200, b"")
        await_note(merchant.project, f"payment_success {document['id']} review")
        assert document["id"] in text_of_orders(merchant.project, shop)
    assert f"checkout_paid {document['id']}" not in merchant.project.notes()


def test_a_checkout_is_paid(merchant: Merchant) -> None:
    """`create_checkout` against the sandbox, a payment there, and the goods are granted."""
    with merchant.served():
        await_note(merchant.project, f"checkout_paid {merchant.sell_and_pay()}")


def test_many_at_once_are_all_delivered(merchant: Merchant) -> None:
    """On SQLite as Django sets it up: notifications and receivers at the same time lose nothing to its lock."""
    documents = [NotificationDocumentFactory(object=OrderDocumentFactory()) for _ in range(24)]
    with merchant.project.served() as shop, ThreadPoolExecutor(8) as senders:
        answers = list(senders.map(lambda document: post_signed(shop, document).status_code, documents))
        assert answers == [200] * 24
        for document in documents:
            await_note(merchant.project, f"payment_success {document['object']['id']} review")
        assert merchant.runs_left([document["object"]["id"] for document in documents]) == "0"


def test_an_unbound_order_grants_only_where_the_setting_says_so(merchant: Merchant) -> None:
    """UNBOUND_ORDERS="accept" is for shops that make orders in the browser; receivers get no checkout then."""
    document = OrderDocumentFactory()
    with merchant.project.served(settings="accepting") as shop:
        assert post_signed(shop, NotificationDocumentFactory(object=document)).status_code == 200
        await_note(merchant.project, f"checkout_paid {document['id']}")
        assert merchant.runs_left([document["id"]]) == "0"


@pytest.mark.parametrize("settings", ["", "atomic"])
def test_the_view_sells_and_the_receivers_deliver(merchant: Merchant, settings: str) -> None:
    """The README's view, over HTTP, with ATOMIC_REQUESTS too; then a refund takes the basket back."""
    before = merchant.count_delivered()
    with merchant.served(settings) as shop, requests.Session() as session:
        log_in(merchant.project, shop, session, f"robin-{settings}")
        token = {"csrfmiddlewaretoken": session.cookies["csrftoken"]}
        answer = session.post(f"{shop}/buy/", token, timeout=30, allow_redirects=False)
        assert answer.status_code == 302, answer.text
        form = answer.headers["Location"]
        assert requests.get(form, timeout=30).status_code == 200
        order_id = form.partition("order_id=")[2].partition("&")[0]
        merchant.sandbox.payments.pay(order_id)
        await_note(merchant.project, f"checkout_paid {order_id}")
        await_that(lambda: merchant.count_delivered() == before + 1, lambda: "nothing was delivered")
        merchant.sandbox.payments.refund(order_id)
        await_that(lambda: merchant.count_delivered() == before, lambda: "nothing was revoked")


def test_the_hook_says_who_may_pay(merchant: Merchant) -> None:
    """A known account may; an unknown one may not, and without the hook no one may."""
    create = "from django.contrib.auth.models import User; print(User.objects.create_user('kim').pk)"
    known = UserDocumentFactory(external_id=merchant.project.manage("shell", "-c", create).split()[-1])
    stranger = UserDocumentFactory(external_id="999999")
    for settings, answers in (("hooked", (200, 403)), ("", (403, 403))):
        with merchant.project.served(settings=settings) as shop:
            questions = [
                NotificationDocumentFactory(event="user.validate", object=user) for user in (known, stranger)
            ]
            assert tuple(post_signed(shop, document).status_code for document in questions) == answers


@pytest.mark.redis
def test_celery_runs_the_receivers(merchant: Merchant, redis_url: str) -> None:
    """The web process publishes, the README's worker runs due receivers; its beat starts with a schedule."""
    variables = {"CELERY_BROKER_URL": f"{redis_url.rpartition('/')[0]}/11"}
    worker = block("README.md", "$ celery --app mysite worker")
    beat = block("README.md", "$ celery --app mysite beat")
    with (
        merchant.project.running(worker, "--pool", "solo", settings="celery", **variables),
        merchant.project.running(beat, "--schedule", "beat.db", settings="celery", **variables) as log,
        merchant.served("celery", **variables),
    ):
        order_id = merchant.sell_and_pay()
        await_note(merchant.project, f"checkout_paid {order_id}")
        await_that(lambda: "is starting" in log.read_text(), log.read_text)
    schedule = "from mysite import celery_app; print(sorted(celery_app.conf.beat_schedule))"
    assert "sync_due.default" in merchant.project.run("-c", schedule)


def test_the_worker_runs_the_receivers(merchant: Merchant) -> None:
    """The README's way without Celery."""
    worker = block("README.md", "$ python manage.py checkout_work")
    with merchant.project.running(worker, settings="worker"), merchant.served("worker"):
        await_note(merchant.project, f"checkout_paid {merchant.sell_and_pay()}")


def test_cron_makes_up_for_lost_notifications(merchant: Merchant) -> None:
    """The lines of the README's crontab find a payment without a notification, and run its receivers."""
    merchant.sandbox.projects.update(PROJECT_ID, webhook_url="")
    order_id = merchant.sell_and_pay()
    for line in block("README.md", "# crontab").splitlines()[1:]:
        _, _, command = line.partition("env/bin/")
        merchant.project.follow(command)
    known = merchant.project.manage("shell", "-c", KNOWN.format(order_id))
    assert known.split()[-1] == "processed"
    await_note(merchant.project, f"checkout_paid {order_id}")


def test_the_sandbox_is_the_service_that_the_settings_name(merchant: Merchant) -> None:
    """With the README's variables and command, a checkout is made and its form opens."""
    address = f"http://127.0.0.1:{free_port()}"
    project = BlankProject(folder=merchant.project.folder, python=merchant.project.python, service=address)
    with project.running(block("README.md", "$ python manage.py checkout_sandbox")):
        await_answer(address)
        order_id = project.manage("shell", "-c", SELL).split()[-1]
        assert requests.get(f"{address}/form/?order_id={order_id}", timeout=30).status_code == 200
