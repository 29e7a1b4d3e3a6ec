"""How others decide an order's status: each looks reasonable, and each ends wrong in the trial of orderings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from checkout_integration.policy.moments import stamp
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol.vocabulary import Event, OrderStatus

Rule: TypeAlias = Callable[[Sequence[Observation]], OrderStatus]

CREATED, PROCESSED = OrderStatus.CREATED, OrderStatus.PROCESSED
TRANSITIONS: Final = {
    CREATED: {PROCESSED, OrderStatus.CANCELED, OrderStatus.REJECTED},
    PROCESSED: {OrderStatus.REFUNDED, OrderStatus.CHARGEBACK},
}
"""States and transitions as the specification shows them."""


def last_arrival_wins(arrivals: Sequence[Observation]) -> OrderStatus:
    """Every message overwrites the status."""
    return [CREATED, *map(_said, arrivals)][-1]


def newest_time_wins(arrivals: Sequence[Observation]) -> OrderStatus:
    """A message with an older ``created_at`` than the last one applied is dropped."""
    return max([("", CREATED), *((stamp(each.observed_at), _said(each)) for each in arrivals)])[1]


def strict_state_machine(arrivals: Sequence[Observation]) -> OrderStatus:
    """A transition that the specification does not show is refused."""
    status = CREATED
    for each in arrivals:
        if _said(each) in TRANSITIONS.get(status, set()):
            status = _said(each)
    return status


RULES: Final[tuple[Rule, ...]] = (last_arrival_wins, newest_time_wins, strict_state_machine)


def _said(observation: Observation) -> OrderStatus:
    status = observation.order.status
    if observation.source is not Source.NOTIFICATION:
        return OrderStatus(status or CREATED)
    if observation.event == Event.PAYMENT_CANCEL:
        return OrderStatus.REJECTED if status == OrderStatus.REJECTED else OrderStatus.CANCELED
    return {
        Event.PAYMENT_SUCCESS: PROCESSED,
        Event.PAYMENT_REFUND: OrderStatus.REFUNDED,
        Event.PAYMENT_CHARGEBACK: OrderStatus.CHARGEBACK,
    }[Event(observation.event)]
