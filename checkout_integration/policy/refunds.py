"""The refunded amount of a payment: from the service's statements, and from the sum of its reversal documents.

A notification states one refund; each reversal document of the list is a refund of its own. The refunded amount is the
larger of the largest stated amount and the sum of the documents, so that their order of arrival does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from checkout_integration.policy.observation import Observation
from checkout_integration.protocol.order import Order

STATED = "stated"
DOCUMENT = "document:"


@dataclass(frozen=True, kw_only=True)
class Refunded:
    """A refunded amount; ``amount`` is None where the service does not state it."""

    amount: Decimal | None
    currency: str = ""


def refunds_of(observation: Observation) -> dict[str, Refunded]:
    """Return the refunded amounts of an observation (RFD-01, RFD-02), by their statement."""
    if observation.reversal is not None:
        return {f"{DOCUMENT}{observation.reversal.id}": refunded_by(observation.reversal)}
    refund = observation.order.refund
    return {STATED: Refunded(amount=refund.amount, currency=refund.currency or "")} if refund else {}


def refunded_by(document: Order) -> Refunded:
    """Return the amount of a reversal document: of its refund, else the amount that it was charged with."""
    if document.refund is not None and document.refund.amount is not None:
        return Refunded(amount=document.refund.amount, currency=document.refund.currency or "")
    if document.charge_amount is not None:
        return Refunded(amount=document.charge_amount, currency=document.charge_currency or "")
    return Refunded(amount=document.amount, currency=document.currency or "")


def join(left: Mapping[str, Refunded], right: Mapping[str, Refunded]) -> dict[str, Refunded]:
    """Return both together; of two statements in one place the larger amount stands."""
    both = dict(left)
    for place, refunded in right.items():
        both[place] = max(both.get(place, refunded), refunded, key=_size)
    return both


def total(refunds: Mapping[str, Refunded], currency: str) -> Decimal | None:
    """Return the refunded amount in a currency; None where it is unknown, or stated in another one."""
    amounts = {
        place: refunded.amount
        for place, refunded in refunds.items()
        if refunded.amount is not None and refunded.currency in ("", currency)
    }
    if not refunds or len(amounts) < len(refunds):
        return None
    documents = sum((amount for place, amount in amounts.items() if place != STATED), Decimal(0))
    return max(amounts.get(STATED, Decimal(0)), documents)


def to_json(refunds: Mapping[str, Refunded]) -> dict[str, list[str | None]]:
    """Return the amounts as JSON, for the order's row."""
    return {
        place: [None if refunded.amount is None else str(refunded.amount), refunded.currency]
        for place, refunded in sorted(refunds.items())
    }


def from_json(stored: object) -> dict[str, Refunded]:
    """Return the amounts of an order's row; `to_json` made it."""
    assert isinstance(stored, Mapping)
    return {
        place: Refunded(amount=None if amount is None else Decimal(amount), currency=currency)
        for place, (amount, currency) in stored.items()
    }


def _size(refunded: Refunded) -> tuple[bool, Decimal, str]:
    return (refunded.amount is not None, refunded.amount or Decimal(0), refunded.currency)
