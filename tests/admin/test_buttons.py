"""Buttons: own permission, confirmation, effect, message and audit."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from django.conf import settings
from django.test import Client, override_settings
from django.utils import timezone

from checkout_integration.admin.order.buttons import ACCEPT
from checkout_integration.admin.site.buttons import Refused
from checkout_integration.conf import app_settings
from checkout_integration.flows.ledger import Cause
from checkout_integration.models import Order, Receiver, ReceiverRun, StaffAct
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol.order import parse_order
from checkout_integration.signals import checkout_paid
from tests.support.admin import rows
from tests.support.admin.screens import page_address
from tests.support.flows.recording import record

pytestmark = pytest.mark.django_db(transaction=True)
DOCUMENT = {
    "id": "order-1",
    "status": "processed",
    "type": "simple",
    "is_production": False,
    "amount": 5,
    "currency": "USD",
}


@pytest.fixture
def in_review() -> Order:
    """A payment for nothing that was sold here, as the ledger records it."""
    observation = Observation(
        source=Source.NOTIFICATION,
        order=parse_order(DOCUMENT),
        event="payment.success",
        observed_at=rows.NOON,
        live=False,
    )
    record(app_settings().project(), [observation], Cause(source=Source.NOTIFICATION))
    order = Order.objects.get()
    assert order.verdict == "review"
    return order


def address(order: Order, button: str) -> str:
    """The address of a button of an order."""
    return page_address("order", order).replace("/change/", f"/{button}/")


def verdict_of(order: Order) -> str:
    """The verdict as it is in the database."""
    return Order.objects.get(pk=order.pk).verdict


def grant(order: Order, **kwargs: object) -> None:
    """A receiver that grants goods."""


def test_accepting_grants_the_goods_and_keeps_who_and_why(client: Client, in_review: Order) -> None:
    """The order is accepted, its receiver runs, and the timeline has the account and the reason."""
    checkout_paid.connect(grant)
    staff = rows.make_staff("view_order", "accept_payment", name="grace")
    client.force_login(staff)
    try:
        answer = client.post(address(in_review, "accept"), {"reason": "paid by phone"}, follow=True)
    finally:
        checkout_paid.disconnect(grant)
    html = answer.content.decode()
    assert verdict_of(in_review) == "accepted"
    assert ReceiverRun.objects.get().state == "done"
    for text in ("The payment is accepted", "payment accepted", "paid by phone", "by grace"):
        assert text in html


def test_accepting_asks_first(admin_client: Client, in_review: Order) -> None:
    """A GET shows the question and changes nothing."""
    html = admin_client.get(address(in_review, "accept")).content.decode()
    assert "Accept this payment" in html
    assert verdict_of(in_review) == "review"


def test_accepting_needs_a_reason(admin_client: Client, in_review: Order) -> None:
    """Without one the form comes back."""
    assert admin_client.post(address(in_review, "accept"), {"reason": " "}).status_code == 200
    assert verdict_of(in_review) == "review"


def test_an_order_that_is_not_in_review_cannot_be_accepted(admin_client: Client) -> None:
    """A second click, or an old page, says so and changes nothing."""
    order = rows.make_order()
    answer = admin_client.post(address(order, "accept"), {"reason": "x"}, follow=True)
    assert "is not possible any more" in answer.content.decode()
    assert verdict_of(order) == "verified"


def test_a_payment_that_was_taken_back_cannot_be_accepted(admin_client: Client) -> None:
    """The button is not offered, and an old page of it changes nothing."""
    order = rows.make_order(status="refunded", verdict="review")
    assert address(order, "accept") not in admin_client.get(page_address("order", order)).content.decode()
    answer = admin_client.post(address(order, "accept"), {"reason": "x"}, follow=True)
    assert "is not possible any more" in answer.content.decode()
    assert verdict_of(order) == "review"


def test_a_payment_that_the_ledger_refuses_is_not_accepted() -> None:
    """The ledger decides under its lock: the order may have changed since the button was shown."""
    order = rows.make_order(status="refunded", verdict="review")
    with pytest.raises(Refused, match="Only a paid order can be accepted"):
        ACCEPT.act(order, rows.make_staff(), {"reason": "x"})


class _List(BaseHTTPRequestHandler):
    """A service with a transaction list of order-1, refunded."""

    def do_GET(self) -> None:
        """One page."""
        body = json.dumps({"count": 1, "items": [{**DOCUMENT, "status": "refunded"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[HTTPServer]:
    """A listening socket that the settings name as the service."""
    server = HTTPServer(("127.0.0.1", 0), _List)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    here = {"BASE_URL": f"http://127.0.0.1:{server.server_port}"}
    with override_settings(CHECKOUT_INTEGRATION=settings.CHECKOUT_INTEGRATION | here):
        yield server
    server.shutdown()
    server.server_close()


def test_checking_asks_the_service_and_applies_what_it_says(
    client: Client, in_review: Order, service: HTTPServer
) -> None:
    """A refund that was never notified is known after the click, and the timeline names who clicked."""
    client.force_login(rows.make_staff("view_order", "check_order", name="grace"))
    html = client.post(address(in_review, "check"), follow=True).content.decode()
    assert Order.objects.get().status == "refunded"
    assert "by grace" in html
    act = StaffAct.objects.get()
    assert (act.act, act.origin, act.order, str(act.actor)) == ("check", "admin", in_review, "grace")


@pytest.mark.slow
def test_a_service_that_does_not_answer_is_a_message(
    admin_client: Client, in_review: Order, service: HTTPServer
) -> None:
    """Not a server error."""
    service.shutdown()
    service.server_close()
    answer = admin_client.post(address(in_review, "check"), follow=True)
    assert answer.status_code == 200
    assert "The order could not be fetched from the service" in answer.content.decode()


@pytest.fixture
def failed() -> ReceiverRun:
    """A run that was given up."""
    name = f"{__name__}.grant"
    return rows.make_run(rows.make_order(), receiver=name, state="failed", attempts=10, error="OSError")


def test_a_parked_receiver_runs_again(client: Client, failed: ReceiverRun) -> None:
    """It is made due, runs, and the order's history has the account."""
    checkout_paid.connect(grant)
    client.force_login(rows.make_staff("view_receiverrun", "change_receiverrun", "view_order", name="grace"))
    try:
        client.post(page_address("receiverrun", failed).replace("/change/", "/run-again/"))
    finally:
        checkout_paid.disconnect(grant)
    assert ReceiverRun.objects.get(pk=failed.pk).state == "done"
    timeline = client.get(page_address("order", failed.order)).content.decode()
    assert "code of the shop run again" in timeline and "by grace" in timeline


def test_a_receiver_that_has_run_is_never_run_again(admin_client: Client) -> None:
    """Not even from an old page."""
    run = rows.make_run(rows.make_order(), state="done")
    answer = admin_client.post(
        page_address("receiverrun", run).replace("/change/", "/run-again/"), follow=True
    )
    assert "is not possible any more" in answer.content.decode()
    assert ReceiverRun.objects.get().state == "done"


@pytest.mark.parametrize("state", ["due", "running", "done"])
def test_a_delivery_that_runs_or_has_run_has_no_button(
    admin_client: Client, settings: Any, state: str
) -> None:
    """It runs by itself, or would grant twice."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    run = rows.make_run(rows.make_order(), state=state, finished_at=None, due_at=timezone.now())
    assert "Run this receiver again" not in admin_client.get(page_address("receiverrun", run)).text


@pytest.mark.parametrize(("runner", "ago"), [("request", 0), ("worker", 2)])
def test_what_is_due_and_taken_by_nobody_has_the_button(
    admin_client: Client, settings: Any, runner: str, ago: int
) -> None:
    """With RUNNER "request" it waits for the next notification; the order's page offers it too."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": runner}
    long_due: dict[str, Any] = {
        "state": "due",
        "finished_at": None,
        "due_at": timezone.now() - timedelta(minutes=ago),
    }
    run = rows.make_run(rows.make_order(), **long_due)
    assert "Run this receiver again" in admin_client.get(page_address("receiverrun", run)).text
    assert "Run the shop&#x27;s code now" in admin_client.get(page_address("order", run.message.order)).text


def test_staff_say_that_a_receiver_was_removed(client: Client) -> None:
    """Offered where no process knows it; refused while one with it works; then all of its runs end."""
    now = timezone.now()
    row = Receiver.objects.create(
        signal="checkout_paid", name="gone", names=["gone"], first_seen=now, last_seen=now
    )
    waiting = rows.make_run(rows.make_order(), receiver="gone", state="unknown", finished_at=None)
    due = rows.make_run(rows.make_order(order_id="order-2"), receiver="gone", state="due", finished_at=None)
    client.force_login(rows.make_staff("view_receiverrun", "change_receiverrun", "view_order", name="grace"))
    page, press = page_address("receiverrun", waiting), "/retire/"
    text = client.get(page).content.decode()
    assert "This receiver was removed" in text
    assert "waiting for a process that knows this code" in text
    assert "This receiver was removed" not in client.get(page_address("receiverrun", due)).content.decode()
    answer = client.post(page.replace("/change/", press), follow=True)
    assert "a process with this receiver works" in answer.content.decode()
    Receiver.objects.filter(pk=row.pk).update(last_seen=now - timedelta(minutes=6))
    answer = client.post(page.replace("/change/", press), follow=True)
    assert "The receiver is retired" in answer.content.decode()
    assert set(ReceiverRun.objects.values_list("state", flat=True)) == {"superseded"}
