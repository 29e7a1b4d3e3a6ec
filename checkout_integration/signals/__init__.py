"""Signals whose receivers run after commit, each exactly once for its effects in this database.

Connect as to any signal of Django::

    from checkout_integration.signals import checkout_paid

    @checkout_paid.receiver()
    def grant_items(order: Order, checkout: Checkout | None, **kwargs: Any) -> None: ...

That, and ``checkout_paid.connect(grant_items)``, lets type checkers compare the arguments; Django's own
``@receiver(checkout_paid)`` connects in the same way. docs/reference/signals.md has every argument; docs/receivers.md says
who runs receivers, and what happens when one fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from checkout_integration.signals.arguments import (
    AbandonedArguments,
    AbandonedReceiver,
    ChangeArguments,
    ChangeReceiver,
    GrantArguments,
    GrantReceiver,
    HealthChangedArguments,
    HealthChangedReceiver,
    NamedSignal,
    NotificationFailedArguments,
    NotificationFailedReceiver,
    PaymentArguments,
    PaymentReceiver,
    ReceiverGivenUpArguments,
    ReceiverGivenUpReceiver,
    ReviewArguments,
    ReviewReceiver,
    SyncFailedArguments,
    SyncFailedReceiver,
    ValidationArguments,
    ValidationReceiver,
)
from checkout_integration.signals.durable import DurableSignal, RetryLater, RetryPlan, ReversalSignal

__all__ = [
    "SIGNALS",
    "AbandonedArguments",
    "ChangeArguments",
    "DurableSignal",
    "GrantArguments",
    "HealthChangedArguments",
    "NamedSignal",
    "NotificationFailedArguments",
    "PaymentArguments",
    "ReceiverGivenUpArguments",
    "RetryLater",
    "RetryPlan",
    "ReviewArguments",
    "SyncFailedArguments",
    "ValidationArguments",
    "checkout_abandoned",
    "checkout_paid",
    "checkout_reversed",
    "health_changed",
    "notification_failed",
    "order_changed",
    "payment_cancel",
    "payment_chargeback",
    "payment_refund",
    "payment_review",
    "payment_success",
    "receiver_given_up",
    "sync_failed",
    "user_validated",
]

payment_success: Final = DurableSignal[PaymentReceiver]("payment_success")
"""The service says that an order was paid: a fact, with or without a checkout, live or test.

Sent once for each order, when its success is first known, by notification or by list. Not sent if a full reversal of it is
known already. Grant nothing here: only ``checkout_paid`` says that the payment is for a checkout of this shop.

Arguments: `PaymentArguments`.
"""

payment_refund: Final = DurableSignal[PaymentReceiver]("payment_refund")
"""The service says that money was paid back by the shop. ``partial`` says whether it was less than the charge.

Sent once for each order, when its first refund is known. Further parts are not sent (docs/fulfilment.md).

Arguments: `PaymentArguments`.
"""

payment_chargeback: Final = DurableSignal[PaymentReceiver]("payment_chargeback")
"""The service says that the customer's bank took the money back. Sent once for each order.

Arguments: `PaymentArguments`.
"""

payment_cancel: Final = DurableSignal[PaymentReceiver]("payment_cancel")
"""The service says that an order ended unpaid: it was canceled or rejected. Sent once for each order.

Arguments: `PaymentArguments`.
"""

checkout_paid: Final = DurableSignal[GrantReceiver]("checkout_paid")
"""A checkout of this shop is paid, and the verdict is verified or accepted: **grant goods here**.

Sent once for each `Grant` that is opened: one for a checkout, one for each renewal, one for an accepted order without a
checkout, for which ``checkout`` is None. ``order`` is the one that pays when the receiver runs. If the grant is closed
before a receiver has run, that receiver is not run any more.

Arguments: `GrantArguments`.
"""

checkout_reversed: Final = ReversalSignal[GrantReceiver]("checkout_reversed")
"""No payment for the grant is valid any more: **revoke goods here**.

Sent once for each `Grant` that is closed. Name the receiver of ``checkout_paid`` that yours undoes, with
``@checkout_reversed.receiver(undoes=grant_items)``: it runs only if that one completed for this grant.

Arguments: `GrantArguments`.
"""

checkout_abandoned: Final = DurableSignal[AbandonedReceiver]("checkout_abandoned")
"""A checkout has been open and unpaid for ABANDONED_AFTER hours: remind its customer, if you like.

Sent once for each checkout. If it is paid, or a payment for it is under way, before a receiver has run, that receiver is not
run any more. Not sent without the setting, for a checkout without a form, for tests in a live project, or for a checkout that
came to that age before the setting was first on, or more than a week ago.

Arguments: `AbandonedArguments`.
"""

payment_review: Final = DurableSignal[ReviewReceiver]("payment_review")
"""Staff should review a payment: it could not be verified, it is a second one, or its data is contradictory.

Sent once for each order and ``reason``.

Arguments: `ReviewArguments`.
"""

order_changed: Final = DurableSignal[ChangeReceiver]("order_changed")
"""The displayed status of an order changed. Sent once for each change.

Not sent for a new order that waits for its payment, nor for one from before the installation.

Arguments: `ChangeArguments`.
"""

user_validated: Final = DurableSignal[ValidationReceiver]("user_validated")
"""The shop's decision on user.validate was recorded. Sent once for each `ValidationDecision`, not for an exact duplicate.

Arguments: `ValidationArguments`.
"""

notification_failed: Final = DurableSignal[NotificationFailedReceiver]("notification_failed")
"""A notification could not be applied, or was quarantined: alert somebody.

Sent once for each notification, ``state`` and ``reason``. A failed one is retried by itself, and may have been applied by the
time your receiver runs: ``notification.state`` says so.

Arguments: `NotificationFailedArguments`.
"""

receiver_given_up: Final = DurableSignal[ReceiverGivenUpReceiver]("receiver_given_up")
"""A receiver of yours was given up after its last attempt: goods may not be granted until somebody runs it again.

Sent once each time that a run is given up. Not sent for receivers of the signals about the app's own work (this one,
``notification_failed``, ``sync_failed``, ``health_changed``): an alert that cannot be sent causes no further alert, and
health shows it.

Arguments: `ReceiverGivenUpArguments`.
"""

sync_failed: Final = DurableSignal[SyncFailedReceiver]("sync_failed")
"""A pass through the transaction list ended without being complete: it failed, or the service did not respond.

Sent once for each such pass. The next pass of the lane reads the same rows again.

Arguments: `SyncFailedArguments`.
"""

health_changed: Final = DurableSignal[HealthChangedReceiver]("health_changed")
"""Something that health looks at became a warning or failing, is well again, or is not well and happened once more.

Sent at most once an hour for a finding of a project, and at once if it gets worse. For this, whoever applies and runs looks
at health once a minute, while a receiver is connected. ALERTS connects one that sends mail (docs/health.md).

Arguments: `HealthChangedArguments`.
"""

LIFE_CYCLE: Final = (notification_failed, receiver_given_up, sync_failed, health_changed)
"""Signals about the app's own work, with which a shop alerts itself."""

SIGNALS: Final[Mapping[str, DurableSignal[Any]]] = {
    signal.name: signal
    for signal in (
        payment_success,
        payment_refund,
        payment_chargeback,
        payment_cancel,
        checkout_paid,
        checkout_reversed,
        checkout_abandoned,
        payment_review,
        order_changed,
        user_validated,
        *LIFE_CYCLE,
    )
}
"""Every signal by its name."""
