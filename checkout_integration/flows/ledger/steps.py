"""Input and output of the ledger: causes, steps, the change of each order, and outcomes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from checkout_integration.models import Checkout, CheckoutUser, Grant, Notification, Order, Refund, SyncRun
from checkout_integration.policy.fulfilment import Payment
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.policy.state import OrderState
from checkout_integration.policy.verdict import PENDING, Verdict, VerdictStatus


@dataclass(frozen=True, kw_only=True)
class Cause:
    """The cause of a change of state: stored with each transition. ``act``: what staff did (`Transition.Act`)."""

    source: Source
    notification: Notification | None = None
    sync_run: SyncRun | None = None
    staff: AbstractBaseUser | None = None
    act: str = ""
    reason: str = ""

    @property
    def word(self) -> str:
        """The argument ``source`` of the signals."""
        return "sync" if self.source is Source.LIST else self.source.value


@dataclass(frozen=True)
class PendingSignal:
    """A signal to be sent; ``idempotency_parts`` make its idempotency key.

    ``grant`` is the grant that it opens or closes; ``order`` is set where it is not the order of the change.
    """

    name: str
    idempotency_parts: tuple[str, ...]
    arguments: dict[str, Any] = field(default_factory=dict)
    grant: Grant | None = None
    order: Order | None = None


@dataclass(kw_only=True)
class LockedOrder:
    """An order of the batch: ``row`` is locked, or not in the database yet when ``is_new``.

    ``state``, ``verdict`` and ``checkout`` are those after the steps so far; ``stored`` is the state in the database.
    ``changes`` are those steps. ``waiting`` are reversals that waited for this order, each with its row.
    """

    row: Order
    is_new: bool
    stored: OrderState
    state: OrderState
    verdict: Verdict = PENDING
    checkout: Checkout | None = None
    user: CheckoutUser | None = None
    changes: list[OrderChange] = field(default_factory=list)
    waiting: list[tuple[Refund, Observation]] = field(default_factory=list)

    @property
    def order_id(self) -> str:
        """The service's id of the order."""
        return self.row.order_id

    @property
    def changed(self) -> bool:
        """Whether the order's row is to be written."""
        return any(change.changed for change in self.changes)

    @property
    def reversals(self) -> list[Observation]:
        """Observations of this order from reversal documents with ids of their own."""
        return [each for change in self.changes for each in change.observations if each.reversal is not None]

    @property
    def orders_themselves(self) -> list[Refund]:
        """Rows that waited as reversals and turned out to be this very order."""
        absorbed = [each for change in self.changes for each in change.absorbed]
        return [refund for refund, observation in absorbed if observation.reversal is None]

    @property
    def erased(self) -> bool:
        """Whether no personal data may be stored: of this order, of this customer, or of the checkout's customer."""
        personal_data = None if self.is_new else self.row.personal_data
        # A list row has no id of a guest: their checkout identifies them. A known customer has a row.
        checkout = self.checkout if self.row.user_id is None else None
        return any(row and row.erased_at for row in (personal_data, self.user, checkout))

    @property
    def turns_out_erased(self) -> bool:
        """Whether this batch is the first to show that the customer was erased."""
        return self.erased and (self.is_new or not self.row.personal_data.erased_at)

    def begin(self, observations: list[Observation], cause: Cause) -> OrderChange:
        """Return the change of a new step; the order itself changes only in `take`."""
        return OrderChange(
            order=self,
            cause=cause,
            observations=observations,
            is_new=self.is_new and not self.changes,
            before=self.state,
            after=self.state,
            verdict_before=self.verdict,
            verdict=self.verdict,
            checkout_before=self.checkout,
            checkout=self.checkout,
        )

    def take(self, change: OrderChange) -> None:
        """Make a finished step a part of the order."""
        self.state, self.verdict, self.checkout = change.after, change.verdict, change.checkout
        self.changes.append(change)
        self.waiting = [each for each in self.waiting if each not in change.absorbed]


@dataclass(kw_only=True)
class OrderChange:
    """The changes of one order by one step. Filled from top to bottom: moved, bound, judged, followed.

    ``silent``: the order is from before the installation, so nothing is sent for it.
    """

    order: LockedOrder
    cause: Cause
    observations: list[Observation]
    is_new: bool
    before: OrderState
    after: OrderState
    verdict_before: Verdict
    verdict: Verdict
    checkout_before: Checkout | None
    checkout: Checkout | None
    absorbed: list[tuple[Refund, Observation]] = field(default_factory=list)
    silent: bool = False
    signals: list[PendingSignal] = field(default_factory=list)
    incidents: list[str] = field(default_factory=list)
    reviews: list[tuple[str, Order]] = field(default_factory=list)

    @property
    def row(self) -> Order:
        """The order's row."""
        return self.order.row

    @property
    def order_id(self) -> str:
        """The service's id of the order."""
        return self.row.order_id

    @property
    def moved(self) -> bool:
        """Whether the displayed status has changed."""
        return self.is_new or self.before.status != self.after.status

    @property
    def changed(self) -> bool:
        """Whether the order's row is to be written."""
        moved = self.before != self.after or self.verdict != self.verdict_before
        return self.is_new or moved or self.newly_bound

    @property
    def newly_bound(self) -> bool:
        """Whether the order was bound to its checkout in this step."""
        return self.checkout is not None and self.checkout is not self.checkout_before

    @property
    def to_write(self) -> bool:
        """Whether anything about this order is to be written."""
        return self.changed or bool(self.incidents or self.signals)

    def ask_for_review(self, reason: str, order: Order | None = None) -> None:
        """Add ``payment_review`` and its incident, once per order and reason; ``order`` if it is not that of the change."""
        about = order or self.row
        once = ("review", about.order_id, reason)
        # Plain text: a receiver may get the arguments before they were stored.
        self.signals.append(PendingSignal("payment_review", once, {"reason": str(reason)}, order=order))
        self.reviews.append((reason, about))


@dataclass(kw_only=True)
class LockedGrant:
    """A grant in the batch, with the order that pays for it; ``is_new`` until it is written."""

    row: Grant
    payer: Order
    is_new: bool = False
    changed: bool = False


@dataclass(kw_only=True)
class Settlement:
    """The effects of the batch on one checkout, or on one order without a checkout.

    Attributes:
        checkout: its row, None for an order without one.
        orders: all its orders, by the service's id.
        payments: the payment of each of them, after the steps so far.
        grants: all grants that were ever opened for it, oldest first.
        before: the checkout's status and the key of its payer, in the database.
        after: status and payer now; None if no payment has changed.
        changes: the changes of its orders in this batch.

    """

    checkout: Checkout | None
    orders: dict[str, Order] = field(default_factory=dict)
    payments: dict[str, Payment] = field(default_factory=dict)
    grants: list[LockedGrant] = field(default_factory=list)
    before: tuple[str, int | None] = ("", None)
    after: tuple[str, Order | None] | None = None
    changes: list[OrderChange] = field(default_factory=list)


logger = logging.getLogger("checkout_integration.ledger")


def log_change(change: OrderChange) -> None:
    """Log what became of an order and which signals are sent for it, after the commit."""
    ids = {
        "project": change.row.project,
        "order_id": change.order_id,
        "signals": [signal.name for signal in change.signals],
        "source": change.cause.word,
    }
    status, verdict = change.after.status, change.verdict.status
    # %r: the id is the service's text, and a line end in it would forge a line of the log.
    logger.info("Order %r is %s, verdict %s.", change.order_id, status, verdict, extra=ids)


def verdict_of(row: Order) -> Verdict:
    """Return the verdict in a row."""
    return Verdict(VerdictStatus(row.verdict), row.verdict_reason)


@dataclass(frozen=True, kw_only=True)
class Assigned:
    """A step with a known order: ``position`` is that of the step; one row of a page may give several."""

    position: int
    order_id: str
    observations: tuple[Observation, ...]
    cause: Cause


@dataclass(frozen=True, kw_only=True)
class Step:
    """The observation of one order from one cause: a notification, or a row of a page of the list.

    Consecutive steps with the same cause, such as the rows of a page, are taken together: their checkout is settled once. Any
    other step is taken by itself, after those before it.
    """

    observations: tuple[Observation, ...]
    cause: Cause


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a step.

    Attributes:
        change: the change of the order; None for a reversal of an unknown order, and where our rules failed.
        erased: no personal data of it may be stored.
        error: the failure of our rules or the shop's hook; then nothing of the step was written.

    """

    change: OrderChange | None = None
    erased: bool = False
    error: Exception | None = None


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Results of the shop's hooks, called before anything was locked.

    Attributes:
        checkouts: keys of checkouts that `Hooks.resolve_checkout` named, by the order's id.
        accounts: keys of accounts that `Hooks.find_user` named, by the customer's identity.
        errors: of orders for which `Hooks.resolve_checkout` failed.

    """

    checkouts: Mapping[str, Any] = field(default_factory=dict)
    accounts: Mapping[str, Any] = field(default_factory=dict)
    errors: Mapping[str, Exception] = field(default_factory=dict)


NO_ADVICE = Advice()
