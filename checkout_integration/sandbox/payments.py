"""What happens to an order: every transition, with its message to the merchant (chapter States and transitions)."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final

from checkout_integration.protocol.vocabulary import Event, OrderStatus
from checkout_integration.sandbox.approval import Approval, Consent
from checkout_integration.sandbox.cards import Card
from checkout_integration.sandbox.clock import VirtualClock
from checkout_integration.sandbox.currencies import display_money, round_money, smallest_unit
from checkout_integration.sandbox.failure import RefusedError
from checkout_integration.sandbox.ledger import Ledger
from checkout_integration.sandbox.methods import PaymentMethod
from checkout_integration.sandbox.order import Order
from checkout_integration.sandbox.outgoing import Outgoing
from checkout_integration.sandbox.profile import Profile
from checkout_integration.sandbox.store import Store
from checkout_integration.sandbox.tax import with_tax

FORM_LIFETIME: Final = timedelta(minutes=30)  # field notes


class Outcome(StrEnum):
    """How an attempt to pay ended."""

    PAID = "paid"
    DECLINED = "declined"
    REFUSED = "refused"


class Payments:
    """Moves orders from state to state; each move and its message are one transaction."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        outgoing: Outgoing,
        approval: Approval,
        clock: VirtualClock,
        profile: Profile,
        wake: Callable[[], None],
    ) -> None:
        """Work on the sandbox's parts; `wake` is called after a message was queued."""
        self._store = store
        self._ledger = ledger
        self._outgoing = outgoing
        self._approval = approval
        self._clock = clock
        self._profile = profile
        self._wake = wake
        self.public_url = ""

    def pay(
        self,
        order_id: str,
        method: PaymentMethod | None = None,
        *,
        approved: bool = False,
        saved: bool = False,
        notify_sale: bool = False,
        receipt_email: str = "",
        billing_country: str = "",
        billing_state: str = "",
        billing_zip: str = "",
    ) -> Outcome:
        """Let the customer pay: user.validate first in pre-approval mode, then the answer of bank or wallet.

        Without a method it is the card that pays. `approved` says that the merchant was asked before.

        Raises:
            RefusedError: 404 no such order, 409 not in `created`, 410 the form has expired.
        """
        method = method or Card()
        if not approved and self.ask(order_id) is not Consent.GIVEN:
            return Outcome.REFUSED
        # RACE: the merchant was asked outside the transaction, so the order is read again inside it.
        with self._store.transaction():
            order = replace(
                self._open_order(order_id),
                receipt_email=receipt_email,
                billing_country=billing_country,
                billing_state=billing_state,
                billing_zip=billing_zip,
                agreement_accepted=True,
                method=method.method() | {"saved": saved},
                notify_sale=notify_sale,
            )
            if billing_country:
                order = with_tax(order, billing_country)
            decline = method.decline()
            if decline is None:
                self._change(self._processed(order), Event.PAYMENT_SUCCESS)
            else:
                self._change(self._rejected(order, *decline), Event.PAYMENT_CANCEL)
        self._wake()
        return Outcome.PAID if decline is None else Outcome.DECLINED

    def ask(self, order_id: str) -> Consent:
        """Ask the merchant in pre-approval mode whether the customer may pay (EVT-02); outside any transaction.

        Raises:
            RefusedError: 404 no such order, 409 not in `created`, 410 the form has expired.
        """
        return self._approval.ask(self._open_order(order_id))

    def decline(self, order_id: str) -> None:
        """Let the payment system reject the payment (STA-05)."""
        with self._store.transaction():
            self._change(
                self._rejected(self._open_order(order_id), "05", "Do not honour"), Event.PAYMENT_CANCEL
            )
        self._wake()

    def cancel(self, order_id: str, *, after_payment: bool = False) -> None:
        """Cancel an order in `created` (STA-04), or, when told so, one already paid (field notes)."""
        with self._store.transaction():
            order = self._order(order_id)
            if not (after_payment and order.status == OrderStatus.PROCESSED):
                order = self._open_order(order_id, may_be_expired=True)
            canceled = replace(
                order,
                status=OrderStatus.CANCELED,
                canceled=True,
                canceled_at=self._end_of(order),
                cancellation={"code": "01", "reason": "Canceled by the customer"},
            )
            self._change(canceled, Event.PAYMENT_CANCEL)
        self._wake()

    def refund(self, order_id: str, *, amount: Decimal | None = None, reason: str = "") -> None:
        """Refund a processed order, in full unless `amount` says less (STA-06)."""
        self._reverse(order_id, OrderStatus.REFUNDED, Event.PAYMENT_REFUND, amount, reason or "Requested")

    def chargeback(self, order_id: str) -> None:
        """Let the payment system take a processed payment back (STA-07)."""
        self._reverse(order_id, OrderStatus.CHARGEBACK, Event.PAYMENT_CHARGEBACK, None, "Chargeback")

    def expire(self, order_id: str) -> None:
        """Let the form of an order run out; the order stays `created`, and nobody is told (field notes)."""
        with self._store.transaction():
            self._ledger.save(replace(self._open_order(order_id), expired=True))

    def resend(self, order_id: str, event: Event | None = None) -> None:
        """Queue the newest message of the order, or of one event of it, once more, with the same id."""
        with self._store.transaction():
            order = self._order(order_id)
            events = [each.event for each in self._outgoing.of_order(order_id)]
            if not events or (event is not None and event not in events):
                raise RefusedError(409, "fm000021", "nothing to send again")
            self._outgoing.enqueue(order, event or events[-1], self._now())
        self._wake()

    def is_expired(self, order: Order) -> bool:
        """Whether the order can no longer be paid because its form has run out."""
        late = self._clock.now() > order.created_at + FORM_LIFETIME
        return order.status == OrderStatus.CREATED and (order.expired or late)

    def _reverse(
        self, order_id: str, status: OrderStatus, event: Event, amount: Decimal | None, reason: str
    ) -> None:
        with self._store.transaction():
            order = self._order(order_id)
            if order.status != OrderStatus.PROCESSED:
                raise RefusedError(409, "fm000020", "the order is not processed")
            if status == OrderStatus.REFUNDED and not (order.method or {}).get("refund_allowed", True):
                raise RefusedError(409, "fm000023", "the payment method allows no refund")
            _check_refund(order, amount)
            reversed_order = self._reversed(order, status, amount, reason)
            self._change(reversed_order, event)
            if self._profile.reversal_is_second_item:
                # WHY: a second list item with its own id, linked by nothing but transaction and metadata.
                self._ledger.add(
                    replace(
                        reversed_order,
                        id=str(uuid.uuid4()),
                        created_at=self._end_of(order),
                        reversal=True,
                        webhook_url="",
                    )
                )
        self._wake()

    def _reversed(self, order: Order, status: OrderStatus, amount: Decimal | None, reason: str) -> Order:
        number = f"{order.receipt_number}-R"
        refund = {
            "amount": order.charge_amount if amount is None else amount,
            "currency": order.charge_currency,
            "reason": reason,
            "code": "01" if status == OrderStatus.REFUNDED else "02",
            "receipt_number": number,
            "receipt_url": order.receipt_url,
        }
        return replace(order, status=status, refunded=True, refunded_at=self._end_of(order), refund=refund)

    def _processed(self, order: Order) -> Order:
        receipt_id = uuid.uuid4().hex
        return replace(
            order,
            status=OrderStatus.PROCESSED,
            paid=True,
            transaction=uuid.uuid4().hex[:24],
            receipt_id=receipt_id,
            receipt_number=f"SBX-{receipt_id[:8].upper()}",
            receipt_url=f"{self.public_url}/receipt/{order.id}/{receipt_id}",
        )

    def _rejected(self, order: Order, code: str, reason: str) -> Order:
        """A declined payment: status rejected, `canceled` false, in the field with a cancellation all the same."""
        cancellation = {"code": code, "reason": reason} if self._profile.decline_has_cancellation else None
        return replace(
            order,
            status=OrderStatus.REJECTED,
            cancellation=cancellation,
            transaction=uuid.uuid4().hex[:24],
        )

    def _change(self, order: Order, event: Event) -> None:
        self._ledger.save(order)
        self._outgoing.enqueue(order, event, self._now())

    def _order(self, order_id: str) -> Order:
        order = self._ledger.find(order_id)
        if order is None or order.reversal:
            raise RefusedError(404, "fm000004", "order not found")
        return order

    def _open_order(self, order_id: str, *, may_be_expired: bool = False) -> Order:
        order = self._order(order_id)
        if order.status != OrderStatus.CREATED:
            raise RefusedError(409, "fm000020", "the order is no longer open", f"status: {order.status}")
        if self.is_expired(order) and not may_be_expired:
            raise RefusedError(410, "fm000022", "the form of the order has expired")
        return order

    def _end_of(self, order: Order) -> datetime:
        """Return the time at which an order ends: never before it was made, wherever the clock was turned back to."""
        return max(self._now(), order.created_at)

    def _now(self) -> datetime:
        now = self._clock.now()
        return now.replace(microsecond=0) if self._profile.whole_seconds else now


def _check_refund(order: Order, amount: Decimal | None) -> None:
    """Refuse a part that cannot be paid back: positive, two decimals (RFD-01), not more than was charged."""
    if amount is None:
        return
    currency = order.charge_currency
    if not 0 < amount <= order.charge_amount:
        wanted = f"above zero, {display_money(order.charge_amount, currency)} at most"
    elif round_money(amount, currency) != amount:
        wanted = f"no parts of {display_money(smallest_unit(currency), currency)}"
    else:
        return
    raise RefusedError(400, "fm000002", "this amount cannot be refunded", f"amount: {wanted}")
