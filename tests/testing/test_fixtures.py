"""The fixtures as a shop's tests use them."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest
from django.dispatch import receiver

from checkout_integration import flows
from checkout_integration.models import Notification, Order, OutboxMessage
from checkout_integration.signals import checkout_paid, checkout_reversed
from checkout_integration.testing.assertions import (
    assert_acknowledged,
    assert_granted,
    assert_not_granted,
    assert_revoked,
)
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.orderings import Orderings, orderings_of
from checkout_integration.testing.payloads import (
    ErrorDocumentFactory,
    NotificationDocumentFactory,
    OrderDocumentFactory,
)
from checkout_integration.testing.service import CheckoutSandbox

granted: list[str] = []


def grant(checkout: Any, **kwargs: Any) -> None:
    """Note the paid checkout."""
    granted.append(checkout.reference)


@pytest.fixture
def granting() -> Any:
    """Connect the receiver for the length of a test."""
    granted.clear()
    receiver(checkout_paid)(grant)
    yield granted
    checkout_paid.disconnect(grant)


def notified(sandbox: CheckoutSandbox) -> list[tuple[str, int]]:
    """Return the event of each notification that was sent, with the shop's response."""
    sent = [entry for entry in sandbox.log.entries() if entry.direction == "out"]
    return [(entry.note.partition(",")[0], entry.status) for entry in sent]


def test_loading_the_plugin_imports_no_django() -> None:
    """Pytest loads it in every project, before settings exist: it must cost nothing."""
    code = "import sys, checkout_integration.testing.plugin; print('django' in sys.modules, 'factory' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.django_db
class TestDeliver:
    """``checkout_deliver``."""

    @pytest.mark.spec("EVT-03", "EP5-01", "STA-03")
    def test_it_pays_for_a_checkout(self, checkout_deliver: Deliver, granting: list[str]) -> None:
        """A delivered success grants the goods before it returns."""
        checkout = CheckoutFactory()
        assert_not_granted(checkout)
        assert_acknowledged(checkout_deliver(order=order_document_for(checkout)))
        assert_granted(checkout)
        assert granting == [checkout.reference]

    def test_runner_here_whatever_the_settings_say(self, settings: Any, checkout_deliver: Deliver) -> None:
        """A shop's tests need neither broker nor worker."""
        assert settings.CHECKOUT_INTEGRATION["RUNNER"] == "request"

    @pytest.mark.parametrize(
        "more",
        [
            {},
            pytest.param({"gzip": True}, marks=pytest.mark.spec("SVC-07")),
            pytest.param({"delivery_try": 7}, marks=pytest.mark.spec("WHK-07", "EVT-10")),
        ],
    )
    @pytest.mark.spec("AUT-04", "EP5-01", "EP5-02", "SVC-08")
    def test_it_signs_what_it_sends(self, checkout_deliver: Deliver, more: dict[str, Any]) -> None:
        """However it is sent, the app accepts it."""
        response = checkout_deliver(NotificationDocumentFactory(), **more)
        assert_acknowledged(response)
        assert response.request["CONTENT_TYPE"] == "application/json"  # type: ignore[attr-defined]
        assert Notification.objects.get().delivery_try == more.get("delivery_try", 0)

    @pytest.mark.spec("AUT-07")
    def test_base64(self, settings: Any, checkout_deliver: Deliver) -> None:
        """The other encoding is accepted where the project takes it, and refused where not."""
        assert checkout_deliver(encoding="base64").status_code == 401
        settings.CHECKOUT_INTEGRATION = {
            **settings.CHECKOUT_INTEGRATION,
            "SIGNATURE_ENCODINGS": ["hex", "base64"],
        }
        assert_acknowledged(checkout_deliver(encoding="base64"))

    @pytest.mark.spec("AUT-04", "AUT-05")
    def test_another_secret(self, checkout_deliver: Deliver) -> None:
        """A stranger's signature is refused."""
        assert checkout_deliver(secret="sandbox_of_a_stranger").status_code == 401
        assert not Notification.objects.exists()

    @pytest.mark.spec("AUT-04")
    def test_bytes_and_headers(self, checkout_deliver: Deliver) -> None:
        """Bytes go as they are, and a header can be replaced."""
        assert checkout_deliver(b"no JSON").status_code == 400
        assert checkout_deliver(headers={"Authorization": "Signature 00"}).status_code == 401

    @pytest.mark.spec("EVT-07", "EVT-11")
    def test_a_user(self, checkout_deliver: Deliver) -> None:
        """user.validate is answered by the hook, which refuses by default."""
        answer = checkout_deliver(event="user.validate")
        assert answer.status_code == 403
        assert set(answer.json()) == set(ErrorDocumentFactory())  # type: ignore[attr-defined]


@pytest.mark.django_db
class TestOrderings:
    """``checkout_orderings``."""

    def test_every_order_of_arrival_ends_the_same(self, checkout_orderings: Orderings) -> None:
        """Each order starts with an empty database, and ends refunded."""
        order = OrderDocumentFactory()
        back = {**OrderDocumentFactory(status="refunded"), "id": order["id"]}
        notifications = [
            NotificationDocumentFactory(object=order),
            NotificationDocumentFactory(object=order, delivery_try=1),
            NotificationDocumentFactory(object=back, event="payment.refund"),
        ]
        ends = checkout_orderings(notifications, lambda: (Order.objects.count(), Order.objects.get().status))
        assert len(ends) == 6
        assert set(ends.values()) == {(1, "refunded")}
        assert not Order.objects.exists()

    @pytest.mark.parametrize("named", ["", "eu"])
    def test_the_project_is_that_of_the_checkout(
        self, checkout_orderings: Orderings, settings: Any, named: str
    ) -> None:
        """At the webhook of another one nothing is paid, and every order of arrival would end alike."""
        setting = settings.CHECKOUT_INTEGRATION
        eu = {**setting["PROJECTS"]["default"], "PROJECT_ID": "eu-project", "SECRET_KEY": "sandbox_eu_secret"}
        settings.CHECKOUT_INTEGRATION = {**setting, "PROJECTS": {**setting["PROJECTS"], "eu": eu}}
        checkout = CheckoutFactory.create(project="eu")
        paid = NotificationDocumentFactory(object=order_document_for(checkout))
        end = checkout_orderings.assert_same([paid], checkout.grants.count, at_most=1, project=named)
        assert end == 1

    def test_a_refused_notification_is_no_ordering(self, checkout_orderings: Orderings) -> None:
        """A notification that the app refuses cannot be compared."""
        notification = NotificationDocumentFactory(event="user.validate")
        with pytest.raises(AssertionError, match="answered 403"):
            checkout_orderings([notification], Order.objects.count)

    def test_many_orders_are_taken_by_chance(self) -> None:
        """Above the limit, different ones are drawn, the same for the same seed."""
        drawn = list(orderings_of(8, limit=10, seed=1))
        assert len(set(drawn)) == 10
        assert drawn == list(orderings_of(8, limit=10, seed=1))
        assert drawn != list(orderings_of(8, limit=10, seed=2))


@pytest.mark.django_db(transaction=True)
class TestSandbox:
    """``checkout_sandbox``."""

    @pytest.mark.spec("EVT-03", "EVT-05", "STA-06")
    def test_a_checkout_from_form_to_refund(
        self, checkout_sandbox: CheckoutSandbox, live_server: Any, granting: list[str]
    ) -> None:
        """With ``live_server`` the shop hears of what happens, over real sockets."""
        checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
        checkout_sandbox.pay(checkout.order_id)
        flows.run_due()
        assert_granted(checkout)
        checkout_sandbox.refund(checkout.order_id)
        flows.run_due()
        assert_revoked(checkout)
        assert granting == [checkout.reference]
        assert OutboxMessage.objects.filter(signal=checkout_reversed.name).count() == 1

    def test_without_a_server_no_notification_is_sent(self, checkout_sandbox: CheckoutSandbox) -> None:
        """The list still shows the payment."""
        checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
        checkout_sandbox.payments.pay(checkout.order_id)
        assert checkout_sandbox.wait_idle()
        assert not Notification.objects.exists()
        flows.sync.sync_transactions()
        flows.run_due()
        assert_granted(checkout)

    @pytest.mark.spec("STA-06", "STA-07", "EVT-04", "EVT-05", "ORD-46", "ORD-47", "RFD-01")
    def test_refunds_in_parts_and_renewals(self, checkout_sandbox: CheckoutSandbox, live_server: Any) -> None:
        """Two parts, a renewal and its chargeback, one call each; the shop has been notified when it returns."""
        checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
        assert checkout_sandbox.pay(checkout.order_id, recurring=True) == "paid"
        checkout_sandbox.refund(checkout.order_id, "4.00", reason="One of two hats")
        checkout_sandbox.refund(checkout.order_id, Decimal("5.99"))
        renewal = checkout_sandbox.renew(checkout.order_id)
        checkout_sandbox.chargeback(renewal)
        events = [
            "payment.success",
            "payment.refund",
            "payment.refund",
            "payment.success",
            "payment.chargeback",
        ]
        assert notified(checkout_sandbox) == [(event, 200) for event in events]
        order = checkout_sandbox.ledger.find(checkout.order_id)
        assert order is not None and order.refunded_amount == Decimal("9.99")
        first, second = (Order.objects.get(order_id=each) for each in (checkout.order_id, renewal))
        assert (second.status, second.recurring) == ("chargeback", True)
        assert second.recurring_id == first.recurring_id != ""

    @pytest.mark.spec("STA-04", "STA-05", "STA-08", "EVT-06")
    def test_declined_and_cancelled(self, checkout_sandbox: CheckoutSandbox, live_server: Any) -> None:
        """A declined payment, a cancelled one, and one that was cancelled after it."""
        orders = [flows.create_checkout(amount=Decimal(1), currency="USD").order_id for _ in range(3)]
        checkout_sandbox.decline(orders[0])
        checkout_sandbox.cancel(orders[1])
        checkout_sandbox.pay(orders[2])
        checkout_sandbox.cancel(orders[2], after_payment=True)
        events = ["payment.cancel", "payment.cancel", "payment.success", "payment.cancel"]
        assert notified(checkout_sandbox) == [(event, 200) for event in events]
        found = dict(Order.objects.values_list("order_id", "status"))
        assert [found[order_id] for order_id in orders] == ["rejected", "canceled", "canceled"]

    def test_a_real_secret_never_reaches_it(self, settings: Any, request: pytest.FixtureRequest) -> None:
        """A project's own secret is replaced, and so are addresses of its own."""
        real = {
            "PROJECT_ID": "p-1",
            "SECRET_KEY": "the-secret-of-a-real-project",
            "CHECKOUT_URL": "https://service.invalid",
        }
        settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": {"default": real}}
        sandbox = request.getfixturevalue("checkout_sandbox")
        (project,) = sandbox.projects.all()
        assert project.secret_key.startswith("sandbox_")
        assert flows.create_checkout(amount=Decimal(1), currency="USD").payment_form_url
