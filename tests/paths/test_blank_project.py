"""The quick start in a blank project, with the built wheel: its steps, the README's lines, each way of running receivers."""

from __future__ import annotations

import hashlib
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
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
from example_project.environment import make
from tests.support.documents import ROOT, block
from tests.support.paths.blank_project import (
    PROJECT_ID,
    SECRET,
    BlankProject,
    await_answer,
    free_port,
)
from tests.support.paths.merchant import SELL, Merchant, await_note, await_that, log_in

pytestmark = pytest.mark.slow

BUTTON = re.compile(r'action="(/buy/\d+/)".*?name="csrfmiddlewaretoken" value="(\w+)"', re.DOTALL)
REVIEWED = """
from checkout_integration.models import OutboxMessage
print(OutboxMessage.objects.filter(signal="payment_review", order__order_id="{}").count())
"""
CALLS = """
from decimal import Decimal

import pytest

from checkout_integration import flows


@pytest.mark.django_db(transaction=True)
def test_a_test_that_forgot_the_sandbox(no_calls):
    with pytest.raises(flows.CheckoutError):
        flows.create_checkout(amount=Decimal(1), currency="USD")
    assert len(no_calls.calls) == 1
"""
SELL_WITHOUT_BASKET = """
from django.contrib.auth import get_user_model
from checkout_integration import flows
robin = get_user_model().objects.get(username="{}")
print(flows.create_checkout(type="product", products=["pass"], user=robin).order_id)
"""
KNOWN = "from checkout_integration.models import Order; print(Order.objects.get(order_id='{}').status)"


@contextmanager
def merchant_in(
    folder: Path, python: Path, *, uuids: bool = False, readme: bool = False
) -> Iterator[Merchant]:
    """Make a blank project, and run the sandbox beside it."""
    known = SandboxProject(project_id=PROJECT_ID, secret_key=SECRET)
    with Sandbox([known]) as sandbox, SandboxServer(sandbox) as server:
        project = BlankProject.start(folder / "project", python, server.url, uuids=uuids, readme=readme)
        project.take_notes()
        yield Merchant(project=project, sandbox=sandbox)


@pytest.fixture(scope="module")
def merchant(tmp_path_factory: pytest.TempPathFactory, python: Path) -> Iterator[Merchant]:
    """A merchant whose accounts have numbers as keys, as Django makes them."""
    with merchant_in(tmp_path_factory.mktemp("blank"), python) as merchant:
        yield merchant


@pytest.fixture(scope="module")
def merchant_with_uuids(tmp_path_factory: pytest.TempPathFactory, python: Path) -> Iterator[Merchant]:
    """A merchant whose accounts have UUIDs as keys."""
    with merchant_in(tmp_path_factory.mktemp("uuids"), python, uuids=True) as merchant:
        yield merchant


@pytest.fixture(scope="module")
def merchant_by_readme(tmp_path_factory: pytest.TempPathFactory, python: Path) -> Iterator[Merchant]:
    """A merchant who sells and grants by the README's lines."""
    with merchant_in(tmp_path_factory.mktemp("readme"), python, readme=True) as merchant:
        yield merchant


@pytest.fixture(params=["merchant", "merchant_with_uuids"])
def any_merchant(request: pytest.FixtureRequest) -> Merchant:
    """Each of them."""
    merchant: Merchant = request.getfixturevalue(request.param)
    return merchant


def post_signed(shop: str, document: Mapping[str, Any]) -> requests.Response:
    """Send a notification as the service does: SHA-256 over the body and the secret."""
    body = strict_json.dumps(document).encode()
    signature = hashlib.sha256(body + SECRET.encode()).hexdigest()
    headers = {"Authorization": f"Signature {signature}", "Content-Type": "application/json"}
    return requests.post(f"{shop}/checkout/webhook/", body, headers=headers, timeout=30)


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


def buying(shop: str, session: requests.Session) -> Callable[[], requests.Response]:
    """Open the shop's page, and return what pressing its button does."""
    page = session.get(f"{shop}/", timeout=30)
    action, token = BUTTON.search(page.text).groups()  # type: ignore[union-attr]
    form = {"csrfmiddlewaretoken": token}

    def press() -> requests.Response:
        copied = {"Cookie": "; ".join(f"{name}={value}" for name, value in session.cookies.items())}
        return requests.post(f"{shop}{action}", form, headers=copied, timeout=30, allow_redirects=False)

    return press


@pytest.mark.parametrize(
    ("any_merchant", "settings"),
    [("merchant", "atomic"), ("merchant_with_uuids", ""), ("merchant_by_readme", "")],
    indirect=["any_merchant"],
)
def test_the_button_sells_once_and_the_receivers_deliver_once(any_merchant: Merchant, settings: str) -> None:
    """Pressed twice at once, and in a second window: one form. Paid twice: one delivery. Refunds of both take it back."""
    merchant, name = any_merchant, f"robin-{settings}"
    before = merchant.count_delivered()
    with merchant.served(settings) as shop, requests.Session() as session, ThreadPoolExecutor(2) as pair:
        log_in(merchant.project, shop, session, name)
        press, again = buying(shop, session), buying(shop, session)
        answers = [*pair.map(lambda act: act(), [press, press]), again()]
        assert {answer.status_code for answer in answers} == {302}, answers[0].text
        (form,) = {answer.headers["Location"] for answer in answers}
        assert requests.get(form, timeout=30).status_code == 200
        order_id = form.partition("order_id=")[2].partition("&")[0]
        merchant.sandbox.payments.pay(order_id)
        await_note(merchant.project, f"checkout_paid {order_id}")
        await_that(lambda: merchant.count_delivered() == before + 1, lambda: "nothing was delivered")
        # A second order with the same reference, as a request that the service had twice leaves one.
        paid = merchant.sandbox.ledger.find(order_id)
        assert paid is not None
        sold = {"amount": paid.amount, "currency": "USD", "metadata": dict(paid.metadata)}
        twice = OrderDocumentFactory(**sold)
        assert post_signed(shop, NotificationDocumentFactory(object=twice)).status_code == 200
        await_note(merchant.project, f"payment_success {twice['id']} verified")
        assert merchant.project.manage("shell", "-c", REVIEWED.format(twice["id"])).split()[-1] == "1"
        assert merchant.count_delivered() == before + 1
        new = buying(shop, session)().headers["Location"]
        assert new != form  # a new basket
        # The goods stay for as long as one of the two payments stands.
        back = OrderDocumentFactory(id=twice["id"], status="refunded", **sold)
        assert (
            post_signed(shop, NotificationDocumentFactory(object=back, event="payment.refund")).status_code
            == 200
        )
        merchant.sandbox.payments.refund(order_id)
        await_that(lambda: merchant.count_delivered() == before, lambda: "nothing was revoked")
        # A basket is sold once, also if it was refunded; what has no basket is passed over.
        other = merchant.project.manage("shell", "-c", SELL_WITHOUT_BASKET.format(name)).split()[-1]
        merchant.sandbox.payments.pay(other)
        await_note(merchant.project, f"checkout_paid {other}")
        assert buying(shop, session)().headers["Location"] == new


def test_the_third_terminal_gives_the_money_back(merchant: Merchant) -> None:
    """The last command of the quick start takes the delivery back."""
    command = block("docs/quickstart.md", "$ python manage.py checkout_sandbox do refund last")
    before = merchant.count_delivered()
    with merchant.served():
        await_note(merchant.project, f"checkout_paid {merchant.sell_and_pay()}")
        await_that(lambda: merchant.count_delivered() == before + 1, lambda: "nothing was delivered")
        merchant.project.follow(command)
        await_that(lambda: merchant.count_delivered() == before, lambda: "nothing was revoked")


def test_a_page_of_purchases_is_one_more_line(merchant: Merchant) -> None:
    """As docs/shop-pages.md has it: to whoever is logged in, their own."""
    project = merchant.project
    for name, text in {
        "shop/purchases.py": block("docs/shop-pages.md", "# shop/purchases.py"),
        "mysite/more_urls.py": "from mysite.urls import urlpatterns as own\nfrom shop.purchases import urlpatterns as more\n"
        "urlpatterns = [*own, *more]\n",
        "mysite/with_purchases.py": 'from mysite.settings import *\n\nROOT_URLCONF = "mysite.more_urls"\n',
    }.items():
        (project.folder / name).write_text(text)
    with merchant.served("purchases") as shop, requests.Session() as session:
        address = f"{shop}/purchases/"
        assert "login" in requests.get(address, timeout=30, allow_redirects=False).headers["Location"]
        log_in(project, shop, session, "robin-buys")
        assert "You have bought nothing yet." in session.get(address, timeout=30).text
        form = buying(shop, session)().headers["Location"]
        order_id = form.partition("order_id=")[2].partition("&")[0]
        page = session.get(address, timeout=30).text
        assert order_id in page and "Pay now" in page
        merchant.sandbox.payments.pay(order_id)
        await_note(project, f"checkout_paid {order_id}")
        page = session.get(address, timeout=30).text
        assert "Paid" in page and "Pay now" not in page


@pytest.mark.parametrize("how", ["refuses", "is silent"])
def test_a_service_that_is_down_is_a_page(merchant: Merchant, how: str) -> None:
    """It comes before a web server such as gunicorn would end the request, after 30 s; nothing was sold."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        if how == "is silent":
            nobody.listen()
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        with merchant.served(CHECKOUT_URL=address) as shop, requests.Session() as session:
            log_in(merchant.project, shop, session, f"kim {how}".replace(" ", "-"))
            answer = buying(shop, session)()
    assert answer.status_code == 503
    assert "The payment could not be started" in answer.text


def test_the_first_migrate_warns_of_nothing(any_merchant: Merchant) -> None:
    """Nor does `makemigrations`; and `check` has nothing to say afterwards."""
    assert "Applying checkout_integration.0001_initial... OK" in any_merchant.project.steps
    assert "WARNING" not in any_merchant.project.steps
    assert "?:" not in any_merchant.project.steps
    said = any_merchant.project.follow("$ python manage.py check --database default")
    assert "no issues (0 silenced)" in said, said


def test_the_page_of_the_test_kit_passes_in_the_shop(any_merchant: Merchant) -> None:
    """Each of its examples, typed from the page, with its fixtures; and no test reaches another host."""
    folder = any_merchant.project.folder / "shop"
    fixtures = [
        block("docs/reference/testing.md", "# shop/conftest.py"),
        block("docs/reference/testing.md", "# shop/conftest.py, without the network"),
    ]
    (folder / "conftest.py").write_text("\n".join(fixtures).replace("from __future__", "# from __future__"))
    (folder / "test_checkouts.py").write_text(block("docs/reference/testing.md", "# shop/test_checkouts.py"))
    (folder / "test_documents.py").write_text(block("docs/reference/testing.md", "# shop/test_documents.py"))
    (folder / "test_calls.py").write_text(CALLS)
    command = block("docs/reference/testing.md", "$ pytest --ds mysite.settings")
    said = any_merchant.project.follow(
        command, "-p", "no:cacheprovider", CHECKOUT_URL="https://service.invalid"
    )
    assert " passed" in said and "failed" not in said, said


def test_the_hook_says_who_may_pay(any_merchant: Merchant) -> None:
    """A known account may; a closed one and an unknown one may not, and without the hook no one may."""
    create = (
        "from django.contrib.auth import get_user_model; make = get_user_model().objects.create_user; "
        "print(make('kim').pk, make('alex', is_active=False).pk)"
    )
    keys = any_merchant.project.manage("shell", "-c", create).split()[-2:]
    users = [UserDocumentFactory(external_id=key) for key in (*keys, "999999")]
    for settings, answers in (("hooked", [200, 403, 403]), ("", [403] * 3)):
        with any_merchant.project.served(settings=settings) as shop:
            questions = [NotificationDocumentFactory(event="user.validate", object=user) for user in users]
            assert [post_signed(shop, document).status_code for document in questions] == answers


def test_the_shops_own_entries_of_beat_stay(merchant: Merchant) -> None:
    """What CELERY_BEAT_SCHEDULE says, beside ours."""
    schedule = "from mysite import celery_app; print(sorted(celery_app.conf.beat_schedule))"
    said = merchant.project.run("-c", schedule, settings="periodic")
    assert "'invoices'" in said and "checkout_integration.run_due" in said


@pytest.mark.redis
def test_celery_runs_the_receivers(merchant: Merchant, redis_url: str) -> None:
    """The web process publishes, the page's worker runs due receivers; its beat starts with a schedule."""
    variables = {"CELERY_BROKER_URL": f"{redis_url.rpartition('/')[0]}/11"}
    worker = block("docs/receivers.md", "$ celery --app mysite worker")
    beat = block("docs/receivers.md", "$ celery --app mysite beat")
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
    """The way without Celery."""
    worker = block("docs/receivers.md", "$ python manage.py checkout_work")
    with merchant.project.running(worker, settings="worker"), merchant.served("worker"):
        await_note(merchant.project, f"checkout_paid {merchant.sell_and_pay()}")


def test_cron_makes_up_for_lost_notifications(merchant_by_readme: Merchant) -> None:
    """The lines of the crontab find a payment without a notification, and run its receivers."""
    merchant = merchant_by_readme  # no other test lets a process read its list, so each lane is due
    merchant.sandbox.projects.update(PROJECT_ID, webhook_url="")
    order_id = merchant.sell_and_pay()
    for line in block("docs/receivers.md", "# crontab").splitlines()[1:]:
        _, _, command = line.partition("env/bin/")
        merchant.project.follow(command)
    known = merchant.project.manage("shell", "-c", KNOWN.format(order_id))
    assert known.split()[-1] == "processed"
    await_note(merchant.project, f"checkout_paid {order_id}")


@pytest.mark.parametrize(
    "commands",
    [
        block("README.md", '$ pip install "../checkout-integration[sandbox]"'),
        block("README.md", "$ pip wheel --no-deps --wheel-dir wheels ../checkout-integration"),
    ],
    ids=["clone", "wheel"],
)
def test_it_installs_without_an_index_that_has_it(tmp_path: Path, commands: str) -> None:
    """From a clone beside the project, and from a wheel, by the README's commands."""
    if not (ROOT / "checkout_integration").exists():
        pytest.skip("a copy of the tests has no product to build")
    (tmp_path / "checkout-integration").symlink_to(ROOT)
    project = tmp_path / "project"
    project.mkdir()
    *builds, last = [shlex.split(line.removeprefix("$ ")) for line in commands.splitlines()]
    for words in builds:
        subprocess.run([sys.executable, "-m", *words], cwd=project, check=True, capture_output=True)
    python = make(tmp_path / "environment", [str(project / last[-1])])
    code = "import checkout_integration.sandbox, jinja2, werkzeug"
    subprocess.run([python, "-c", code], cwd=project, check=True)


def test_the_sandbox_is_the_service_that_the_settings_name(merchant: Merchant) -> None:
    """With the quick start's variables and command, a checkout is made and its form opens."""
    address = f"http://127.0.0.1:{free_port()}"
    project = BlankProject(folder=merchant.project.folder, python=merchant.project.python, service=address)
    with project.running(block("docs/quickstart.md", "$ python manage.py checkout_sandbox")):
        await_answer(address)
        order_id = project.manage("shell", "-c", SELL).split()[-1]
        assert requests.get(f"{address}/form/?order_id={order_id}", timeout=30).status_code == 200


def test_the_sandbox_serves_each_project_of_the_settings(merchant: Merchant) -> None:
    """With one command, at one address."""
    address, in_eu = f"http://127.0.0.1:{free_port()}", SELL.replace("amount=", 'project="eu", amount=')
    project = BlankProject(folder=merchant.project.folder, python=merchant.project.python, service=address)
    with project.running(
        block("docs/quickstart.md", "$ python manage.py checkout_sandbox"), settings="two"
    ) as log:
        await_answer(address)
        for sell in (SELL, in_eu):
            assert project.manage("shell", "-c", sell, settings="two").split()[-1]
        assert "/checkout/webhook/eu/" in log.read_text()
