"""Operations of staff: retry only failed runs, and resolve incidents."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.flows.ledger import deciding
from checkout_integration.models import Incident, Order, ReceiverRun
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.admin.rows import make_incident, make_order, make_run
from tests.support.flows.shop import Failing, Listening

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("runner", ["worker", "request"])
def test_what_waits_for_its_next_attempt_is_due_now(
    checkout_deliver: Deliver, listen: Listening, settings: Any, runner: str
) -> None:
    """It keeps its count of attempts; one that is due already stays as it is, where a process is about to take it."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": runner}
    failing = Failing(times=1)
    listen(checkout_paid, failing)
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    flows.run_due()
    run, staff = ReceiverRun.objects.get(), User.objects.create_user("staff")
    assert (run.state, flows.operations.is_retryable(run)) == ("due", True)
    assert flows.operations.retry_run(run, staff=staff)
    run.refresh_from_db()
    assert flows.operations.is_retryable(run) == (runner == "request")
    assert flows.operations.retry_run(run, staff=staff) == (runner == "request")
    flows.run_due()
    run.refresh_from_db()
    assert (run.state, run.attempts, failing.tries) == ("done", 2, 2)


def test_what_has_run_is_not_run_again(checkout_deliver: Deliver, listen: Listening) -> None:
    """It would grant twice."""
    heard = listen(checkout_paid)
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    flows.run_due()
    assert not flows.operations.retry_run(ReceiverRun.objects.get(), staff=User.objects.create_user("staff"))
    flows.run_due()
    assert (len(heard), ReceiverRun.objects.get().state) == (1, "done")


def test_running_again_says_who_requested_it(caplog: pytest.LogCaptureFixture) -> None:
    """By the account's key; its name is personal."""
    caplog.set_level("INFO", "checkout_integration.support")
    run = make_run(make_order(), state="failed")
    staff = User.objects.create_user("grace")
    assert flows.operations.retry_run(run, staff=staff)
    (said,) = caplog.messages
    assert f"ReceiverRun {run.pk}" in said and f"account {staff.pk}" in said and "grace" not in said


def test_failure_leaves_the_callers_transaction_usable(
    checkout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service call inside a transaction, as with ATOMIC_REQUESTS: a failure is rolled back, and the page can be shown."""
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    checkout_sandbox.payments.pay(checkout.order_id)
    monkeypatch.delattr(deciding, "judge")
    with pytest.raises(NameError):
        flows.refresh_order(Order.objects.get())
    assert Order.objects.get().status == "created"


def in_review(deliver: Deliver) -> Order:
    """A payment with a wrong amount."""
    document = order_document_for(CheckoutFactory(), amount=Decimal("5"))
    deliver(order=document)
    return Order.objects.get(order_id=document["id"])


def test_accepting_resolves_the_incidents_that_called_for_it(checkout_deliver: Deliver) -> None:
    """Those of the order's review, and no others."""
    order, other = in_review(checkout_deliver), in_review(checkout_deliver)
    make_incident(order, "unknown_status")
    staff = User.objects.create_user("grace")
    flows.operations.accept_payment(order, staff=staff, reason="The rest came by post")
    incidents = [(each.kind, each.order, each.staff) for each in Incident.objects.order_by("pk")]
    assert incidents == [
        ("review:amount", order, staff),
        ("review:amount", other, None),
        ("unknown_status", order, None),
    ]
    assert Incident.objects.exclude(resolved_at=None).count() == 1


def test_what_is_not_accepted_resolves_nothing(checkout_deliver: Deliver) -> None:
    """The acceptance and the resolution of its incidents are one transaction."""
    order = in_review(checkout_deliver)
    Order.objects.update(verdict="verified")
    with pytest.raises(ValueError, match="in review"):
        flows.operations.accept_payment(order, staff=User.objects.create_user("grace"), reason="")
    assert Incident.objects.get().resolved_at is None


def test_an_incident_is_resolved_once() -> None:
    """A second resolution does not replace the first."""
    incident, first = make_incident(make_order()), User.objects.create_user("grace")
    assert flows.operations.resolve_incident(incident, staff=first)
    assert not flows.operations.resolve_incident(incident, staff=User.objects.create_user("ada"))
    assert Incident.objects.get().staff == first
