"""One order's turn in a batch of the ledger: what was known, what is known now, and what follows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from checkout_integration.models import Checkout, CheckoutUser, Grant, Notification, Order, SyncRun
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.policy.state import OrderState
from checkout_integration.policy.verdict import PENDING, Verdict, VerdictStatus


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Why state moves: kept with each transition (G11)."""

    source: Source
    notification: Notification | None = None
    sync_run: SyncRun | None = None
    staff: AbstractBaseUser | None = None
    reason: str = ""

    @property
    def word(self) -> str:
        """The argument ``source`` of the signals."""
        return "sync" if self.source is Source.LIST else self.source.value


@dataclass(frozen=True)
class Notice:
    """A signal to be announced; ``once`` are the words that make its idempotency key.

    ``grant`` is what it opens or closes; ``order`` is set where that is not the entry's own.
    """

    signal: str
    once: tuple[str, ...]
    arguments: dict[str, Any] = field(default_factory=dict)
    grant: Grant | None = None
    order: Order | None = None


@dataclass(kw_only=True)
class Entry:
    """An order in the ledger's hands. Filled from top to bottom: loaded, moved, bound, judged, written.

    ``silent``: the order is from before the installation, so nothing is sent for it. ``row`` is not in the database yet when
    ``is_new``. ``tombstones`` may stand by now for a customer who was inserted after they had been looked for: before
    anything is committed they are looked for again (`writing`).
    """

    row: Order
    is_new: bool
    before: OrderState
    after: OrderState
    observations: list[Observation] = field(default_factory=list)
    checkout: Checkout | None = None
    user: CheckoutUser | None = None
    tombstones: list[str] = field(default_factory=list)
    verdict_before: Verdict = PENDING
    verdict: Verdict = PENDING
    silent: bool = False
    notices: list[Notice] = field(default_factory=list)
    incidents: list[str] = field(default_factory=list)
    reviews: list[tuple[str, Order]] = field(default_factory=list)

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
        """Whether anything is to be written."""
        moved = self.before != self.after or self.verdict != self.verdict_before
        return self.is_new or moved or self.newly_bound

    @property
    def newly_bound(self) -> bool:
        """Whether a known order came to its checkout in this batch."""
        return self.checkout is not None and self.row.checkout_id != self.checkout.pk

    @property
    def to_write(self) -> bool:
        """Whether anything about this order is to be written."""
        return self.changed or bool(self.incidents or self.notices)

    @property
    def reversals(self) -> list[Observation]:
        """What reversal documents with ids of their own say of this order."""
        return [each for each in self.observations if each.reversal is not None]

    @property
    def erased(self) -> bool:
        """Whether nothing personal may be kept: of this order, of this customer, or of whoever this sale was made for."""
        held = None if self.is_new else self.row.personal_data
        # A list does not tell the service's id of a guest: their sale knows them. One who is known is told by their own row.
        sale = self.checkout if self.row.user_id is None else None
        return any(each and each.erased_at for each in (held, self.user, sale))

    @property
    def turns_out_erased(self) -> bool:
        """Whether nothing told until now that the order is an erased customer's."""
        return self.erased and (self.is_new or not self.row.personal_data.erased_at)

    def ask_for_review(self, reason: str, order: Order | None = None) -> None:
        """Add ``payment_review`` and its incident, once per order and reason; ``order`` where it is not the entry's own."""
        about = order or self.row
        once = ("review", about.order_id, reason)
        self.notices.append(Notice("payment_review", once, {"reason": reason}, order=order))
        self.reviews.append((reason, about))


def verdict_of(row: Order) -> Verdict:
    """The verdict that a row keeps."""
    return Verdict(VerdictStatus(row.verdict), row.verdict_reason)
