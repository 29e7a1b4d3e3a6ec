"""The status that is displayed of an order (STA-01 to STA-09)."""

from __future__ import annotations

from checkout_integration.policy.facts import Facts, as_decided
from checkout_integration.policy.observation import Source
from checkout_integration.protocol.vocabulary import OrderStatus


def displayed_status(facts: Facts) -> OrderStatus:
    """Return the status that the facts add up to (STA-01), by the transitions that the specification shows."""
    facts = as_decided(facts)
    return _reversed(facts) or _paid(facts) or _ended(facts) or _waiting(facts)


def _reversed(facts: Facts) -> OrderStatus | None:
    """Return the reversal, if there is one: no transition leads out of it (STA-06, STA-07)."""
    return _latest(facts, OrderStatus.CHARGEBACK, OrderStatus.REFUNDED)


def _paid(facts: Facts) -> OrderStatus | None:
    """Return processed, unless a *signed* end is at least as late: the list may show a paid order as ``rejected``."""
    if not facts.knows(OrderStatus.PROCESSED):
        return None
    signed = (Source.NOTIFICATION, Source.STAFF)
    ended = _latest(facts, OrderStatus.CANCELED, OrderStatus.REJECTED, sources=signed)
    if ended and max(facts.times(ended, *signed)) >= max(facts.times(OrderStatus.PROCESSED)):
        return ended  # On a tie, the status with which no goods are shipped.
    return OrderStatus.PROCESSED


def _ended(facts: Facts) -> OrderStatus | None:
    return _latest(facts, OrderStatus.CANCELED, OrderStatus.REJECTED)


def _waiting(facts: Facts) -> OrderStatus:
    """Return pending or created: both give way to every other status (STA-09)."""
    return OrderStatus.PENDING if facts.knows(OrderStatus.PENDING) else OrderStatus.CREATED


def _latest(facts: Facts, *kinds: OrderStatus, sources: tuple[Source, ...] = ()) -> OrderStatus | None:
    """Return the known kind with the latest time; on a tie the first one in the arguments."""
    known = [kind for kind in kinds if facts.knows(kind, *sources)]
    return max(known, key=lambda kind: max(facts.times(kind, *sources)), default=None)
