"""`checkout_doctor`: a healthy shop is all green; each broken setting has a line of its own, its mend and its exit code."""

from __future__ import annotations

import inspect
import io
import json
import re
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs
import pytest
import requests
from celery import Celery
from django.core.checks import WARNING, CheckMessage
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from checkout_integration.management import doctor
from checkout_integration.models import Notification, Receiver
from checkout_integration.signals import checkout_paid, payment_refund
from checkout_integration.testing.service import CheckoutSandbox
from tests.support.documents import ROOT
from tests.support.flows.shop import Listening
from tests.support.wrong_settings import WRONG

pytestmark = pytest.mark.django_db(transaction=True)


def run(*words: str) -> tuple[int, str]:
    """Return the exit code of the command, and what it printed."""
    printed = io.StringIO()
    try:
        call_command("checkout_doctor", *words, stdout=printed, stderr=io.StringIO())
    except SystemExit as end:
        return int(end.code or 0), printed.getvalue()
    return 0, printed.getvalue()


def line_of(printed: str, begins: str) -> str:
    """Return the one line that begins so."""
    (line,) = [each for each in printed.splitlines() if each.startswith(begins)]
    return line


@contextmanager
def site(
    answer: Callable[[BaseHTTPRequestHandler, bytes], tuple[int, dict[str, str], bytes]],
) -> Iterator[str]:
    """Serve what stands at the shop's address instead of the shop, and give its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Answer as the test says."""
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, text = answer(self, body)
            self.send_response_only(status)
            for name, value in {**headers, "Content-Length": str(len(text))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST  # noqa: N815  # the name that http.server looks for

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def shop(checkout_sandbox: CheckoutSandbox, live_server: Any, listen: Listening, settings: Any) -> str:
    """A shop where all is well, with the service beside it; its address."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    listen(checkout_paid, name="shop.receivers.grant")
    return str(live_server.url)


def set_to(settings: Any, **changes: Any) -> None:
    """Change settings of the app."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **changes}


def own(settings: Any, **changes: Any) -> None:
    """Change settings of the one project."""
    project = {**settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"], **changes}
    set_to(settings, PROJECTS={"default": project})


def test_a_healthy_shop_is_all_green(shop: str) -> None:
    """Nothing is failing, nothing is a warning, and the webhook was tried without a trace."""
    code, printed = run("--shop", shop, "--no-deploy", "--fail-on", "warning")
    assert code == 0, printed
    begins = {line.partition(":")[0] for line in printed.splitlines()}
    assert begins <= {"ok", "unknown"}
    for looked_at in (
        "settings",
        "migrations",
        "service_reads (default)",
        "address",
        "clock",
        "webhook (default)",
    ):
        assert line_of(printed, f"ok: {looked_at}: ")
    assert not Notification.objects.exists()


def test_without_an_address_the_webhook_is_not_tried(shop: str) -> None:
    """It says so, with its path, and it is no failure."""
    code, printed = run("--no-deploy")
    line = line_of(printed, "unknown: webhook (default): ")
    assert (code, "--shop https://your.host" in line, "/checkout/webhook/" in line) == (0, True, True)


@pytest.mark.parametrize(
    ("value", "check", "names", "mend"), WRONG, ids=[f"{n} {row[1]}" for n, row in enumerate(WRONG)]
)
def test_wrong_settings(value: object, check: str, names: str, mend: str, settings: Any) -> None:
    """Each has its check's line with the mend, and nothing else is tried with them."""
    settings.CHECKOUT_INTEGRATION = value
    code, printed = run("--no-deploy")
    line = line_of(printed, f"failing: check {check}: ")
    assert code == 1
    assert names in line and mend in line
    assert "service_" not in printed


def test_settings_of_development_in_production(shop: str, settings: Any) -> None:
    """They are looked for where DEBUG is off, or with --deploy."""
    set_to(settings, ACCEPT_TEST_PAYMENTS=True)
    code, printed = run("--fail-on", "warning")
    assert code == 1
    assert "Set ACCEPT_TEST_PAYMENTS to False" in line_of(printed, "warning: check W003: ")
    assert "the project's own Secret key" in line_of(printed, "failing: check E010: ")


def test_what_health_says_too_is_said_once(shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding of such a check is not shown, and then the settings are well."""
    message = CheckMessage(WARNING, "canary", id="checkout_integration.W010")
    monkeypatch.setattr(doctor, "said_by_checks", lambda *, deploy: [message])
    _code, printed = run("--no-deploy")
    assert "canary" not in printed and line_of(printed, "ok: settings: ")


def test_a_receiver_of_two_signals_is_two(shop: str, listen: Listening) -> None:
    """No process has had the one of the first signal lately, and that is the one that is named."""
    listen(payment_refund, name="shop.receivers.grant")
    now = datetime.now(UTC)
    for signal in (checkout_paid, payment_refund):
        seen = {"first_seen": now, "last_seen": now, "last_ready": now}
        Receiver.objects.update_or_create(name="shop.receivers.grant", signal=signal.name, defaults=seen)
    _code, printed = run("--no-deploy")
    assert line_of(printed, "ok: receivers: "), printed
    long_ago = now - timedelta(hours=1)
    Receiver.objects.filter(signal=checkout_paid.name).update(last_ready=long_ago, first_seen=long_ago)
    _code, printed = run("--no-deploy")
    line = line_of(printed, "warning: receivers: ")
    assert "shop.receivers.grant (checkout_paid)" in line and "payment_refund" not in line


def test_no_receiver(shop: str) -> None:
    """A warning: nothing would be granted."""
    checkout_paid.disconnect(dispatch_uid="shop.receivers.grant")
    code, printed = run("--no-deploy")
    assert (code, "AppConfig.ready" in line_of(printed, "warning: check W001: ")) == (0, True)


@pytest.mark.parametrize("changes", [{"SECRET_KEY": "another_key_of_nobody"}, {"PROJECT_ID": "nobody"}])
def test_a_key_that_the_service_refuses(changes: dict[str, str], shop: str, settings: Any) -> None:
    """The line says what to compare, and has no key."""
    own(settings, **changes)
    code, printed = run("--no-deploy")
    assert (
        code,
        "Compare PROJECT_ID and SECRET_KEY" in line_of(printed, "failing: service_refuses (default): "),
    ) == (1, True)
    assert "another_key" not in printed


def test_a_key_that_is_being_rotated(shop: str, settings: Any) -> None:
    """The service may take the previous one: that it takes SECRET_KEY would be false."""
    key = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]["SECRET_KEY"]
    own(settings, SECRET_KEY="sandbox_not_yet_the_key", PREVIOUS_SECRET_KEYS=[key])
    _code, printed = run("--no-deploy")
    assert "SECRET_KEY, or one of PREVIOUS_SECRET_KEYS" in line_of(printed, "ok: service_reads (default): ")


def test_a_key_that_cannot_be_read(shop: str, settings: Any) -> None:
    """A callable that raises: the other looks go on, and its text is not shown."""

    def broken() -> str:
        raise OSError("canary")

    own(settings, SECRET_KEY=broken)
    code, printed = run("--shop", shop, "--no-deploy")
    assert code == 1
    assert "check --deploy looks at the key" in line_of(printed, "failing: service_refuses (default): ")
    assert "Correct SECRET_KEY" in line_of(printed, "failing: webhook (default): ")
    assert "canary" not in printed


def test_a_service_that_is_away(shop: str, settings: Any) -> None:
    """Exit code 3: it may pass by itself."""
    set_to(settings, BASE_URL="http://127.0.0.1:9", LIST_URL="")
    code, printed = run("--no-deploy")
    assert "let this host reach" in line_of(printed, "failing: service_away (default): ")
    assert "BASE_URL gives no response" in line_of(printed, "failing: address_away (default): ")
    assert code == 3


def test_a_script_that_is_not_there(shop: str, settings: Any) -> None:
    """Customers' browsers would load nothing."""
    address = settings.CHECKOUT_INTEGRATION["BASE_URL"]
    set_to(settings, CLIENT_SCRIPT_URL=f"{address}/not-here.js")
    code, printed = run("--no-deploy")
    line = line_of(printed, "failing: address (default): ")
    assert (code, "CLIENT_SCRIPT_URL gives the status 404." in line) == (1, True)


def test_a_clock_that_is_wrong(shop: str, settings: Any) -> None:
    """A warning, with by how much."""
    old = {"Date": "Mon, 05 Jan 2026 10:00:00 GMT"}
    with site(lambda request, body: (200, old, b"")) as elsewhere:
        set_to(settings, CHECKOUT_URL=elsewhere)
        code, printed = run("--no-deploy")
    line = line_of(printed, "warning: clock: ")
    assert "s ahead of the service's" in line and "A sandbox is ahead by what it was let wait" in line
    assert code == 0


def passing_to(
    shop: str, **changes: str
) -> Callable[[BaseHTTPRequestHandler, bytes], tuple[int, dict[str, str], bytes]]:
    """Return a proxy that changes headers, or drops those that become empty."""

    def answer(request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, str], bytes]:
        headers = {**request.headers, **changes, "Host": urlsplit(shop).netloc}
        response = requests.post(
            shop + request.path, data=body, headers={k: v for k, v in headers.items() if v}, timeout=10
        )
        return response.status_code, {}, response.content

    return answer


def test_a_proxy_that_drops_the_signature(shop: str) -> None:
    """The web process answers 401."""
    with site(passing_to(shop, Authorization="")) as proxy:
        code, printed = run("--shop", proxy, "--no-deploy")
    line = line_of(printed, "failing: webhook (default): ")
    assert (code, "the status 401" in line, "drops the header Authorization" in line) == (1, True, True)


def test_a_proxy_that_passes_everything(shop: str) -> None:
    """It is well."""
    with site(passing_to(shop)) as proxy:
        code, printed = run("--shop", proxy, "--no-deploy")
    assert (code, bool(line_of(printed, "ok: webhook (default): "))) == (0, True), printed


@pytest.mark.parametrize(
    ("status", "headers", "text", "says", "mend"),
    [
        (
            301,
            {"Location": "https://www.shop.example/"},
            b"",
            "301, to https://www.shop.example/",
            "does not follow redirects",
        ),
        (200, {}, b"<html>", "200 with a text", "Something else answers"),
        (204, {}, b"", "the status 204", "Something else answers"),
        (403, {}, b"", "the status 403", "A firewall, a middleware or a login"),
        (404, {}, b"", "the status 404", "Include checkout_integration.urls"),
        (413, {}, b"", "the status 413", "let the path pass"),
        (502, {}, b"", "the status 502", "Look at the log of the web process"),
        (200, {}, b"", "this database did not get it", "another installation's"),
    ],
)
def test_what_stands_at_the_address(
    status: int, headers: dict[str, str], text: bytes, says: str, mend: str, shop: str
) -> None:
    """Each answer has its own mend."""
    with site(lambda request, body: (status, headers, text)) as elsewhere:
        code, printed = run("--shop", elsewhere, "--no-deploy")
    line = line_of(printed, "failing: webhook (default): ")
    assert code == 1
    assert says in line and mend in line


def test_nothing_stands_at_the_address(shop: str) -> None:
    """No response at all."""
    code, printed = run("--shop", "http://127.0.0.1:9", "--no-deploy")
    line = line_of(printed, "failing: webhook (default): ")
    assert (code, "Start the web server" in line) == (1, True)


def test_a_shop_without_the_addresses(shop: str, settings: Any) -> None:
    """The URLconf lacks them."""
    settings.ROOT_URLCONF = "tests.support.no_urls"
    code, printed = run("--shop", shop, "--no-deploy")
    line = line_of(printed, "failing: webhook (default): ")
    assert (code, 'include("checkout_integration.urls")' in line) == (1, True)


def test_tables_that_are_not_made(shop: str) -> None:
    """The looks that need them say nothing."""
    recorder, last = MigrationRecorder(connection), "0002_append_only"
    recorder.record_unapplied("checkout_integration", last)
    try:
        code, printed = run("--shop", shop, "--no-deploy")
    finally:
        recorder.record_applied("checkout_integration", last)
    line = line_of(printed, "failing: migrations: ")
    assert (code, last in line, "manage.py migrate" in line) == (1, True, True)
    assert "incidents" not in printed and line_of(printed, "ok: service_reads (default): ")


@pytest.mark.usefixtures("database_away")
def test_a_database_that_is_away(shop: str) -> None:
    """Exit code 4."""
    code, printed = run("--shop", shop, "--no-deploy")
    assert (code, "correct DATABASES" in line_of(printed, "failing: database: ")) == (4, True)


@contextmanager
def broker_at(address: str) -> Iterator[Celery]:
    """A shop with a queue of its own at the broker of this address; no worker of another test that runs hears it."""
    app = Celery("doctor", broker=address)
    app.conf.task_default_queue = "doctor"
    app.conf.control_exchange = f"doctor-{uuid.uuid4()}"
    app.set_current()
    try:
        yield app
    finally:
        app.close()


def test_a_broker_that_is_away(shop: str, settings: Any) -> None:
    """The line has no password."""
    set_to(settings, RUNNER="celery")
    with broker_at("redis://:canary-word@127.0.0.1:9//"):
        code, printed = run("--no-deploy")
    assert (code, "correct broker_url" in line_of(printed, "failing: broker: ")) == (1, True)
    assert "canary" not in printed


def test_no_worker(shop: str, settings: Any, redis_url: str) -> None:
    """The broker responds, and nobody takes tasks."""
    set_to(settings, RUNNER="celery")
    with broker_at(redis_url):
        code, printed = run("--no-deploy")
    assert line_of(printed, "ok: broker: ")
    assert (code, "start a Celery worker" in line_of(printed, "failing: workers: ")) == (1, True)


def test_programs_read_steps(shop: str) -> None:
    """As the page says it, by its schema."""
    code, printed = run("--shop", shop, "--json", "--no-deploy")
    result = json.loads(printed)
    assert (code, result["ok"], result["severity"]) == (0, True, "unknown")
    schema = json.loads((ROOT / "docs/reference/doctor.schema.json").read_text(encoding="utf-8"))
    jsonschema_rs.validate(schema, result)


@pytest.mark.parametrize("shop", ["your.host", "ftp://your.host", "https://your.host/checkout/", "https://"])
def test_an_address_that_is_none(shop: str) -> None:
    """It is refused as a wrong option."""
    with pytest.raises(CommandError, match="is no address of a site"):
        run("--shop", shop)


def test_every_name_is_on_the_page() -> None:
    """docs/reference/commands.md: a line of the doctor is looked up by its name."""
    source = Path(inspect.getfile(doctor)).read_text(encoding="utf-8")
    names = set(re.findall(r'(?:\bname=|_wrong\(\s*|\bname = |\bkind = |else )"([a-z_]+)"', source))
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    assert len(names) > 10 and not {name for name in names if f"`{name}`" not in page}
