"""Facts about an order, and how they are merged (docs/merge.md).

There is one slot for each (kind, source). Joining is per slot, so it is commutative, associative and idempotent: the facts
are a function of the *set* of observations, whatever their order and number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any

from checkout_integration.policy import refunds as refund_rules
from checkout_integration.policy.moments import BEHIND_ALL_TIMES, stamp
from checkout_integration.policy.observation import Source
from checkout_integration.policy.refunds import Refunds
from checkout_integration.protocol.vocabulary import OrderStatus

STATUSES = frozenset(OrderStatus)
REVERSALS = (OrderStatus.REFUNDED, OrderStatus.CHARGEBACK)


@dataclass(frozen=True, kw_only=True)
class Slot:
    """The fact of one kind from one source.

    Attributes:
        at: the fact's time as text (`moments.stamp`), "" when unknown.
        own: a time from the document itself (``refunded_at``, ``canceled_at``); it beats ``at``.
        attempt: the delivery attempt that ``at`` comes from.
        reread: the fact is known only from the status in a notification of another event, so ``at`` is an upper bound.
        latest: of a reversal, the latest time of all its notifications and documents: it moves when a second reversal of
            the same kind comes.

    """

    at: str = ""
    own: str = ""
    attempt: int = 0
    reread: bool = False
    latest: str = ""

    @property
    def time(self) -> str:
        """The fact's time, "" when it is unknown."""
        return self.own or self.at


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A staff member's decision on the status; it outranks the slots in ``known``, but no later ones."""

    status: OrderStatus
    at: str
    known: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """All that is known: slots by ``kind/source``, what was stated of refunds, and the latest staff decision."""

    slots: Mapping[str, Slot]
    refunds: Refunds = field(default_factory=dict)
    decision: Decision | None = None

    @property
    def reversals_after_decision(self) -> dict[str, Slot]:
        """The reversals that came after the decision, by slot: of a new kind, or a second one of a kind known then.

        A reversal that another source had shown before the decision is not new.
        """
        if self.decision is None:
            return {}
        known = {_kind(key) for key in self.decision.known}
        reversals = {key: slot for key, slot in self.slots.items() if _kind(key) in REVERSALS}
        of_new_kinds = {key: slot for key, slot in reversals.items() if _kind(key) not in known}
        repeated = {
            key: replace(slot, at=slot.latest, own="")
            for key, slot in reversals.items()
            if key not in of_new_kinds and slot.latest > self.decision.at
        }
        return of_new_kinds | repeated

    def times(self, kind: OrderStatus, *sources: Source) -> list[str]:
        """Return the times that these sources (all sources when none is given) state for this kind."""
        keys = _keys(kind, sources)
        return [slot.time for key, slot in self.slots.items() if key in keys]

    def knows(self, kind: OrderStatus, *sources: Source) -> bool:
        """Return whether one of these sources (all sources when none is given) states this kind."""
        return not _keys(kind, sources).isdisjoint(self.slots)


@cache
def _keys(kind: OrderStatus, sources: tuple[Source, ...]) -> frozenset[str]:
    """Return the keys of the slots of one kind and of these sources; of all sources if none are given."""
    return frozenset(slot_key(kind, source) for source in sources or tuple(Source))


NOTHING = Facts(slots={})


def slot_key(kind: OrderStatus, source: Source) -> str:
    """Return the key of a slot: the kind and the source."""
    return f"{kind}/{source}"


def _kind(key: str) -> str:
    return key.partition("/")[0]


def join(left: Facts, right: Facts) -> Facts:
    """Return both together: commutative, associative, idempotent."""
    slots = dict(left.slots)
    for key, slot in right.slots.items():
        slots[key] = _join_slots(key, slots[key], slot) if key in slots else slot
    decisions = [facts.decision for facts in (left, right) if facts.decision]
    decision = max(decisions, key=lambda made: (made.at, made.status, sorted(made.known)), default=None)
    return Facts(slots=slots, refunds=refund_rules.join(left.refunds, right.refunds), decision=decision)


def _join_slots(key: str, left: Slot, right: Slot) -> Slot:
    latest = max(left.latest, right.latest)
    if key.endswith(f"/{Source.LIST}"):
        return replace(max(left, right, key=lambda slot: slot.at), latest=latest)
    nearest = min(left, right, key=lambda slot: (slot.reread, slot.attempt, slot.at or BEHIND_ALL_TIMES))
    own = min(filter(None, (left.own, right.own)), default="")
    return replace(nearest, own=own, latest=latest)


def decide(facts: Facts, status: OrderStatus, at: datetime) -> Facts:
    """Return the facts with a decision of staff, which overrules all that is known now."""
    known = frozenset(facts.slots)
    return replace(facts, decision=Decision(status=status, at=stamp(at), known=known))


def as_decided(facts: Facts) -> Facts:
    """Return the facts that count: a decision replaces the facts that were known before it."""
    if facts.decision is None:
        return facts
    known = facts.decision.known
    counting = {
        key: slot for key, slot in facts.slots.items() if key not in known and _kind(key) not in REVERSALS
    }
    counting |= facts.reversals_after_decision
    counting[slot_key(facts.decision.status, Source.STAFF)] = Slot(at=facts.decision.at)
    return Facts(slots=counting, refunds=facts.refunds)


def to_json(facts: Facts) -> dict[str, Any]:
    """Return the facts as JSON, for the order's row."""
    slots = {
        key: {name: part for name, part in vars(slot).items() if part} for key, slot in facts.slots.items()
    }
    stored: dict[str, Any] = {"slots": dict(sorted(slots.items()))}
    if facts.refunds:
        stored["refunds"] = refund_rules.to_json(facts.refunds)
    if facts.decision is not None:
        stored["decision"] = {**vars(facts.decision), "known": sorted(facts.decision.known)}
    return stored


def from_json(stored: Mapping[str, Any]) -> Facts:
    """Return the facts from the JSON that `to_json` made."""
    decision = stored.get("decision")
    return Facts(
        slots={key: Slot(**parts) for key, parts in (stored.get("slots") or {}).items()},
        refunds=refund_rules.from_json(stored.get("refunds") or {}),
        decision=decision
        and Decision(
            status=OrderStatus(decision["status"]), at=decision["at"], known=frozenset(decision["known"])
        ),
    )
