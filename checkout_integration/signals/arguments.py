"""The named arguments of each signal's receivers, as types.

A receiver takes those that it needs by name, and the rest as ``**kwargs``. ``Unpack`` types the rest, too::

    def grant_items(checkout: Checkout | None, **kwargs: Unpack[GrantArguments]) -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    Protocol,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from django.dispatch import Signal

if TYPE_CHECKING:
    from checkout_integration.models import (
        Checkout,
        Grant,
        Notification,
        Order,
        ReceiverRun,
        SyncRun,
        Transition,
        ValidationDecision,
    )
    from checkout_integration.protocol.order import Refund

Origin: TypeAlias = Literal["notification", "sync", "creation", "staff", "time"]
R = TypeVar("R", bound=Callable[..., Any])


class NamedSignal(Signal):
    """One of this app's signals, by its name."""

    name: str


class RunArguments(TypedDict):
    """Arguments of every receiver."""

    sender: type[Order]
    """The model `Order`, whatever the signal."""
    signal: NamedSignal
    """The signal itself, for a receiver of several; ``signal.name`` is its name."""
    idempotency_key: str
    """The key of this event: the same at each attempt, and for each receiver. Pass it to other systems."""
    attempt: int
    """The number of this attempt, from 1."""
    source: Origin
    """The source of the event: a notification, the sync, the response when the order was created, a decision of staff, or
    the time that has passed."""


class OrderArguments(RunArguments):
    """Arguments of receivers of signals about an order."""

    order: Order
    """The order. With a grant, the one that pays for it when the receiver runs, or that paid last."""
    checkout: Checkout | None
    """The checkout that the order is bound to; None while it is bound to none.

    ``checkout.owner`` gets the goods, and loses them when the payment is reversed; ``checkout.user`` has paid, and gets the
    money back. They differ for a gift, whose owner is ``checkout.recipient``.
    """
    refund: Refund | None
    """The refund in the order's document, no row; its amount is what was refunded in all, ``order.refund_amount``."""
    verdict: str
    """Whether the payment is one of this shop's: pending, verified, review, accepted or historic."""
    previous_status: str
    """The order's status before this event; "" for a new order, and where the event was another order's."""
    live: bool
    """Whether it is a real payment; False for a test."""
    partial: bool
    """Whether less of this order than its charge was refunded."""
    renewal: bool
    """Whether the grant is that of a renewal; False without a grant. ``order.recurring_id`` names the agreement."""


class PaymentArguments(OrderArguments):
    """Arguments of ``payment_success``, ``payment_refund``, ``payment_chargeback`` and ``payment_cancel``."""

    grant: None
    """None: these are the service's facts, whether or not goods are granted."""
    transition: Transition | None
    """The change of this order's status; None where it stayed as it was, or the event was another order's."""


class GrantArguments(OrderArguments):
    """Arguments of ``checkout_paid`` and ``checkout_reversed``."""

    grant: Grant
    """The grant that was opened or closed. Record goods under ``grant.key``, which both signals of a pair share."""
    transition: Transition | None
    """The change of this order's status; None where it stayed as it was, or the event was another order's."""


class ReviewArguments(OrderArguments):
    """Arguments of ``payment_review``."""

    grant: None
    """None."""
    transition: Transition | None
    """The change of this order's status; None where it stayed as it was, or the event was another order's."""
    reason: str
    """Why staff should review: a reason of the verdict or a kind of incident (docs/reference/words.md)."""


class ChangeArguments(OrderArguments):
    """Arguments of ``order_changed``."""

    grant: None
    """None."""
    transition: Transition
    """The change itself: from, to, cause and time."""


class AbandonedArguments(RunArguments):
    """Arguments of ``checkout_abandoned``. ``verdict``, ``previous_status``, ``partial`` and ``renewal`` say nothing yet."""

    checkout: Checkout
    """The checkout; ``checkout.user`` is the account that it is for, None for a guest."""
    form_url: str
    """The address of the hosted form, in which the customer can still pay. Send it to nobody else, and log it nowhere."""
    order: Order | None
    """Its latest order; None if the service has not shown one yet."""
    live: bool
    """Whether it is for a real payment; False for a test."""
    grant: None
    """None."""
    refund: Refund | None
    """None."""
    transition: None
    """None."""
    verdict: str
    previous_status: str
    partial: bool
    renewal: bool


class ValidationArguments(RunArguments):
    """Arguments of ``user_validated``. Arguments about an order are None, and ``verdict`` is ""."""

    decision: ValidationDecision
    """The decision: the customer, the reason, the time it took."""
    approved: bool
    """Whether the customer may pay."""
    order: None
    """None: there is no order yet."""
    checkout: None
    """None."""
    grant: None
    """None."""
    refund: None
    """None."""
    transition: None
    """None."""
    verdict: str
    """ "": there is no payment yet."""


class LifeCycleArguments(RunArguments):
    """Arguments of signals about the app's own work, such as ``notification_failed``. They are words and ids only."""

    project: str
    """The alias of the project."""


class NotificationFailedArguments(LifeCycleArguments):
    """Arguments of ``notification_failed``."""

    notification: Notification | None
    """The notification; None if its row was removed since."""
    state: Literal["failed", "quarantined"]
    """"failed": it is retried by itself; "quarantined": it waits until staff decide."""
    reason: str
    """Where our code or yours failed, or the rule that it breaks. Never its content."""
    order_id: str
    """The service's id of the order that it names; "" where it names none, or cannot be read."""


class ReceiverGivenUpArguments(LifeCycleArguments):
    """Arguments of ``receiver_given_up``."""

    run: ReceiverRun | None
    """The run, with its failed attempts; None if its row was removed since."""
    receiver: str
    """The name of the receiver."""
    failed_signal: str
    """The name of the signal whose receiver it is."""
    error: str
    """The class of the last exception."""
    order_id: str
    """The service's id of the order; "" where the signal was about none."""


class SyncFailedArguments(LifeCycleArguments):
    """Arguments of ``sync_failed``."""

    sync_run: SyncRun | None
    """The pass; None if its row was removed since."""
    lane: str
    """The lane of the transaction list."""
    state: Literal["failed", "unreachable", "abandoned"]
    """Why: it failed, the service did not respond, or its process ended or stood still."""
    first: bool
    """Whether the pass of this lane before it was complete. Of an outage with many failed passes, one is the first."""
    failure: str
    """What the pass's row says about it; "" for an abandoned one."""


class HealthChangedArguments(LifeCycleArguments):
    """Arguments of ``health_changed``. ``project`` is "" for what all projects share."""

    finding: str
    """The name of the finding (docs/health.md)."""
    title: str
    """Its name for people, in the language of LANGUAGE_CODE."""
    severity: str
    """"failing", "warning", or "ok" if it is well again."""
    previous: str
    """The severity that was last said of it."""
    text: str
    """What is the case, and what to do. There is no personal data in it."""
    link: str
    """The path of its rows in the admin; "" if there is none."""


class PaymentReceiver(Protocol):
    """A receiver of a signal about a payment."""

    def __call__(self, **arguments: Unpack[PaymentArguments]) -> object:
        """React to the payment."""


class GrantReceiver(Protocol):
    """A receiver that grants goods, or revokes them."""

    def __call__(self, **arguments: Unpack[GrantArguments]) -> object:
        """Grant goods, or revoke them."""


class ReviewReceiver(Protocol):
    """A receiver that notifies staff."""

    def __call__(self, **arguments: Unpack[ReviewArguments]) -> object:
        """Notify staff of the payment."""


class ChangeReceiver(Protocol):
    """A receiver of changes of an order's status."""

    def __call__(self, **arguments: Unpack[ChangeArguments]) -> object:
        """React to the change."""


class AbandonedReceiver(Protocol):
    """A receiver that reminds a customer."""

    def __call__(self, **arguments: Unpack[AbandonedArguments]) -> object:
        """Remind the customer."""


class ValidationReceiver(Protocol):
    """A receiver of decisions about customers."""

    def __call__(self, **arguments: Unpack[ValidationArguments]) -> object:
        """React to the decision."""


class NotificationFailedReceiver(Protocol):
    """A receiver of notifications that could not be applied."""

    def __call__(self, **arguments: Unpack[NotificationFailedArguments]) -> object:
        """Alert somebody."""


class ReceiverGivenUpReceiver(Protocol):
    """A receiver of receiver runs that were given up."""

    def __call__(self, **arguments: Unpack[ReceiverGivenUpArguments]) -> object:
        """Alert somebody."""


class HealthChangedReceiver(Protocol):
    """A receiver of what got worse, and what is well again."""

    def __call__(self, **arguments: Unpack[HealthChangedArguments]) -> object:
        """Alert somebody."""


class SyncFailedReceiver(Protocol):
    """A receiver of passes of the sync that were not complete in the end."""

    def __call__(self, **arguments: Unpack[SyncFailedArguments]) -> object:
        """Alert somebody."""


PaymentT = TypeVar("PaymentT", bound=PaymentReceiver)
GrantT = TypeVar("GrantT", bound=GrantReceiver)
ReviewT = TypeVar("ReviewT", bound=ReviewReceiver)
ChangeT = TypeVar("ChangeT", bound=ChangeReceiver)
ValidationT = TypeVar("ValidationT", bound=ValidationReceiver)
NotificationFailedT = TypeVar("NotificationFailedT", bound=NotificationFailedReceiver)
ReceiverGivenUpT = TypeVar("ReceiverGivenUpT", bound=ReceiverGivenUpReceiver)
SyncFailedT = TypeVar("SyncFailedT", bound=SyncFailedReceiver)
AbandonedT = TypeVar("AbandonedT", bound=AbandonedReceiver)
HealthChangedT = TypeVar("HealthChangedT", bound=HealthChangedReceiver)


class Connection(Generic[R]):
    """A decorator that connects receivers to one signal, and leaves their own types as they are."""

    def __init__(self, connect: Callable[[R], None]) -> None:
        self._connect = connect

    @overload
    def __call__(self: Connection[PaymentReceiver], receiver: PaymentT, /) -> PaymentT: ...

    @overload
    def __call__(self: Connection[GrantReceiver], receiver: GrantT, /) -> GrantT: ...

    @overload
    def __call__(self: Connection[ReviewReceiver], receiver: ReviewT, /) -> ReviewT: ...

    @overload
    def __call__(self: Connection[ChangeReceiver], receiver: ChangeT, /) -> ChangeT: ...

    @overload
    def __call__(self: Connection[ValidationReceiver], receiver: ValidationT, /) -> ValidationT: ...

    @overload
    def __call__(
        self: Connection[NotificationFailedReceiver], receiver: NotificationFailedT, /
    ) -> NotificationFailedT: ...

    @overload
    def __call__(
        self: Connection[ReceiverGivenUpReceiver], receiver: ReceiverGivenUpT, /
    ) -> ReceiverGivenUpT: ...

    @overload
    def __call__(self: Connection[SyncFailedReceiver], receiver: SyncFailedT, /) -> SyncFailedT: ...

    @overload
    def __call__(self: Connection[AbandonedReceiver], receiver: AbandonedT, /) -> AbandonedT: ...

    @overload
    def __call__(self: Connection[HealthChangedReceiver], receiver: HealthChangedT, /) -> HealthChangedT: ...

    def __call__(self, receiver: Any, /) -> Any:
        """Connect the receiver."""
        self._connect(receiver)
        return receiver
