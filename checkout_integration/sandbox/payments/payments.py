"""Every transition of an order, with its notification to the merchant (chapter States and transitions)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypedDict, Unpack

from checkout_integration.protocol.vocabulary import Event, OrderStatus
from checkout_integration.sandbox.notify.user_validation import Consent, UserValidation
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.orders.payment_methods import Card, PaymentMethod
from checkout_integration.sandbox.orders.tax import with_tax
from checkout_integration.sandbox.payments.refunds import Refunds
from checkout_integration.sandbox.payments.renewals import Renewals, start_agreement
from checkout_integration.sandbox.wire.errors import Case, RefusedError


class Outcome(StrEnum):
    """The result of an attempt to pay."""

    PAID = "paid"
    DECLINED = "declined"
    REFUSED = "refused"


_REFUSALS: Final = {
    Consent.DENIED: ("20", "The seller did not approve this customer"),
    Consent.FAILED: ("21", "The seller could not approve this customer"),
    Consent.UNANSWERED: ("22", "The seller did not answer in time"),
}


class PaymentDetails(TypedDict, total=False):
    """The customer's input besides the method: fields of the order, `saved` and `recurring`.

    `saved` saves the method for next time (MTH-06); `recurring` agrees to renewals (ORD-46).
    """

    saved: bool
    recurring: bool
    notify_sale: bool
    notify_new_region: bool
    notify_new_region_email: str
    receipt_email: str
    receipt_phone: str
    billing_country: str
    billing_state: str
    billing_zip: str


@dataclass(kw_only=True)
class Payments(Refunds, Renewals):
    """The transitions of orders; each change and its notification are one transaction."""

    approval: UserValidation

    def pay(
        self,
        order_id: str,
        method: PaymentMethod | None = None,
        *,
        approved: bool = False,
        **details: Unpack[PaymentDetails],
    ) -> Outcome:
        """Pay the order: user.validate first in pre-approval mode, then the decision of bank or wallet.

        Args:
            order_id: an order in `created`.
            method: the payment method; a card by default.
            approved: the merchant has already approved the payment.
            **details: see `PaymentDetails`.

        Raises:
            RefusedError: 404 no such order, 409 not in `created` or no renewals with this method, 410 the form has expired.
        """
        method = method or Card()
        if not approved and self.ask(order_id, **details) is not Consent.GIVEN:
            return Outcome.REFUSED
        # RACE: user.validate ran outside the transaction, so the order is read again inside it.
        with self.transaction():
            order = _paid_by(self.payable_order(order_id), method, details)
            decline = method.decline()
            if decline is None:
                self.change(self.processed(order), Event.PAYMENT_SUCCESS)
            else:
                self.change(self.rejected(order, *decline), Event.PAYMENT_CANCEL)
        return Outcome.PAID if decline is None else Outcome.DECLINED

    def ask(self, order_id: str, **details: Unpack[PaymentDetails]) -> Consent:
        """Ask the merchant in pre-approval mode whether the customer may pay (EVT-02); outside any transaction.

        By the specification a refusal cancels the payment; deployed services leave the order open.

        Raises:
            RefusedError: 404 no such order, 409 not in `created`, 410 the form has expired.
        """
        consent = self.approval.ask(_agreed_by(self.payable_order(order_id), details))
        if consent is not Consent.GIVEN and self.profile.refusal_cancels:
            self._cancel_refused(order_id, consent)
        return consent

    def _cancel_refused(self, order_id: str, consent: Consent) -> None:
        # RACE: user.validate ran outside the transaction, and the order may have ended meanwhile.
        with self.transaction():
            order = self.order(order_id)
            if order.status == OrderStatus.CREATED:
                self._cancel(order, *_REFUSALS[consent])

    def _cancel(self, order: Order, code: str, reason: str) -> None:
        canceled = replace(
            order,
            status=OrderStatus.CANCELED,
            canceled=True,
            canceled_at=self.end_of(order),
            cancellation={"code": code, "reason": reason},
        )
        self.change(canceled, Event.PAYMENT_CANCEL)

    def decline(self, order_id: str) -> None:
        """Reject the payment, as the payment system does (STA-05)."""
        with self.transaction():
            order = self.payable_order(order_id)
            self.change(self.rejected(order, "05", "Do not honour"), Event.PAYMENT_CANCEL)

    def cancel(self, order_id: str, *, after_payment: bool = False) -> None:
        """Cancel an order in `created` (STA-04), or, with `after_payment`, one already paid."""
        with self.transaction():
            order = self.order(order_id)
            if not (after_payment and order.status == OrderStatus.PROCESSED):
                order = self.payable_order(order_id, may_be_expired=True)
            self._cancel(order, "01", "Canceled by the customer")

    def expire(self, order_id: str) -> None:
        """Expire the form of an order; the order stays `created`, and no notification is sent."""
        with self.transaction():
            self.ledger.save(replace(self.payable_order(order_id), expired=True))

    def resend(self, order_id: str, event: Event | None = None) -> None:
        """Queue the newest notification of the order, or of one event of it, again with the same id."""
        with self.transaction():
            order = self.order(order_id)
            events = [notification.event for notification in self.outbox.of_order(order_id)]
            if not events or (event is not None and event not in events):
                raise RefusedError(409, Case.NOTHING_TO_RESEND, "nothing to send again")
            self.outbox.enqueue_again(order, event or events[-1], self.now())


def _agreed_by(order: Order, details: PaymentDetails) -> Order:
    """Return the order with the customer's consent to a newsletter, which user.validate carries (USR-13, USR-14)."""
    consent = details.get("notify_new_region", False)
    email = details.get("notify_new_region_email", "") if consent else ""
    user = {**order.user, "notify_new_region": consent, "notify_new_region_email": email}
    return replace(order, user=user)


def _paid_by(order: Order, method: PaymentMethod, details: PaymentDetails) -> Order:
    """Return the order with the customer's input."""
    country = details.get("billing_country", "")
    order = replace(
        _agreed_by(order, details),
        method=method.method() | {"saved": details.get("saved", False)},
        agreement_accepted=True,
        notify_sale=details.get("notify_sale", False),
        receipt_email=details.get("receipt_email", ""),
        receipt_phone=details.get("receipt_phone", ""),
        billing_country=country,
        billing_state=details.get("billing_state", ""),
        billing_zip=details.get("billing_zip", ""),
    )
    order = with_tax(order, country) if country else order
    return start_agreement(order) if details.get("recurring") else order
