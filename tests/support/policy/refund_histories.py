"""Histories of refunds by chance, and what they add up to, computed once more in whole cents."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from checkout_integration.policy.observation import Observation
from checkout_integration.policy.reversal_documents import reversal_of
from tests.support.policy.checkouts import PAYS_SIMPLE
from tests.support.policy.observations import at, message, row, written

CENTS: Final = 100


class Way(StrEnum):
    """How a refund becomes known: by notification, as a document of its own in the list, or by the order's own row."""

    NOTIFIED = "notified"
    DOCUMENT = "document"
    OWN_ROW = "own row"


@dataclass(frozen=True, kw_only=True)
class Payment:
    """What was paid: by currency, in cents. What the card paid comes first; the last one is the price."""

    totals: dict[str, int]

    @property
    def usual(self) -> str:
        """The currency of the charge."""
        return next(iter(self.totals))

    @property
    def document(self) -> dict[str, Any]:
        """The fields of the paid order."""
        price = list(self.totals)[-1]
        given = {**PAYS_SIMPLE, "amount": money(self.totals[price]), "currency": price}
        given["original_amount"] = given["amount"]
        charge = {"charge_amount": money(self.totals[self.usual]), "charge_currency": self.usual}
        times = {"created_at": written(at(0)), "transaction": "bank-1"}
        return {**given, **times, **(charge if len(self.totals) > 1 else {})}


PAYMENTS: Final = (
    Payment(totals={"USD": 999}),
    Payment(totals={"EUR": 910, "USD": 999}),
    Payment(totals={"USD": 140, "GBP": 100}),
)


@dataclass(frozen=True, kw_only=True)
class RefundEvent:
    """One statement of a refund: so many cents of a currency, None for no amount; ``minutes`` after the payment."""

    way: Way
    cents: int | None
    currency: str
    minutes: int
    name: str = ""
    attempt: int = 0

    def document(self, payment: Payment) -> dict[str, Any]:
        """The order with this refund, or the document of it."""
        refund = {"amount": None if self.cents is None else money(self.cents), "currency": self.currency}
        moment = written(at(self.minutes))
        back = {"status": "refunded", "refunded": True, "refunded_at": moment, "refund": refund}
        own: dict[str, Any] = {}
        if self.way is Way.DOCUMENT:
            own = {"id": self.name, "created_at": moment}
        # A document without an amount says nothing of a charge either.
        if self.way is Way.DOCUMENT and self.cents is None:
            own |= {"amount": None, "charge_amount": None}
        return {**payment.document, **back, **own}

    def observation(self, payment: Payment) -> Observation:
        """What policy is given."""
        document = self.document(payment)
        if self.way is Way.NOTIFIED:
            return message(
                "payment.refund", self.minutes + 10 * self.attempt, delivery_try=self.attempt, **document
            )
        listed = row(
            "refunded", self.minutes + 60, **{key: document[key] for key in document if key != "status"}
        )
        return listed if self.way is Way.OWN_ROW else reversal_of("order-1", listed)


@dataclass(frozen=True, kw_only=True)
class History:
    """A payment and its refunds, in their order of arrival, which is not that of their times."""

    payment: Payment
    events: tuple[RefundEvent, ...]

    def shuffled(self, source: random.Random) -> History:
        """The same events in another order of arrival."""
        return replace(self, events=tuple(source.sample(self.events, len(self.events))))


def money(cents: int) -> Decimal:
    """An amount of so many cents."""
    return Decimal(cents) / CENTS


def histories(count: int, seed: int) -> Iterator[History]:
    """Partial, full, repeated, late, foreign, excessive, zero and negative refunds, and those without an amount."""
    source = random.Random(seed)
    for _ in range(count):
        payment = source.choice(PAYMENTS)
        events = [_event(source, payment, number) for number in range(source.randint(1, 5))]
        again = source.sample(events, source.randint(0, len(events)))
        events += [replace(event, attempt=event.attempt + 1) for event in again]
        yield History(payment=payment, events=tuple(source.sample(events, len(events))))


def _event(source: random.Random, payment: Payment, number: int) -> RefundEvent:
    currency = source.choices([payment.usual, list(payment.totals)[-1], "CHF"], [6, 3, 1])[0]
    total = payment.totals.get(currency, 900)
    amounts: list[int | None] = [
        source.randint(1, total - 1),
        total,
        3 * total,
        0,
        -source.randint(1, total),
        None,
    ]
    written_as = source.choice([currency, currency.lower()])
    return RefundEvent(
        way=source.choice(list(Way)),
        cents=source.choices(amounts, [12, 3, 1, 1, 1, 1])[0],
        currency="" if currency == payment.usual and source.random() < 0.2 else written_as,
        minutes=source.randint(5, 600),
        name=f"document-{number}",
    )


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a history adds up to: sums in cents by currency, whether all was refunded, and the questions for staff."""

    sums: dict[str, int]
    full: bool
    questions: frozenset[str]


def expected(payment: Payment, events: Sequence[RefundEvent]) -> Expected:
    """Add up the events one by one, as docs/merge.md says."""
    by_place: dict[tuple[str, str], int] = {}
    whole = invalid = False
    for event in events:
        place = event.name if event.way is Way.DOCUMENT else ""
        currency = event.currency.upper() or payment.usual
        if event.cents is None:
            whole = True
        elif event.cents <= 0:
            invalid = True
        else:
            by_place[place, currency] = max(by_place.get((place, currency), 0), event.cents)
    sums: dict[str, int] = {}
    for currency in {currency for _, currency in by_place}:
        listed = sum(cents for (place, each), cents in by_place.items() if place and each == currency)
        sums[currency] = max(listed, by_place.get(("", currency), 0))
    if whole:
        sums[payment.usual] = max(sums.get(payment.usual, 0), payment.totals[payment.usual])
    foreign = any(currency not in payment.totals for currency in sums)
    reached = any(sums.get(currency, 0) >= total for currency, total in payment.totals.items())
    full = whole or foreign or reached
    found = {
        "refund_currency": foreign,
        "refund_mixed": len(sums) > 1 and not full,
        "refund_amount": invalid,
        "refund_exceeded": any(sums.get(currency, 0) > total for currency, total in payment.totals.items()),
    }
    return Expected(sums=sums, full=full, questions=frozenset(code for code in found if found[code]))
