"""The test kit for Django's own runner: mixins beside the fixtures of pytest, with the same names and abilities."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from checkout_integration.testing import assertions
from checkout_integration.testing.delivery import Deliver, delivering
from checkout_integration.testing.orderings import Orderings
from checkout_integration.testing.service import CheckoutSandbox, running_sandbox
from checkout_integration.testing.surroundings import CaseSettings

if TYPE_CHECKING:
    from django.test import SimpleTestCase as Case
else:
    Case = object

__all__ = [
    "CheckoutSandboxMixin",
    "CheckoutTestMixin",
]


class CheckoutTestMixin(Case):
    """Notifications for a test case: ``class GemsTests(CheckoutTestMixin, TestCase)``.

    The settings that it changes are as before after each test.
    """

    assertGranted = staticmethod(assertions.assert_granted)
    assertNotGranted = staticmethod(assertions.assert_not_granted)
    assertRevoked = staticmethod(assertions.assert_revoked)
    assertInReview = staticmethod(assertions.assert_in_review)
    assertAcknowledged = staticmethod(assertions.assert_acknowledged)

    @cached_property
    def checkout_deliver(self) -> Deliver:
        """As the fixture `checkout_deliver`: called, it delivers a notification, applies it, and runs receivers."""
        return self.enterContext(delivering(CaseSettings(self)))

    @cached_property
    def checkout_orderings(self) -> Orderings:
        """As the fixture `checkout_orderings`: delivers notifications in every order of arrival."""
        return Orderings(self.checkout_deliver)


class CheckoutSandboxMixin(CheckoutTestMixin):
    """A sandbox for each test, in ``checkout_sandbox``: ``class ShopTests(CheckoutSandboxMixin, LiveServerTestCase)``.

    It is as the fixture `checkout_sandbox`. With ``LiveServerTestCase`` the shop gets its notifications; with
    ``TransactionTestCase`` nobody does. ``TestCase`` will not do: it runs inside a transaction, where nothing can be sold.
    """

    checkout_sandbox: CheckoutSandbox

    def setUp(self) -> None:
        """Start the sandbox, and point ``CHECKOUT_INTEGRATION`` at it."""
        super().setUp()
        shop: str = getattr(self, "live_server_url", "")
        self.checkout_sandbox = self.enterContext(running_sandbox(CaseSettings(self), shop))
