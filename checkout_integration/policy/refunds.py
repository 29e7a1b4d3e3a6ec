"""What was refunded of a payment: the only place that computes it. docs/merge.md, "Refunds".

A notification states the refunds so far; each reversal document of the list is a refund of its own. The refunded amount of
a currency is the larger of the largest stated amount and the sum of the documents, so that their order of arrival does not
matter, and nothing that arrives later lowers it. Amounts of two currencies are never added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeAlias

from checkout_integration.policy.amounts import comparable
from checkout_integration.policy.observation import Observation
from checkout_integration.protocol.order import Order

STATED: Final = "stated"
DOCUMENT: Final = "document:"
REFUND_CURRENCY: Final = "refund_currency"
"""A refund in a currency in which the payment was neither charged nor priced: it counts as a full refund."""
REFUND_MIXED: Final = "refund_mixed"
"""Parts in both currencies of the payment: nobody can say whether all of it was refunded, so it counts as a part."""
REFUND_AMOUNT: Final = "refund_amount"
"""A refund of zero, or of a negative amount: it changes no sum and revokes no goods."""
REFUND_EXCEEDED: Final = "refund_exceeded"
"""More was refunded than was paid."""
LONGEST_CODE: Final = 8
ZERO: Final = Decimal(0)


@dataclass(frozen=True, kw_only=True)
class Refunded:
    """A refunded amount; ``amount`` is None where the service does not state it."""

    amount: Decimal | None
    currency: str = ""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """All that one place has stated in one currency.

    Attributes:
        amount: the largest amount above zero; None for none.
        whole: whether the amount was missing once. Then it was the whole payment.
        invalid: whether an amount was zero or negative once.

    """

    amount: Decimal | None = None
    whole: bool = False
    invalid: bool = False


Refunds: TypeAlias = Mapping[str, Mapping[str, Statement]]
"""The statements by place and currency: a place is `STATED`, or a reversal document. "" is no currency."""


def refunds_of(observation: Observation) -> dict[str, dict[str, Statement]]:
    """Return what an observation of a refund states (RFD-01, RFD-02)."""
    if observation.reversal is not None:
        place, refunded = f"{DOCUMENT}{observation.reversal.id}", refunded_by(observation.reversal)
    else:
        refund = observation.order.refund
        place = STATED
        refunded = Refunded(
            amount=refund.amount if refund else None, currency=(refund.currency or "") if refund else ""
        )
    return {place: {code_of(refunded.currency): _statement(refunded.amount)}}


def _statement(amount: Decimal | None) -> Statement:
    if amount is None:
        return Statement(whole=True)
    return Statement(amount=amount) if amount > 0 else Statement(invalid=True)


def code_of(currency: str | None) -> str:
    """Return a currency as it is compared: without regard to case."""
    return (currency or "").strip().upper()[:LONGEST_CODE]


def refunded_by(document: Order) -> Refunded:
    """Return the amount of a reversal document: of its refund, else the amount that it was charged with."""
    if document.refund is not None and document.refund.amount is not None:
        return Refunded(amount=document.refund.amount, currency=document.refund.currency or "")
    if document.charge_amount is not None and (document.charge_amount or document.charge_currency):
        return Refunded(amount=document.charge_amount, currency=document.charge_currency or "")
    return Refunded(amount=document.amount, currency=document.currency or "")


def paid_in(order: Order) -> dict[str, Decimal]:
    """Return what was paid, by currency: what was charged comes first, then the price if it is in another currency.

    A charge of zero or less is none, so the price stands for it.
    """
    totals: dict[str, Decimal] = {}
    for amount, currency in ((order.charge_amount, order.charge_currency), (order.amount, order.currency)):
        if amount is not None and comparable(amount) > 0 and currency:
            totals.setdefault(code_of(currency), amount)
    return totals


def join(left: Refunds, right: Refunds) -> Refunds:
    """Return both together: commutative, associative, idempotent; nothing gets smaller."""
    both = {place: dict(statements) for place, statements in left.items()}
    for place, statements in right.items():
        known = both.setdefault(place, {})
        for currency, statement in statements.items():
            known[currency] = _joined(known.get(currency, statement), statement)
    return both


def _joined(one: Statement, other: Statement) -> Statement:
    amounts = [each.amount for each in (one, other) if each.amount is not None]
    return Statement(
        amount=max(amounts, default=None),
        whole=one.whole or other.whole,
        invalid=one.invalid or other.invalid,
    )


@dataclass(frozen=True, kw_only=True)
class Returned:
    """What was refunded of one payment.

    Attributes:
        full: whether all of it was; goods are then revoked.
        sums: the refunded amounts by currency; none where no amount is known.
        shown: the sum of which the payment's share is largest: an order has one amount.
        documents: the amount of each reversal document, by its id. With ``rest`` they add up to ``sums``.
        rest: what is known beside the documents, by currency; None where only the fact is known.
        problems: what staff have to look at, by code.

    """

    full: bool = False
    sums: Mapping[str, Decimal] = field(default_factory=dict)
    shown: Refunded = Refunded(amount=None)  # frozen
    documents: Mapping[str, Refunded] = field(default_factory=dict)
    rest: Mapping[str, Decimal | None] = field(default_factory=dict)
    problems: frozenset[str] = frozenset()


def returned(refunds: Refunds, order: Order) -> Returned:
    """Return what was refunded of a payment of which a refund is known."""
    paid = paid_in(order)
    usual = next(iter(paid), "")
    places = {place: _in_currencies(statements, usual) for place, statements in sorted(refunds.items())}
    stated = places.pop(STATED, {})
    documents = {place.removeprefix(DOCUMENT): statements for place, statements in places.items()}
    every = [each for statements in (stated, *documents.values()) for each in statements.values()]
    whole = any(each.whole for each in every)
    sums = _sums(stated, documents)
    if whole and paid:
        sums[usual] = max(sums.get(usual, ZERO), paid[usual])
    foreign = [currency for currency in sums if currency not in paid and currency]
    shares = {currency: _share(amount, paid.get(currency)) for currency, amount in sums.items()}
    full = whole or not every or any(share >= 1 for share in shares.values())
    problems = {
        REFUND_CURRENCY: bool(foreign),
        REFUND_MIXED: len(sums) > 1 and not full,
        REFUND_AMOUNT: any(each.invalid for each in every),
        REFUND_EXCEEDED: any(share > 1 for share in shares.values()),
    }
    of_documents, rest = _divided(sums, documents, usual)
    largest = max(shares, key=lambda currency: (shares[currency], currency == usual, currency), default="")
    return Returned(
        full=full,
        sums=sums,
        shown=Refunded(amount=sums.get(largest), currency=largest or next(iter(stated), usual)),
        documents=of_documents,
        rest=rest if rest or documents else dict.fromkeys([next(iter(stated), usual)]),
        problems=frozenset(code for code, found in problems.items() if found),
    )


def _in_currencies(statements: Mapping[str, Statement], usual: str) -> dict[str, Statement]:
    """Return statements by their currencies; without one, it is that of the charge."""
    found: dict[str, Statement] = {}
    for currency, statement in sorted(statements.items()):
        known = found.get(currency or usual, statement)
        found[currency or usual] = _joined(known, statement)
    return found


def _sums(
    stated: Mapping[str, Statement], documents: Mapping[str, Mapping[str, Statement]]
) -> dict[str, Decimal]:
    sums: dict[str, Decimal] = {}
    for statements in documents.values():
        for currency, each in statements.items():
            if each.amount is not None:
                sums[currency] = sums.get(currency, ZERO) + each.amount
    for currency, each in stated.items():
        if each.amount is not None:
            sums[currency] = max(sums.get(currency, ZERO), each.amount)
    return dict(sorted(sums.items()))


def _share(amount: Decimal, paid: Decimal | None) -> Fraction:
    """Return which part of the payment the amount is: all of it, where what was paid in its currency is unknown."""
    return Fraction(comparable(amount)) / Fraction(comparable(paid)) if paid else Fraction(1)


def _divided(
    sums: Mapping[str, Decimal], documents: Mapping[str, Mapping[str, Statement]], usual: str
) -> tuple[dict[str, Refunded], dict[str, Decimal | None]]:
    """Return the sums as amounts of the documents, and what is left of them.

    A document has one amount, in the usual currency if it states one. One that states none has what no other one has.
    """
    rest = dict(sums)
    amounts: dict[str, Refunded] = {}
    for name, statements in documents.items():
        known = [currency for currency in statements if statements[currency].amount is not None]
        currency = min(known or statements, key=lambda each: (each != usual, each))
        amounts[name] = Refunded(amount=statements[currency].amount, currency=currency)
        rest[currency] = rest.get(currency, ZERO) - (amounts[name].amount or 0)
    left: dict[str, Decimal | None] = {
        currency: amount for currency, amount in sorted(rest.items()) if amount > 0
    }
    for name, statements in documents.items():
        if any(each.whole for each in statements.values()) and amounts[name].amount is None and usual in left:
            amounts[name] = Refunded(amount=left.pop(usual), currency=usual)
    return amounts, left


def to_json(refunds: Refunds) -> dict[str, dict[str, list[str | bool | None]]]:
    """Return the statements as JSON, for the order's row."""
    return {
        place: {
            currency: [None if each.amount is None else str(each.amount), each.whole, each.invalid]
            for currency, each in sorted(statements.items())
        }
        for place, statements in sorted(refunds.items())
    }


def from_json(stored: object) -> Refunds:
    """Return the statements of an order's row; `to_json` made them."""
    assert isinstance(stored, Mapping)
    return {
        place: {
            currency: Statement(
                amount=None if amount is None else Decimal(amount), whole=whole, invalid=invalid
            )
            for currency, (amount, whole, invalid) in statements.items()
        }
        for place, statements in stored.items()
    }
