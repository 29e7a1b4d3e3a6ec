"""One order in a batch: its row under the lock, its state after each step, and what each step changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from checkout_integration.flows.ledger.cause import Cause
from checkout_integration.models import Checkout, CheckoutUser, Grant, Order, Refund
from checkout_integration.policy.observation import Observation
from checkout_integration.policy.state import OrderState
from checkout_integration.policy.verdict import PENDING, Verdict, VerdictStatus


@dataclass(frozen=True)
class PendingSignal:
    """A signal to be sent; ``idempotency_parts`` are the words that make its idempotency key.

    ``grant`` is what it opens or closes; ``order`` is set where that is not the change's own.
    """

    name: str
    idempotency_parts: tuple[str, ...]
    arguments: dict[str, Any] = field(default_factory=dict)
    grant: Grant | None = None
    order: Order | None = None


@dataclass(kw_only=True)
class LockedOrder:
    """An order of the batch: ``row`` is locked, or not in the database yet when ``is_new``.

    ``state``, ``verdict`` and ``checkout`` are as the steps until now left them; ``stored`` is the state in the database.
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
        """What reversal documents with ids of their own say of this order."""
        return [each for change in self.changes for each in change.observations if each.reversal is not None]

    @property
    def orders_themselves(self) -> list[Refund]:
        """Rows that waited as reversals and turned out to be this very order."""
        absorbed = [each for change in self.changes for each in change.absorbed]
        return [refund for refund, observation in absorbed if observation.reversal is None]

    @property
    def erased(self) -> bool:
        """Whether nothing personal may be stored: of this order, of this customer, or of the buyer of this checkout."""
        personal_data = None if self.is_new else self.row.personal_data
        # A list does not say the service's id of a guest: their checkout knows them. A known customer has a row.
        checkout = self.checkout if self.row.user_id is None else None
        return any(row and row.erased_at for row in (personal_data, self.user, checkout))

    @property
    def turns_out_erased(self) -> bool:
        """Whether this batch is the first to show that the customer was erased."""
        return self.erased and (self.is_new or not self.row.personal_data.erased_at)

    def begin(self, observations: list[Observation], cause: Cause) -> OrderChange:
        """Return the change of a new step; nothing changes here before `take`."""
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
    """What one step changes about one order. Filled from top to bottom: moved, bound, judged, followed.

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
        """Whether the displayed status is another one than before."""
        return self.is_new or self.before.status != self.after.status

    @property
    def changed(self) -> bool:
        """Whether the order's row is to be written."""
        moved = self.before != self.after or self.verdict != self.verdict_before
        return self.is_new or moved or self.newly_bound

    @property
    def newly_bound(self) -> bool:
        """Whether the order came to its checkout in this step."""
        return self.checkout is not None and self.checkout is not self.checkout_before

    @property
    def to_write(self) -> bool:
        """Whether anything about this order is to be written."""
        return self.changed or bool(self.incidents or self.signals)

    def ask_for_review(self, reason: str, order: Order | None = None) -> None:
        """Add ``payment_review`` and its incident, once per order and reason; ``order`` where it is not the change's own."""
        about = order or self.row
        once = ("review", about.order_id, reason)
        self.signals.append(PendingSignal("payment_review", once, {"reason": reason}, order=order))
        self.reviews.append((reason, about))


def verdict_of(row: Order) -> Verdict:
    """Return the verdict in a row."""
    return Verdict(VerdictStatus(row.verdict), row.verdict_reason)
