"""What staff may do: run again only what has not done its work, and resolve what they have looked at."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.flows.ledger import taking
from checkout_integration.models import Incident, Order, ReceiverRun
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.admin.rows import make_incident, make_order, make_run
from tests.flows.shop import Failing, Listening

pytestmark = pytest.mark.django_db


def test_what_is_waiting_is_not_run_again(checkout_deliver: Deliver, listen: Listening) -> None:
    """Only an ended run can be made due."""
    listen(checkout_paid, Failing())
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    flows.run_due()
    assert not flows.run_again(ReceiverRun.objects.get(), staff=User.objects.create_user("staff"))


def test_what_has_run_is_not_run_again(checkout_deliver: Deliver, listen: Listening) -> None:
    """It would grant twice."""
    heard = listen(checkout_paid)
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    flows.run_due()
    assert not flows.run_again(ReceiverRun.objects.get(), staff=User.objects.create_user("staff"))
    flows.run_due()
    assert (len(heard), ReceiverRun.objects.get().state) == (1, "done")


def test_running_again_says_who_asked_for_it(caplog: pytest.LogCaptureFixture) -> None:
    """By the account's key; its name is personal."""
    caplog.set_level("INFO", "checkout_integration.support")
    run = make_run(make_order(), state="failed")
    staff = User.objects.create_user("grace")
    assert flows.run_again(run, staff=staff)
    (said,) = caplog.messages
    assert f"ReceiverRun {run.pk}" in said and f"account {staff.pk}" in said and "grace" not in said


def test_failure_leaves_the_callers_transaction_usable(
    checkout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asking the service inside a transaction, as with ATOMIC_REQUESTS: what failed is undone, and the page can be shown."""
    sale = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    checkout_sandbox.payments.pay(sale.order_id)
    monkeypatch.delattr(taking, "judge")
    with pytest.raises(NameError):
        flows.refresh_order(Order.objects.get())
    assert Order.objects.get().status == "created"


def in_review(deliver: Deliver) -> Order:
    """A payment of another amount than was asked for."""
    told = order_document_for(CheckoutFactory(), amount=Decimal("5"))
    deliver(order=told)
    return Order.objects.get(order_id=told["id"])


def test_accepting_resolves_the_incidents_that_asked_for_it(checkout_deliver: Deliver) -> None:
    """Those of the order's review, and no others."""
    order, other = in_review(checkout_deliver), in_review(checkout_deliver)
    make_incident(order, "unknown_status")
    staff = User.objects.create_user("grace")
    flows.accept_payment(order, staff=staff, reason="The rest came by post")
    told = [(each.kind, each.order, each.resolved_by) for each in Incident.objects.order_by("pk")]
    assert told == [
        ("review:amount", order, staff),
        ("review:amount", other, None),
        ("unknown_status", order, None),
    ]
    assert Incident.objects.exclude(resolved_at=None).count() == 1


def test_what_is_not_accepted_resolves_nothing(checkout_deliver: Deliver) -> None:
    """The acceptance and the word on its incidents are one transaction."""
    order = in_review(checkout_deliver)
    Order.objects.update(verdict="verified")
    with pytest.raises(ValueError, match="in review"):
        flows.accept_payment(order, staff=User.objects.create_user("grace"), reason="")
    assert Incident.objects.get().resolved_at is None


def test_an_incident_is_resolved_once() -> None:
    """Whoever comes second does not take its place."""
    incident, first = make_incident(make_order()), User.objects.create_user("grace")
    assert flows.resolve_incident(incident, staff=first)
    assert not flows.resolve_incident(incident, staff=User.objects.create_user("ada"))
    assert Incident.objects.get().resolved_by == first
