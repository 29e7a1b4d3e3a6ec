"""The mixins for Django's own runner: what the fixtures do, and the settings are as before after each test."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.test import LiveServerTestCase, TestCase, TransactionTestCase

from checkout_integration import flows
from checkout_integration.flows.database import DatabaseClock
from checkout_integration.models import Notification
from checkout_integration.signals import checkout_paid, checkout_reversed
from checkout_integration.testing.cases import CheckoutSandboxMixin, CheckoutTestMixin
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.interruption import interrupted_receivers
from checkout_integration.testing.payloads import NotificationDocumentFactory
from tests import settings as written
from tests.support.flows.shop import Listening, disown, own, owned


class Granting(CheckoutTestMixin):
    """Receivers that grant and revoke, for the length of a test; after it, nothing is changed any more."""

    def setUp(self) -> None:
        """Connect them."""
        self.addCleanup(self.check_restored, DatabaseClock.follows_host)  # runs last
        super().setUp()
        listening = Listening()
        self.addCleanup(listening.end)
        listening.connect(checkout_paid, own, "own")
        listening.connect(checkout_reversed, disown, "disown", undoes="own")

    def check_restored(self, followed: bool) -> None:
        """Compare the settings and the clock with those of before."""
        assert settings.CHECKOUT_INTEGRATION is written.CHECKOUT_INTEGRATION
        assert DatabaseClock.follows_host is followed


class DeliveryTests(Granting, TestCase):
    """`CheckoutTestMixin` in a `TestCase`."""

    def test_a_payment_is_granted_and_revoked(self) -> None:
        """With each assertion of the kit as a method."""
        checkout = CheckoutFactory.create()
        self.assertNotGranted(checkout)
        self.assertAcknowledged(self.checkout_deliver(order=order_document_for(checkout)))
        self.assertGranted(checkout)
        assert owned() == 1
        back = order_document_for(checkout, status="refunded")
        self.checkout_deliver(event="payment.refund", order=back)
        self.assertRevoked(checkout)
        assert owned() == 0

    def test_a_payment_of_another_amount_is_in_review(self) -> None:
        """And nothing is granted."""
        checkout = CheckoutFactory.create()
        self.checkout_deliver(order=order_document_for(checkout, amount=Decimal("0.01")))
        self.assertInReview(checkout.orders.get(), "amount")
        with self.assertRaisesMessage(AssertionError, "The checkout is review"):
            self.assertGranted(checkout)

    def test_every_order_of_arrival_ends_alike(self) -> None:
        """Nothing is granted once all has come."""
        checkout = CheckoutFactory.create()
        back = order_document_for(checkout, status="refunded")
        documents = [
            NotificationDocumentFactory(object=order_document_for(checkout)),
            NotificationDocumentFactory(object=back, event="payment.refund"),
        ]
        assert set(self.checkout_orderings(documents, owned).values()) == {0}
        assert self.checkout_orderings.assert_same(documents, owned, at_most=1) == 0

    def test_an_end_that_depends_on_the_order_of_arrival_is_named(self) -> None:
        """With the events, for the end of each."""
        documents = [
            NotificationDocumentFactory(object=order_document_for(CheckoutFactory.create())) for _ in range(2)
        ]
        first = documents[0]["object"]["id"]
        seen: Any = lambda: Notification.objects.earliest("pk").object_id == first  # noqa: E731
        with self.assertRaisesMessage(AssertionError, "The end depends on the order of arrival: True after"):
            self.checkout_orderings.assert_same(documents, seen, at_most=1)

    def test_goods_that_are_granted_twice_are_named(self) -> None:
        """With the events after which there were too many."""
        documents = [
            NotificationDocumentFactory(object=order_document_for(CheckoutFactory.create())) for _ in range(2)
        ]
        message = "2 granted, which is more than 1: payment.success, payment.success, or again."
        with self.assertRaisesMessage(AssertionError, message):
            self.checkout_orderings.assert_same(documents, owned, at_most=1)


class InterruptionTests(Granting, TransactionTestCase):
    """`interrupted_receivers`."""

    def test_what_a_receiver_wrote_is_rolled_back_and_written_again(self) -> None:
        """The first attempt leaves nothing, and the second one is due at once."""
        checkout = CheckoutFactory.create()
        with interrupted_receivers():
            self.checkout_deliver(order=order_document_for(checkout))
            assert owned() == 0
        flows.run_due()
        self.assertGranted(checkout)
        assert owned() == 1

    def test_a_block_without_a_receiver_shows_nothing(self) -> None:
        """So it fails."""
        with self.assertRaisesMessage(AssertionError, "No receiver came to its end"), interrupted_receivers():
            flows.run_due()


class SandboxTests(Granting, CheckoutSandboxMixin, LiveServerTestCase):
    """`CheckoutSandboxMixin` with a server."""

    def test_from_the_form_to_the_chargeback_of_a_renewal(self) -> None:
        """Each act notifies the shop."""
        checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
        assert self.checkout_sandbox.pay(checkout.order_id, recurring=True) == "paid"
        renewal = self.checkout_sandbox.renew(checkout.order_id)
        flows.run_due()
        self.assertGranted(checkout)
        assert owned() == 2
        self.checkout_sandbox.chargeback(renewal)
        flows.run_due()
        assert list(Group.objects.values_list("name", flat=True)) == [f"goods of {checkout.order_id}"]


class ListTests(CheckoutSandboxMixin, TransactionTestCase):
    """`CheckoutSandboxMixin` without a server."""

    def test_nobody_is_notified(self) -> None:
        """The list shows the payment."""
        checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
        self.checkout_sandbox.pay(checkout.order_id)
        assert not Notification.objects.exists()
        flows.sync.sync_transactions()
        checkout.refresh_from_db()
        assert checkout.status == "paid"
