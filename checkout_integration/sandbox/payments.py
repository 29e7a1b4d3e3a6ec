"""What happens to an order: every transition, with its message to the merchant (chapter States and transitions)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from enum import StrEnum
from typing import Final, TypedDict, Unpack

from checkout_integration.protocol.vocabulary import Event, OrderStatus
from checkout_integration.sandbox.approval import Approval, Consent
from checkout_integration.sandbox.cards import Card
from checkout_integration.sandbox.error_codes import Case
from checkout_integration.sandbox.failure import RefusedError
from checkout_integration.sandbox.methods import PaymentMethod
from checkout_integration.sandbox.moves import Moves
from checkout_integration.sandbox.order import Order
from checkout_integration.sandbox.renewals import Renewals, agree
from checkout_integration.sandbox.reversals import Reversals
from checkout_integration.sandbox.tax import with_tax


class Outcome(StrEnum):
    """How an attempt to pay ended."""

    PAID = "paid"
    DECLINED = "declined"
    REFUSED = "refused"


_REFUSALS: Final = {
    Consent.DENIED: ("20", "The seller did not approve this customer"),
    Consent.FAILED: ("21", "The seller could not approve this customer"),
    Consent.UNANSWERED: ("22", "The seller did not answer in time"),
}


class PaymentDetails(TypedDict, total=False):
    """What the customer says beside the method: fields of the order, and `saved` and `recurring`.

    `saved` keeps the method for next time (MTH-06); `recurring` agrees to renewals (ORD-46).
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


class Payments:
    """Moves orders from state to state; each move and its message are one transaction."""

    def __init__(self, moves: Moves, approval: Approval, renewals: Renewals) -> None:
        """Work on the orders of `moves`."""
        self._moves = moves
        self._approval = approval
        self._reversals = Reversals(moves)
        self._renewals = renewals

    def pay(
        self,
        order_id: str,
        method: PaymentMethod | None = None,
        *,
        approved: bool = False,
        **details: Unpack[PaymentDetails],
    ) -> Outcome:
        """Let the customer pay: user.validate first in pre-approval mode, then the answer of bank or wallet.

        Args:
            order_id: an order in `created`.
            method: what is paid with; a card when it is left out.
            approved: the merchant was asked before.
            **details: see `PaymentDetails`.

        Raises:
            RefusedError: 404 no such order, 409 not in `created` or no renewals with this method, 410 the form has expired.
        """
        method = method or Card()
        if not approved and self.ask(order_id, **details) is not Consent.GIVEN:
            return Outcome.REFUSED
        # RACE: the merchant was asked outside the transaction, so the order is read again inside it.
        with self._moves.transaction():
            order = _paid_by(self._moves.open_order(order_id), method, details)
            decline = method.decline()
            if decline is None:
                self._moves.change(self._moves.processed(order), Event.PAYMENT_SUCCESS)
            else:
                self._moves.change(self._moves.rejected(order, *decline), Event.PAYMENT_CANCEL)
        return Outcome.PAID if decline is None else Outcome.DECLINED

    def ask(self, order_id: str, **details: Unpack[PaymentDetails]) -> Consent:
        """Ask the merchant in pre-approval mode whether the customer may pay (EVT-02); outside any transaction.

        By the specification a refusal cancels the payment; deployed services leave the order open.

        Raises:
            RefusedError: 404 no such order, 409 not in `created`, 410 the form has expired.
        """
        consent = self._approval.ask(_agreed_by(self._moves.open_order(order_id), details))
        if consent is not Consent.GIVEN and self._moves.profile.refusal_cancels:
            self._cancel_refused(order_id, consent)
        return consent

    def _cancel_refused(self, order_id: str, consent: Consent) -> None:
        # RACE: the merchant was asked outside the transaction, and the order may have ended meanwhile.
        with self._moves.transaction():
            order = self._moves.order(order_id)
            if order.status == OrderStatus.CREATED:
                self._cancel(order, *_REFUSALS[consent])

    def _cancel(self, order: Order, code: str, reason: str) -> None:
        canceled = replace(
            order,
            status=OrderStatus.CANCELED,
            canceled=True,
            canceled_at=self._moves.end_of(order),
            cancellation={"code": code, "reason": reason},
        )
        self._moves.change(canceled, Event.PAYMENT_CANCEL)

    def decline(self, order_id: str) -> None:
        """Let the payment system reject the payment (STA-05)."""
        with self._moves.transaction():
            order = self._moves.open_order(order_id)
            self._moves.change(self._moves.rejected(order, "05", "Do not honour"), Event.PAYMENT_CANCEL)

    def cancel(self, order_id: str, *, after_payment: bool = False) -> None:
        """Cancel an order in `created` (STA-04), or, with `after_payment`, one already paid."""
        with self._moves.transaction():
            order = self._moves.order(order_id)
            if not (after_payment and order.status == OrderStatus.PROCESSED):
                order = self._moves.open_order(order_id, may_be_expired=True)
            self._cancel(order, "01", "Canceled by the customer")

    def refund(self, order_id: str, *, amount: Decimal | None = None, reason: str = "") -> None:
        """Refund a processed order: `amount`, or what is left of the charge; several parts are possible (STA-06)."""
        self._reversals.refund(order_id, amount, reason or "Requested")

    def chargeback(self, order_id: str) -> None:
        """Let the payment system take a processed payment back (STA-07)."""
        self._reversals.chargeback(order_id)

    def renew(self, order_id: str, *, declined: bool = False) -> str:
        """Take the next payment of a recurring agreement; return the identifier of the new order (ORD-46)."""
        return self._renewals.renew(order_id, declined=declined)

    def expire(self, order_id: str) -> None:
        """Let the form of an order run out; the order stays `created`, and no message is sent."""
        with self._moves.transaction():
            self._moves.ledger.save(replace(self._moves.open_order(order_id), expired=True))

    def resend(self, order_id: str, event: Event | None = None) -> None:
        """Queue the newest message of the order, or of one event of it, once more, with the same id."""
        with self._moves.transaction():
            order = self._moves.order(order_id)
            events = [each.event for each in self._moves.outgoing.of_order(order_id)]
            if not events or (event is not None and event not in events):
                raise RefusedError(409, Case.NOTHING_TO_RESEND, "nothing to send again")
            self._moves.outgoing.enqueue_again(order, event or events[-1], self._moves.now())

    def is_expired(self, order: Order) -> bool:
        """Whether the order can no longer be paid because its form has run out."""
        return self._moves.is_expired(order)


def _agreed_by(order: Order, details: PaymentDetails) -> Order:
    """Return the order with the customer's consent to a newsletter, which user.validate carries (USR-13, USR-14)."""
    consent = details.get("notify_new_region", False)
    email = details.get("notify_new_region_email", "") if consent else ""
    user = {**order.user, "notify_new_region": consent, "notify_new_region_email": email}
    return replace(order, user=user)


def _paid_by(order: Order, method: PaymentMethod, details: PaymentDetails) -> Order:
    """Return the order with what the customer has said."""
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
    return agree(order) if details.get("recurring") else order
