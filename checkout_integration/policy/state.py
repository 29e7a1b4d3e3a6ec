"""An order's whole state as a value, and the one step that moves it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

from checkout_integration.policy import events
from checkout_integration.policy import facts as fact_rules
from checkout_integration.policy import fields as field_rules
from checkout_integration.policy import refunds as refund_rules
from checkout_integration.policy import status as status_rules
from checkout_integration.policy.amounts import comparable, inexact_amounts
from checkout_integration.policy.facts import Facts
from checkout_integration.policy.fields import Merged, Stamp
from checkout_integration.policy.observation import Observation, Source, Timing
from checkout_integration.protocol.order import Order, parse_order, reread_order
from checkout_integration.protocol.strict_json import left_out_of
from checkout_integration.protocol.vocabulary import Event, OrderStatus

ORDER_FIELDS = frozenset(each.name for each in dataclasses.fields(Order)) - {"document", "problems"}
EVENTS = frozenset(Event)
RULES_VERSION: Final = 1
"""Raised when a rule gives another state for the same row of the list: each row is then read once more."""
SETTLED_KINDS = (OrderStatus.PROCESSED, OrderStatus.REFUNDED, OrderStatus.CHARGEBACK)


@dataclass(frozen=True)
class OrderState:
    """All that is known of one order: a function of the set of its observations. docs/merge.md."""

    facts: Facts = fact_rules.NOTHING
    merged: Merged = field_rules.EMPTY
    observed: Order | None = field(default=None, compare=False, repr=False)
    """The order as it was observed last: what the document has taken from it is not read again."""

    @cached_property
    def order(self) -> Order:
        """The latest known document, typed."""
        document = self.merged.document
        return parse_order(document) if self.observed is None else reread_order(document, self.observed)

    @cached_property
    def status(self) -> OrderStatus:
        """The displayed status."""
        return status_rules.displayed_status(self.facts)

    @property
    def partial(self) -> bool:
        """Whether less was refunded than was charged, and no chargeback took the rest."""
        if self.status != OrderStatus.REFUNDED:
            return False
        charged = _charged(self.order)
        refunded = self.refunded_amount
        if charged is None or refunded is None:
            return False
        counting = fact_rules.as_decided(self.facts)
        return not counting.knows(OrderStatus.CHARGEBACK) and comparable(refunded) < comparable(charged[0])

    @property
    def refunded_amount(self) -> Decimal | None:
        """The refunded amount in the currency of the charge; None where there is none or it is unknown."""
        charged = _charged(self.order)
        return refund_rules.total(self.facts.refunds, charged[1]) if charged else None

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
        """Contradictions for staff, by code."""
        found = set(status_rules.contradictions(self.facts))
        found |= {f"conflict:{name}" for name in self.merged.conflicts}
        found |= {f"inexact:{name}" for name in inexact_amounts(self.order)}
        if self.partial:
            found.add(PARTIAL_REFUND)
        listed_rejected = self.facts.knows(OrderStatus.REJECTED, Source.LIST)
        signed = self.facts.knows(OrderStatus.REJECTED, Source.NOTIFICATION)
        if listed_rejected and not signed and self.order.transaction and self.order.cancellation is None:
            found.add(LISTED_REJECTED_WITH_TRANSACTION)
        return frozenset(found)


NOTHING: Final = OrderState()
"""The state of an order that is not known yet."""
PARTIAL_REFUND = "partial_refund"
LISTED_REJECTED_WITH_TRANSACTION = "listed_rejected_with_transaction"


def observe(state: OrderState, observation: Observation, timing: Timing) -> OrderState:
    """Return the state with one more observation; repetition and order make no difference."""
    facts = events.facts_of(observation, timing)
    settled = any(facts.knows(kind) for kind in SETTLED_KINDS)
    return OrderState(
        facts=fact_rules.join(state.facts, facts),
        merged=field_rules.merge(state.merged, observation, settled=settled),
        observed=observation.order,
    )


def unknown_words(observation: Observation) -> frozenset[str]:
    """Return words outside the specification, and unreadable numbers: never refused, shown as incidents."""
    words = set()
    status = observation.order.status
    if status and status not in fact_rules.STATUSES:
        words.add("unknown_status")
    if observation.source is Source.NOTIFICATION and observation.event not in EVENTS:
        words.add("unknown_event")
    return frozenset(words | _numbers_left_out(observation))


def _numbers_left_out(observation: Observation) -> set[str]:
    """Return the fields of the order with a number beyond our limits: read as null, so that it costs its field only.

    Members that the specification does not know count together: their names are whatever the sender wrote.
    """
    names = {path.partition(".")[0] for path in left_out_of(observation.document)}
    return {f"unreadable:{name if name in ORDER_FIELDS else 'other'}" for name in names}


def _charged(order: Order) -> tuple[Decimal, str] | None:
    """Return the charged amount: in the charge currency where it is known."""
    if order.charge_amount is not None and order.charge_currency:
        return order.charge_amount, order.charge_currency
    if order.amount is not None and order.currency:
        return order.amount, order.currency
    return None


def stamps_to_json(stamps: Mapping[str, Stamp]) -> dict[str, Any]:
    """Return stamps as JSON, for the order's row: the fields of each, under "time source" or "time source settled".

    Only amounts and currencies can be settled, so other fields of the same time and source are listed with them. The most
    frequent stamp has the key "" and no fields: it belongs to all fields that no other stamp names. Most fields come from
    one notification.
    """
    joined = {stamp._replace(settled=False): stamp for stamp in set(stamps.values()) if stamp.settled}
    names: dict[Stamp, list[str]] = {}
    for name in sorted(stamps):
        stamp = stamps[name]
        own = stamp if name in field_rules.SETTLED else joined.get(stamp, stamp)
        names.setdefault(own, []).append(name)
    if not names:
        return {}
    commonest = max(names, key=lambda stamp: (len(names[stamp]), _text_of(stamp)))
    return {"": _text_of(commonest)} | {
        _text_of(stamp): fields for stamp, fields in names.items() if stamp != commonest
    }


def stamps_from_json(stored: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Stamp]:
    """Return the stamps of these fields of an order's row; `stamps_to_json` made them."""
    texts = dict.fromkeys(fields, stored[""]) if "" in stored else {}
    for text, names in stored.items():
        if text:
            texts |= dict.fromkeys([name for name in names if name in texts], text)
    amounts = {text: _stamp_of(text) for text in {*texts.values()}}
    others = {text: stamp._replace(settled=False) for text, stamp in amounts.items()}
    return {name: (amounts if name in field_rules.SETTLED else others)[text] for name, text in texts.items()}


def _text_of(stamp: Stamp) -> str:
    return f"{stamp.at} {stamp.source}{' settled' if stamp.settled else ''}"


def _stamp_of(text: str) -> Stamp:
    at, source, *settled = text.split(" ")
    return Stamp(at=at, source=source, settled=bool(settled))
