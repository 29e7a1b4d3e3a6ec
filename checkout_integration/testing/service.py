"""A sandbox that replaces the service during a test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, Unpack

from django.urls import reverse

from checkout_integration.flows.inbox import apply_due
from checkout_integration.protocol.vocabulary import SANDBOX_SECRET_PREFIX
from checkout_integration.sandbox import (
    Outcome,
    PaymentDetails,
    PaymentMethod,
    Sandbox,
    SandboxProject,
    SandboxServer,
    VirtualClock,
)
from checkout_integration.testing.surroundings import following_host

__all__ = [
    "CheckoutSandbox",
    "running_sandbox",
]

ADDRESSES = ("BASE_URL", "CHECKOUT_URL", "ORDER_FORM_URL", "LIST_URL", "CLIENT_SCRIPT_URL")


class CheckoutSandbox(Sandbox):
    """The value of ``checkout_sandbox``: a sandbox with the acts of customers, banks and operators.

    Each act returns when its notification was delivered and applied, or was refused once: receivers run when the test calls
    ``flows.run_due()``. ``notifies``: whether notifications go to the shop of this test.
    """

    notifies = False

    def pay(
        self, order_id: str, method: PaymentMethod | None = None, **details: Unpack[PaymentDetails]
    ) -> Outcome:
        """Pay an order on the form.

        Args:
            order_id: ``checkout.order_id``.
            method: a ``Card``, ``Wallet`` or ``CryptoCurrency`` of the sandbox; a card that pays when it is left out.
            **details: further data of the customer; ``recurring=True`` agrees to renewals.

        Returns:
            Whether it was paid, declined, or refused by the shop's response to user.validate.

        """
        outcome = self.payments.pay(order_id, method, **details)
        self._settle()
        return outcome

    def decline(self, order_id: str) -> None:
        """Let the payment system reject the payment."""
        self.payments.decline(order_id)
        self._settle()

    def cancel(self, order_id: str, *, after_payment: bool = False) -> None:
        """Cancel an unpaid order; with ``after_payment`` one that was paid."""
        self.payments.cancel(order_id, after_payment=after_payment)
        self._settle()

    def refund(self, order_id: str, amount: Decimal | int | str | None = None, reason: str = "") -> None:
        """Refund a payment, or a part of it: call it again for a further part.

        Args:
            order_id: a paid order.
            amount: the part, in the currency of the charge; all that is left when it is left out.
            reason: why, for people.

        """
        part = None if amount is None else Decimal(amount)
        self.payments.refund(order_id, amount=part, reason=reason)
        self._settle()

    def chargeback(self, order_id: str) -> None:
        """Let the customer's bank reverse a payment."""
        self.payments.chargeback(order_id)
        self._settle()

    def renew(self, order_id: str, *, declined: bool = False) -> str:
        """Take the next payment of an agreement that ``pay(…, recurring=True)`` began.

        Args:
            order_id: any paid order of the agreement.
            declined: the bank rejects this payment.

        Returns:
            The id of the new order, which has the metadata and the ``recurring_id`` of the old one.

        """
        renewal = self.payments.renew(order_id, declined=declined)
        self._settle()
        return renewal

    def _settle(self) -> None:
        if not self.wait_idle():
            raise TimeoutError("the sandbox is still delivering after ten seconds")
        if self.notifies:
            apply_due()


@contextmanager
def running_sandbox(
    settings: Any, shop: str = "", *, profile: str = "field", clock: VirtualClock | None = None
) -> Iterator[CheckoutSandbox]:
    """Run a sandbox with the shop's projects and point the settings at it.

    Args:
        settings: pytest-django's ``settings``, which takes changes back after the test.
        shop: address of the running shop, which gets the notifications; "" sends none.
        profile: ``field`` behaves as deployed services do, ``spec`` to the letter of the specification.
        clock: the service's own time; the present, running, when it is left out.

    """
    written: Mapping[str, Any] = settings.CHECKOUT_INTEGRATION
    projects = {alias: _with_sandbox_secret(alias, own) for alias, own in written["PROJECTS"].items()}
    known = [_known_to_the_service(alias, own, shop) for alias, own in projects.items()]
    with (
        following_host(),
        CheckoutSandbox(known, profile=profile, clock=clock) as sandbox,
        SandboxServer(sandbox) as server,
    ):
        sandbox.notifies = bool(shop)
        settings.CHECKOUT_INTEGRATION = {
            **written,
            "PROJECTS": projects,
            **dict.fromkeys(ADDRESSES, server.url),
            "ORDER_FORM_URL": f"{server.url}/form",
            "CLIENT_SCRIPT_URL": f"{server.url}/client.js",
            "ACCEPT_TEST_PAYMENTS": True,
            "ALLOW_HTTP_LOOPBACK": True,
            # Not in the server's thread: it would still be at work when the test looks.
            "RUNNER": "worker",
        }
        yield sandbox


def _with_sandbox_secret(alias: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the project's settings for the sandbox: without its own addresses, and never with a real secret."""
    copied = {name: value for name, value in own.items() if name not in ADDRESSES}
    secret = copied["SECRET_KEY"]
    if not (isinstance(secret, str) and secret.startswith(SANDBOX_SECRET_PREFIX)):
        copied["SECRET_KEY"] = f"{SANDBOX_SECRET_PREFIX}secret_of_{alias}"
    return copied


def _known_to_the_service(alias: str, own: Mapping[str, Any], shop: str) -> SandboxProject:
    webhook = reverse("checkout_integration:webhook-project", args=[alias]) if shop else ""
    return SandboxProject(
        project_id=own["PROJECT_ID"], secret_key=own["SECRET_KEY"], webhook_url=f"{shop}{webhook}"
    )
