"""Metrics and spans, as OpenTelemetry's SDK and its Prometheus exporter show them; and that nothing needs them."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest
from django.test import Client
from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind, StatusCode

from checkout_integration import flows, telemetry
from checkout_integration.client.errors import CheckoutError
from checkout_integration.flows import outbox
from checkout_integration.models import ReceiverRun
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_paid
from checkout_integration.signals.durable import USUAL
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from checkout_integration.testing.service import CheckoutSandbox
from tests.flows.conftest import _not_installed, _nothing_refused, hooks, listen
from tests.support.documents import ROOT, block
from tests.support.flows.shop import Failing, Listening, ShopHooks, fault, make_due, notification, statements
from tests.support.measured import Measured

__all__ = ["_not_installed", "_nothing_refused", "hooks", "listen"]
CANARY = "canary@example.com"
pytestmark = pytest.mark.django_db


@pytest.fixture
def measured() -> Measured:
    """Give what is measured from now on."""
    return Measured()


def test_a_payment_is_counted_and_timed_at_each_step(
    measured: Measured, checkout_deliver: Deliver, listen: Listening
) -> None:
    """Accepted, applied and given to its receiver, by few words."""
    listen(checkout_paid)
    document = order_document_for(CheckoutFactory())
    checkout_deliver(order=document)
    assert measured.added("checkout_requests_accepted_total") == {("first", "payment.success", "default"): 1}
    assert measured.added("checkout_notifications_applied_total") == {("changed", "default"): 1}
    assert measured.added("checkout_receivers_runs_total") == {("succeeded", "default", "checkout_paid"): 1}
    assert measured.added("checkout_accept_duration_seconds_count") == {("stored", "default"): 1}
    assert measured.added("checkout_apply_duration_seconds_count") == {("succeeded",): 1}
    assert measured.added("checkout_receiver_duration_seconds_count") == {
        ("succeeded", "default", "checkout_paid"): 1
    }


def test_a_retry_of_the_service_changes_nothing_and_is_counted_as_one(
    measured: Measured, checkout_deliver: Deliver
) -> None:
    """So the duplicates can be seen, by what the service says and by what they changed."""
    document = notification(order=OrderDocumentFactory(status="processed"), id="one")
    checkout_deliver(document)
    checkout_deliver(document, delivery_try=1)
    accepted = measured.added("checkout_requests_accepted_total")
    assert {labels[0]: number for labels, number in accepted.items()} == {"first": 1, "retry": 1}
    applied = measured.added("checkout_notifications_applied_total")
    assert applied == {("changed", "default"): 1, ("unchanged", "default"): 1}


def test_a_refused_request_is_counted_by_its_reason_without_sql(measured: Measured, client: Client) -> None:
    """And an address of no project under no name: a stranger must not make series."""
    with statements() as seen:
        for address in ("", "canary-1/", "canary-2/"):
            client.post(f"/checkout/webhook/{address}", b"{}", content_type="application/json")
    assert seen == []
    assert measured.added("checkout_requests_refused_total") == {
        ("default", "INVALID_SIGNATURE"): 1,
        ("", "UNKNOWN_PROJECT"): 2,
    }


def test_what_cannot_be_applied_is_counted(
    measured: Measured, checkout_deliver: Deliver, hooks: type[ShopHooks], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Apart from what was applied."""
    monkeypatch.setattr(hooks, "resolve", staticmethod(Failing()))
    checkout_deliver(order=OrderDocumentFactory(status="processed"))
    assert measured.added("checkout_notifications_failed_total") == {("failed", "default"): 1}
    assert measured.added("checkout_notifications_applied_total") == {}


def test_each_attempt_of_a_receiver_is_counted(measured: Measured, listen: Listening) -> None:
    """The last one as given up."""
    listen(checkout_paid, Failing())
    OrderFactory(checkout=CheckoutFactory())
    flows.run_due()
    ReceiverRun.objects.update(attempts=USUAL.most_attempts - 1)
    make_due()
    flows.run_due()
    assert measured.added("checkout_receivers_runs_total") == {
        ("failed", "default", "checkout_paid"): 1,
        ("given_up", "default", "checkout_paid"): 1,
    }
    assert outbox.DueSummary() == outbox.run_due()


def test_the_receivers_time_is_that_of_the_shops_code(measured: Measured, listen: Listening) -> None:
    """Its span has ids, and of its exception the class alone."""
    listen(checkout_paid, Failing(), name="shop.grant")
    order = OrderFactory(checkout=CheckoutFactory())
    flows.run_due()
    (span,) = measured.spans("checkout.receiver")
    run = ReceiverRun.objects.get()
    assert dict(span.attributes or {}) == {
        "project": "default",
        "signal": "checkout_paid",
        "outcome": "failed",
        "receiver": "shop.grant",
        "receiver_run": run.pk,
        "attempt": 1,
        "order_id": order.order_id,
        "error.type": "ValueError",
    }
    assert (span.status.status_code, span.status.description, span.events) == (StatusCode.ERROR, None, ())


def test_the_steps_of_one_request_are_one_trace(
    measured: Measured, checkout_deliver: Deliver, listen: Listening
) -> None:
    """Under the host's own span, where it has one."""
    listen(checkout_paid)
    with trace.get_tracer("host").start_as_current_span("request"):
        checkout_deliver(order=order_document_for(CheckoutFactory()))
    (request,) = measured.spans("request")
    steps = [span for name in ("accept", "apply", "receiver") for span in measured.spans(f"checkout.{name}")]
    assert len(steps) == 3
    assert {span.context.trace_id for span in steps} == {request.context.trace_id}


@pytest.mark.django_db(transaction=True)
def test_calls_of_the_service_are_timed(measured: Measured, checkout_sandbox: Sandbox) -> None:
    """By endpoint and outcome; the span has the status."""
    flows.create_checkout(amount=Decimal("9.99"), currency="EUR", type="simple")
    fault(checkout_sandbox, "api", "server_error", "order")
    with pytest.raises(CheckoutError):
        flows.create_checkout(amount=Decimal("9.99"), currency="EUR", type="simple")
    counted = measured.added("checkout_call_duration_seconds_count")
    assert {labels[1] for labels in counted} == {"succeeded", "refused"}
    first, last = measured.spans("checkout.call")
    assert (first.kind, (first.attributes or {})["http.response.status_code"]) == (SpanKind.CLIENT, 200)
    assert (last.attributes or {})["outcome"] == "refused"


@pytest.mark.django_db(transaction=True)
def test_the_sync_counts_rows_and_passes(measured: Measured, checkout_sandbox: Sandbox) -> None:
    """Read, changed, complete, failed."""
    fault(checkout_sandbox, "notification", "drop")
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="EUR", type="simple")
    checkout_sandbox.payments.pay(checkout.order_id)
    flows.sync.sync_transactions()
    fault(checkout_sandbox, "api", "server_error", "transactions")
    flows.sync.sync_transactions()
    assert measured.added("checkout_sync_rows_changed_total") == {("recent", "default"): 1}
    assert measured.added("checkout_sync_rows_read_total")[("recent", "default")] >= 1
    assert measured.added("checkout_sync_passes_total") == {
        ("recent", "complete", "default"): 1,
        ("recent", "failed", "default"): 1,
    }


def test_nothing_of_a_customer_is_measured(
    measured: Measured, checkout_deliver: Deliver, hooks: type[ShopHooks], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in a metric nor in a span, whatever fails on it."""

    def fails(order: Any) -> None:
        raise ValueError(CANARY)

    monkeypatch.setattr(hooks, "resolve", staticmethod(fails))
    order = OrderDocumentFactory(status="processed", user={"email": CANARY, "external_id": CANARY})
    checkout_deliver(order=order)
    checkout_deliver(notification(f"user.{CANARY}", {"id": CANARY}))
    spans = [span.to_json() for name in telemetry.STEPS for span in measured.spans(f"checkout.{name}")]
    assert len(spans) >= 2
    assert CANARY not in f"{spans} {measured.samples()}"


@pytest.mark.slow
def test_the_attributes_of_metrics_have_few_values(measured: Measured, checkout_deliver: Deliver) -> None:
    """A hundred orders make no more series than one."""
    for number in range(100):
        checkout_deliver(order=OrderDocumentFactory(status="processed", id=f"canary-{number}"))
    counted = measured.added("checkout_requests_accepted_total")
    assert counted == {("first", "payment.success", "default"): 100}
    assert "canary" not in str(measured.samples())


WITHOUT = """
import sys

sys.modules["opentelemetry"] = None  # as if it were not installed
import django

django.setup()
from django.test import Client
from django.test.utils import setup_test_environment

from checkout_integration import telemetry

assert not telemetry.IS_INSTALLED
with telemetry.timed(telemetry.ACCEPT, project="default") as measured:
    telemetry.count(telemetry.ACCEPTED, project="default")
    telemetry.describe({"order_id": "1"})
telemetry.observe("checkout.health", list)
setup_test_environment()
assert Client().post("/checkout/webhook/", b"{}", content_type="application/json").status_code == 401
assert [name for name in sys.modules if name.startswith(("opentelemetry.", "checkout_integration.gauges"))] == []
print("well", measured)
"""


@pytest.mark.slow
def test_nothing_of_it_is_needed() -> None:
    """An installation without OpenTelemetry imports none of it, and works."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"DJANGO_SETTINGS_MODULE": "tests.settings", "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout == "well {'project': 'default', 'outcome': 'succeeded'}\n", done.stderr


def test_the_buckets_are_seconds(measured: Measured, checkout_deliver: Deliver) -> None:
    """OpenTelemetry's own are milliseconds."""
    checkout_deliver(order=OrderDocumentFactory(status="processed"))
    limits = {each.labels["le"] for each in measured.samples("checkout_accept_duration_seconds_bucket")}
    assert limits == {*map(str, telemetry.BUCKETS), "+Inf"}


def test_the_page_starts_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """With both providers, and a port; this process has its own already, so the API is given them here alone."""
    given = list[object]()
    monkeypatch.setattr(metrics, "set_meter_provider", given.append)
    monkeypatch.setattr(trace, "set_tracer_provider", given.append)
    module = ModuleType("telemetry_of_the_host")
    exec(block("docs/metrics.md", "# mysite/telemetry.py"), vars(module))
    # Its thread serves until the process ends, so a test cannot end it: the port is enough here.
    ports = list[int]()

    def serve(port: int, addr: str) -> None:
        assert addr == "127.0.0.1"
        if port < 9466:
            raise OSError(98, "Address already in use")
        ports.append(port)

    monkeypatch.setattr(module, "start_http_server", serve)
    module.start()
    assert ports == [9466]
    assert [type(each).__name__ for each in given] == ["MeterProvider", "TracerProvider"]
    for provider in given:
        provider.shutdown()  # type: ignore[attr-defined]


class Broken:
    """An instrument of a host whose exporter fails."""

    def add(self, *measured: object) -> None:
        """Fail."""
        raise RuntimeError

    record = add


def test_a_failure_of_telemetry_reaches_no_payment(
    checkout_sandbox: CheckoutSandbox,
    live_server: Any,
    listen: Listening,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Created, accepted, applied and granted. The instruments are replaced, since those of the SDK do not fail."""
    for instruments in (telemetry._counters, telemetry._histograms):
        for name in instruments:
            monkeypatch.setitem(instruments, name, Broken())
    heard = listen(checkout_paid)
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    checkout_sandbox.pay(checkout.order_id)
    flows.run_due()
    assert (len(heard), ReceiverRun.objects.get().state) == (1, ReceiverRun.State.DONE)
