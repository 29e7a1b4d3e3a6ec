"""An order's whole state as a value, and the one step that moves it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from checkout_integration.policy import events
from checkout_integration.policy import facts as fact_rules
from checkout_integration.policy import fields as field_rules
from checkout_integration.policy import refunds as refund_rules
from checkout_integration.policy import status as status_rules
from checkout_integration.policy.contradictions import contradictions_of
from checkout_integration.policy.facts import Facts
from checkout_integration.policy.fields import Merged
from checkout_integration.policy.observation import Observation, Timing
from checkout_integration.policy.refunds import Returned
from checkout_integration.protocol.order import Order, parse_order
from checkout_integration.protocol.vocabulary import OrderStatus

RULES_VERSION: Final = 1
"""Raised when a rule gives another state for the same row of the list: each row is then read once more."""
SETTLED_KINDS = (OrderStatus.PROCESSED, OrderStatus.REFUNDED, OrderStatus.CHARGEBACK)


@dataclass(frozen=True)
class OrderState:
    """All that is known of one order: a function of the set of its observations. docs/merge.md."""

    facts: Facts = fact_rules.NOTHING
    merged: Merged = field_rules.EMPTY

    @cached_property
    def order(self) -> Order:
        """The latest known document, typed."""
        return parse_order(self.merged.document)

    @cached_property
    def status(self) -> OrderStatus:
        """The displayed status."""
        return status_rules.displayed_status(self.facts)

    @property
    def partial(self) -> bool:
        """Whether less was refunded than was charged, and no chargeback took the rest."""
        if self.status != OrderStatus.REFUNDED or self.returned.full:
            return False
        return not fact_rules.as_decided(self.facts).knows(OrderStatus.CHARGEBACK)

    @cached_property
    def returned(self) -> Returned:
        """What was refunded; nothing where no refund is known."""
        if not self.facts.knows(OrderStatus.REFUNDED):
            return Returned()
        return refund_rules.returned(self.facts.refunds, self.order)

    @property
    def fully_reversed(self) -> bool:
        """Whether nothing of the payment is left with the shop."""
        return self.status == OrderStatus.CHARGEBACK or (
            self.status == OrderStatus.REFUNDED and not self.partial
        )

    @property
    def succeeded(self) -> bool:
        """Whether a success is known, or staff decided that there is one, whatever became of it."""
        decision = self.facts.decision
        decided = decision is not None and decision.status == OrderStatus.PROCESSED
        return decided or self.facts.knows(OrderStatus.PROCESSED)

    @property
    def settled(self) -> bool:
        """Whether a success or its reversal shows a payment; a reversal is judged as its success would be."""
        return self.succeeded or any(self.facts.knows(kind) for kind in SETTLED_KINDS)

    @property
    def stands(self) -> bool:
        """Whether the payment, or a part of it, is with the shop, as a success or a partial refund shows.

        A cancellation in addition to the success does not undo it: staff decide.
        """
        return self.settled and not self.fully_reversed

    @cached_property
    def contradictions(self) -> frozenset[str]:
        """Contradictions for staff, by code (`policy.contradictions`)."""
        return contradictions_of(self.facts, self.merged, self.order, self.returned)


NOTHING: Final = OrderState()
"""The state of an order that is not known yet."""


def observe(state: OrderState, observation: Observation, timing: Timing) -> OrderState:
    """Return the state with one more observation; repetition and order make no difference."""
    facts = events.facts_of(observation, timing)
    settled = any(facts.knows(kind) for kind in SETTLED_KINDS)
    return OrderState(
        facts=fact_rules.join(state.facts, facts),
        merged=field_rules.merge(state.merged, observation, settled=settled),
    )
