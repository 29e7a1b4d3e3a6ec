"""What differs between rows of the transaction list and the order here, before the list was recorded and after it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final

from checkout_integration.policy.amounts import comparable
from checkout_integration.policy.facts import REVERSALS, STATUSES, Facts, slot_key
from checkout_integration.policy.observation import Source
from checkout_integration.policy.refunds import DOCUMENT, refunded_by
from checkout_integration.policy.state import OrderState
from checkout_integration.protocol.order import Order
from checkout_integration.protocol.values import is_currency, is_stated
from checkout_integration.protocol.vocabulary import OrderStatus

UNPAID: Final = (OrderStatus.CREATED, OrderStatus.PENDING)
"""No notification is ever sent for these, so only the list shows them."""
UNREADABLE: Final = "unreadable"
REVERSAL_UNDONE: Final = "reversal_undone"
"""Kind of an incident: the list shows a reversed order as paid."""
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z_-]{0,31}")


class DifferenceKind(StrEnum):
    """What differs: an order is missing on one side, a status, an amount, or something that cannot be understood."""

    MISSING_HERE = "missing_here"
    MISSING_THERE = "missing_there"
    STATUS = "status"
    AMOUNT = "amount"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One difference: the order as it was here, and as it is there. ``healed``: recording the list removed it."""

    kind: DifferenceKind
    here: str
    there: str
    healed: bool


def differences(
    order_id: str, before: OrderState | None, after: OrderState, rows: Sequence[Order], since: str
) -> Iterator[Difference]:
    """Yield what differed between an order and its rows of one page: its own row, and documents of its reversals.

    Args:
        order_id: the service's id of the order.
        before: the order here before the page was recorded; None if it was unknown.
        after: the order here afterwards.
        rows: the rows of this order.
        since: a time as text (`moments.stamp`): the list may not show yet what happened here later.

    """
    own = [row for row in rows if row.id == order_id]
    documents = [row for row in rows if row.id != order_id]
    for row in filter(unknown, own):
        yield _difference(DifferenceKind.UNKNOWN, before, text_of(row), healed=False)
    if before is None:
        paid = [row for row in rows if row.status in STATUSES and row.status not in UNPAID]
        if paid:
            yield _difference(DifferenceKind.MISSING_HERE, before, text_of(paid[-1]), healed=True)
        return
    of_status = [*_of_status(before, after, own, since)] or [*_of_documents(before, documents)][-1:]
    yield from of_status or _of_refund(before, after)
    yield from _of_amount(before, after, own)


def _difference(kind: DifferenceKind, before: OrderState | None, there: str, *, healed: bool) -> Difference:
    here = text_of_state(before) if before else ""
    return Difference(kind=kind, here=here, there=there, healed=healed)


def _of_status(
    before: OrderState, after: OrderState, own: Sequence[Order], since: str
) -> Iterator[Difference]:
    for row in own:
        if row.status not in STATUSES or row.status == before.status:
            continue
        if before.status in UNPAID and row.status in UNPAID:
            continue
        healed = after.status == row.status
        if not healed and (_explained(after, row.status) or _changed_since(before.facts, since)):
            continue
        yield _difference(DifferenceKind.STATUS, before, text_of(row), healed=healed)


def _explained(state: OrderState, listed: str) -> bool:
    """Return whether the order's own row rightly has another status than the order.

    Where reversals are rows of their own, the row of the reversed order stays as it was. A decision of staff overrules what
    was known when it was made.
    """
    if state.status in REVERSALS and has_documents(state.facts):
        return True
    decision = state.facts.decision
    return decision is not None and any(key.startswith(f"{listed}/") for key in decision.known)


def has_documents(facts: Facts) -> bool:
    """Return whether reversals of this order are known as rows of the list with ids of their own."""
    return any(place.startswith(DOCUMENT) for place in facts.refunds)


def may_be_undone(state: OrderState) -> bool:
    """Return whether the list shows a reversed order as paid, after or since its reversal.

    The list has been read long after the reversal, so it is not late: perhaps a dispute was won, or a refund came back.
    """
    shown = {key: slot for key, slot in state.facts.slots.items() if key.endswith(f"/{Source.LIST}")}
    latest = max(shown, key=lambda key: shown[key].at, default="")
    paid = latest == slot_key(OrderStatus.PROCESSED, Source.LIST)
    return paid and state.status in REVERSALS and not has_documents(state.facts)


def _changed_since(facts: Facts, since: str) -> bool:
    return any(slot.time >= since for key, slot in facts.slots.items() if not key.endswith(f"/{Source.LIST}"))


def _of_documents(before: OrderState, documents: Sequence[Order]) -> Iterator[Difference]:
    """Yield the reversals that only a document shows."""
    for document in documents:
        if document.status in STATUSES and not before.facts.knows(OrderStatus(document.status)):
            yield _difference(DifferenceKind.STATUS, before, text_of(document), healed=True)


def _of_refund(before: OrderState, after: OrderState) -> Iterator[Difference]:
    """Yield a further partial refund, which changes no status."""
    if before.status in REVERSALS and before.returned.sums and before.returned.sums != after.returned.sums:
        yield _difference(DifferenceKind.AMOUNT, before, text_of_state(after), healed=True)


def _of_amount(before: OrderState, after: OrderState, own: Sequence[Order]) -> Iterator[Difference]:
    """Yield other amounts of a paid order. Those of an unpaid one may change as long as its form is open."""
    if not before.settled:
        return
    for row in own:
        if not _same_amounts(before.order, row):
            healed = _same_amounts(after.order, row)
            yield _difference(DifferenceKind.AMOUNT, before, text_of(row), healed=healed)


def _same_amounts(order: Order, row: Order) -> bool:
    return _same(order.amount, order.currency, row.amount, row.currency) and _same(
        order.charge_amount, order.charge_currency, row.charge_amount, row.charge_currency
    )


def _same(here: Decimal | None, its: str | None, there: Decimal | None, other: str | None) -> bool:
    """Return whether two amounts are equal; one that is missing says nothing."""
    if its and other and its != other:
        return False
    return here is None or there is None or comparable(here) == comparable(there)


def unknown(row: Order) -> bool:
    """Return whether a row has a status or a currency that the specification does not have."""
    currencies = (row.currency, row.charge_currency)
    return bool(row.status and row.status not in STATUSES) or any(
        currency and not is_currency(currency) for currency in currencies
    )


# Texts of the two sides, for instance "processed 14.99 EUR". They never have a name or an address.


def text_of(row: Order) -> str:
    """Return the text of a row of the list, or of an order's document."""
    if row.status in REVERSALS:
        refunded = refunded_by(row)
        amounts = _amount_text(refunded.amount, refunded.currency or row.currency)
    else:
        amounts = _amounts_of(row)
    return " ".join(filter(None, (_word(row.status), amounts)))


def text_of_state(state: OrderState) -> str:
    """Return the text of the order here."""
    if state.status not in REVERSALS or not state.returned.sums:
        return " ".join(filter(None, (state.status.value, _amounts_of(state.order))))
    amounts = [_amount_text(amount, currency) for currency, amount in state.returned.sums.items()]
    return f"{state.status.value} {', '.join(amounts)}"


def _amounts_of(order: Order) -> str:
    amount = _amount_text(order.amount, order.currency)
    charged = _amount_text(order.charge_amount, order.charge_currency)
    return amount if charged in ("", amount) else f"{amount}, charged {charged}"


def _amount_text(amount: Decimal | None, currency: str | None) -> str:
    if amount is None or not is_stated(amount, currency):
        return ""
    return " ".join(filter(None, (f"{amount:f}"[:24], _word(currency))))


def _word(text: str | None) -> str:
    """Return a word of the service; whatever is no word may be anything, so it is not shown."""
    if not text:
        return ""
    return text if _WORD.fullmatch(text) else UNREADABLE
