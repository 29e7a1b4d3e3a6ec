"""Facts about an order, their merge, and the status they add up to.

State keeps one slot for each (kind, source). Joining is per slot, so it is commutative, associative and idempotent: the
displayed status is a function of the *set* of observations (G3, G5), whatever their order and number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache

from checkout_integration.policy import refunds as refund_rules
from checkout_integration.policy.observation import Observation, Source, Timing, stamp
from checkout_integration.policy.refunds import Refunded
from checkout_integration.protocol.vocabulary import Event, OrderStatus

STATUSES = frozenset(OrderStatus)
REVERSALS = (OrderStatus.REFUNDED, OrderStatus.CHARGEBACK)

UNKNOWN_TIME = "~"
"""Sorts behind every time: of two attempts with the same number, the one that carries a time stands."""


@dataclass(frozen=True, kw_only=True)
class Slot:
    """What one source says of one kind.

    ``at`` is the fact's time as text (`observation.stamp`), "" when unknown. ``own`` is a time that the document itself
    gave (``refunded_at``, ``canceled_at``) and beats ``at``. ``attempt`` is the delivery attempt that ``at`` was told by.
    ``reread``: known only from the status in a message of another event, so that ``at`` is when it was true at the latest.
    ``latest``: of a reversal, the latest time that a message or document of its own gave: a second one of the same kind shows
    in it.
    """

    at: str = ""
    own: str = ""
    attempt: int = 0
    reread: bool = False
    latest: str = ""

    @property
    def time(self) -> str:
        """The fact's time, "" when nothing told it."""
        return self.own or self.at


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A staff member's word on the status; it outranks the slots named in ``known``, and no later ones."""

    status: OrderStatus
    at: str
    known: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """All that is known: slots by ``kind/source``, the amounts that were refunded, and the latest staff decision."""

    slots: Mapping[str, Slot]
    refunds: Mapping[str, Refunded] = field(default_factory=dict)
    decision: Decision | None = None

    def times(self, kind: OrderStatus, *sources: Source) -> list[str]:
        """Times at which these sources (all of them when none is named) know this kind."""
        keys = _keys(kind, sources)
        return [slot.time for key, slot in self.slots.items() if key in keys]

    def knows(self, kind: OrderStatus, *sources: Source) -> bool:
        """Whether one of these sources knows this kind."""
        return not _keys(kind, sources).isdisjoint(self.slots)


@cache
def _keys(kind: OrderStatus, sources: tuple[Source, ...]) -> frozenset[str]:
    """Return the keys of the slots for what these sources (all of them when none is named) say of one kind."""
    return frozenset(_key(kind, source) for source in sources or tuple(Source))


NOTHING = Facts(slots={})

KIND_OF_EVENT: Mapping[str, OrderStatus] = {
    Event.PAYMENT_SUCCESS: OrderStatus.PROCESSED,
    Event.PAYMENT_REFUND: OrderStatus.REFUNDED,
    Event.PAYMENT_CHARGEBACK: OrderStatus.CHARGEBACK,
    Event.PAYMENT_CANCEL: OrderStatus.CANCELED,
}
"""The event decides (EVT-03 to EVT-06, STA-03, STA-06 to STA-08), not the status of its object, which can be ``created``."""


def facts_of(observation: Observation, timing: Timing) -> Facts:
    """The facts that one observation yields; none for an unknown event or status."""
    if observation.source is Source.NOTIFICATION:
        slots = dict(_slots_of_notification(observation, timing))
    elif observation.source is Source.LIST:
        slots = dict(_slots_of_list_row(observation, timing))
    else:
        # STA-02: an order that was just made is created.
        slots = {_key(OrderStatus.CREATED, Source.CREATION): Slot()}
    is_refund = _key(OrderStatus.REFUNDED, observation.source) in slots
    return Facts(slots=slots, refunds=refund_rules.refunds_of(observation) if is_refund else {})


def _slots_of_notification(observation: Observation, timing: Timing) -> Iterable[tuple[str, Slot]]:
    attempt = max(observation.delivery_try, 0)
    at = stamp(_event_time(observation.observed_at, attempt, timing.retry_interval))
    status = observation.order.status
    kind = KIND_OF_EVENT.get(observation.event)
    if kind is None:
        return
    # STA-08: payment.cancel does not say which end it is; the status does (STA-04, STA-05).
    if kind is OrderStatus.CANCELED and status == OrderStatus.REJECTED:
        kind = OrderStatus.REJECTED
    # The object may be read again at the time of a retry, so its status may know more than the event.
    if status in REVERSALS and status != kind:
        reread = OrderStatus(status)
        at_the_latest = stamp(observation.observed_at)
        own = stamp(_own_time(observation, reread))
        yield _key(reread, Source.NOTIFICATION), Slot(at=at_the_latest, own=own, reread=True, latest=own)
    own = stamp(_own_time(observation, kind))
    latest = (own or at) if kind in REVERSALS else ""
    yield _key(kind, Source.NOTIFICATION), Slot(at=at, own=own, attempt=attempt, latest=latest)


def _slots_of_list_row(observation: Observation, timing: Timing) -> Iterable[tuple[str, Slot]]:
    status = observation.order.status
    if status not in STATUSES:
        return
    kind = OrderStatus(status)
    read_at = observation.observed_at
    seen = stamp(read_at - timing.list_margin if read_at else None)
    own = stamp(_own_time(observation, kind))
    # A row says again and again that an order is reversed, so the time of reading it is no time of a reversal.
    yield _key(kind, Source.LIST), Slot(at=max(seen, own), latest=own if kind in REVERSALS else "")


def _event_time(told_at: datetime | None, attempt: int, retry_interval: timedelta) -> datetime | None:
    """The event's time: deployed services tell that of the attempt (EVT-10), so the attempts before it are taken off.

    Their interval is not shown (EVT-12): it is a setting.
    """
    try:
        return told_at - attempt * retry_interval if told_at else None
    except OverflowError:
        return None


def _own_time(observation: Observation, kind: OrderStatus) -> datetime | None:
    if kind is OrderStatus.REFUNDED:
        return observation.order.refunded_at
    if kind in (OrderStatus.CANCELED, OrderStatus.REJECTED):
        return observation.order.canceled_at
    return None


def _key(kind: OrderStatus, source: Source) -> str:
    return f"{kind}/{source}"


def _kind(key: str) -> str:
    return key.partition("/")[0]


def join(left: Facts, right: Facts) -> Facts:
    """Both together: commutative, associative, idempotent."""
    slots = dict(left.slots)
    for key, slot in right.slots.items():
        slots[key] = _join_slots(key, slots[key], slot) if key in slots else slot
    decisions = [facts.decision for facts in (left, right) if facts.decision]
    decision = max(decisions, key=lambda each: (each.at, each.status, sorted(each.known)), default=None)
    return Facts(slots=slots, refunds=refund_rules.join(left.refunds, right.refunds), decision=decision)


def _join_slots(key: str, left: Slot, right: Slot) -> Slot:
    latest = max(left.latest, right.latest)
    if key.endswith(f"/{Source.LIST}"):
        return replace(max(left, right, key=lambda slot: slot.at), latest=latest)
    nearest = min(left, right, key=lambda slot: (slot.reread, slot.attempt, slot.at or UNKNOWN_TIME))
    own = min(filter(None, (left.own, right.own)), default="")
    return replace(nearest, own=own, latest=latest)


def decide(facts: Facts, status: OrderStatus, at: datetime) -> Facts:
    """The facts with a staff member's decision that outranks all that is known now."""
    known = frozenset(facts.slots)
    return replace(facts, decision=Decision(status=status, at=stamp(at), known=known))


def displayed_status(facts: Facts) -> OrderStatus:
    """Return the status that the facts add up to (STA-01), by the transitions that the specification shows."""
    facts = as_decided(facts)
    return _reversed(facts) or _paid(facts) or _ended(facts) or _waiting(facts)


def as_decided(facts: Facts) -> Facts:
    """Return the facts as they count: a decision stands in for what was known when it was made."""
    if facts.decision is None:
        return facts
    known = facts.decision.known
    counting = {
        key: slot for key, slot in facts.slots.items() if key not in known and _kind(key) not in REVERSALS
    }
    counting |= _reversals_after(facts, facts.decision)
    counting[_key(facts.decision.status, Source.STAFF)] = Slot(at=facts.decision.at)
    return Facts(slots=counting, refunds=facts.refunds)


def _reversals_after(facts: Facts, decision: Decision) -> dict[str, Slot]:
    """Return the reversals that came after a decision, by slot: of a new kind, or a second one of a kind known then.

    A source that says only now what another one said before the decision says nothing new.
    """
    known = {_kind(key) for key in decision.known}
    reversals = {key: slot for key, slot in facts.slots.items() if _kind(key) in REVERSALS}
    of_new_kinds = {key: slot for key, slot in reversals.items() if _kind(key) not in known}
    repeated = {
        key: replace(slot, at=slot.latest, own="")
        for key, slot in reversals.items()
        if key not in of_new_kinds and slot.latest > decision.at
    }
    return of_new_kinds | repeated


def _reversed(facts: Facts) -> OrderStatus | None:
    """STA-06, STA-07: nothing is shown to lead out of a reversal."""
    return _latest(facts, OrderStatus.CHARGEBACK, OrderStatus.REFUNDED)


def _paid(facts: Facts) -> OrderStatus | None:
    """Processed, unless a *signed* end is at least as late. The list may turn a paid order ``rejected`` by itself."""
    if not facts.knows(OrderStatus.PROCESSED):
        return None
    signed = (Source.NOTIFICATION, Source.STAFF)
    ended = _latest(facts, OrderStatus.CANCELED, OrderStatus.REJECTED, sources=signed)
    if ended and max(facts.times(ended, *signed)) >= max(facts.times(OrderStatus.PROCESSED)):
        return ended  # on a tie, the side on which no goods are shipped
    return OrderStatus.PROCESSED


def _ended(facts: Facts) -> OrderStatus | None:
    return _latest(facts, OrderStatus.CANCELED, OrderStatus.REJECTED)


def _waiting(facts: Facts) -> OrderStatus:
    """STA-09: whatever ``pending`` becomes, it gives way to every end."""
    return OrderStatus.PENDING if facts.knows(OrderStatus.PENDING) else OrderStatus.CREATED


def _latest(facts: Facts, *kinds: OrderStatus, sources: tuple[Source, ...] = ()) -> OrderStatus | None:
    """The kind with the latest time among those known; on a tie the one named first."""
    known = [kind for kind in kinds if facts.knows(kind, *sources)]
    return max(known, key=lambda kind: max(facts.times(kind, *sources)), default=None)


def contradictions(facts: Facts) -> frozenset[str]:
    """What an operator should look at: facts that no path of the specification has together."""
    found = set()
    if facts.knows(OrderStatus.PROCESSED):
        ends = (OrderStatus.CANCELED, OrderStatus.REJECTED)
        if any(facts.knows(end, Source.NOTIFICATION) for end in ends):
            found.add(PAID_AND_CANCELED)
        elif any(facts.knows(end, Source.LIST) for end in ends):
            found.add(LISTED_CANCELED_THOUGH_PAID)
    if facts.knows(OrderStatus.REFUNDED) and facts.knows(OrderStatus.CHARGEBACK):
        found.add(DOUBLE_LOSS)
    if facts.decision is not None and _reversals_after(facts, facts.decision):
        found.add(REVERSAL_AFTER_DECISION)
    return frozenset(found)


PAID_AND_CANCELED = "paid_and_canceled"
LISTED_CANCELED_THOUGH_PAID = "listed_canceled_though_paid"
DOUBLE_LOSS = "double_loss"
REVERSAL_AFTER_DECISION = "reversal_after_decision"


def to_json(facts: Facts) -> dict[str, object]:
    """The facts as JSON, for the order's row."""
    slots = {
        key: {name: value for name, value in _parts(slot) if value}
        for key, slot in sorted(facts.slots.items())
    }
    stored: dict[str, object] = {"slots": slots}
    if facts.refunds:
        stored["refunds"] = refund_rules.to_json(facts.refunds)
    if facts.decision is not None:
        decision = facts.decision
        stored["decision"] = {
            "status": decision.status,
            "at": decision.at,
            "known": sorted(decision.known),
        }
    return stored


def _parts(slot: Slot) -> tuple[tuple[str, object], ...]:
    return (
        ("at", slot.at),
        ("own", slot.own),
        ("try", slot.attempt),
        ("reread", slot.reread),
        ("latest", slot.latest),
    )


def from_json(stored: Mapping[str, object]) -> Facts:
    """The facts of an order's row; `to_json` made it."""
    slots = stored.get("slots") or {}
    decision = stored.get("decision")
    assert isinstance(slots, Mapping)
    return Facts(
        slots={
            key: Slot(
                at=slot.get("at", ""),
                own=slot.get("own", ""),
                attempt=slot.get("try", 0),
                reread=slot.get("reread", False),
                latest=slot.get("latest", ""),
            )
            for key, slot in slots.items()
        },
        refunds=refund_rules.from_json(stored.get("refunds") or {}),
        decision=_decision_from(decision) if isinstance(decision, Mapping) else None,
    )


def _decision_from(stored: Mapping[str, object]) -> Decision:
    known = stored["known"]
    assert isinstance(known, list)
    return Decision(status=OrderStatus(str(stored["status"])), at=str(stored["at"]), known=frozenset(known))
