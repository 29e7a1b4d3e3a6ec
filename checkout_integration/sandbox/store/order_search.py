"""The search of a list, and its SQL conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from checkout_integration.sandbox.orders.order import one_line
from checkout_integration.sandbox.wire.moments import to_microseconds

State = tuple[str, bool | None]
"""A status, and whether it finds only items of reversals (True), only orders (False), or both (None)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """The search of the transactions list; a part that is None does not narrow it (EP3-03 to EP3-11).

    `account` is the customer's whole identifier in the merchant project, `customer` a part of one of several texts.
    """

    project_ids: Sequence[str]
    id: str | None = None
    states: Sequence[State] | None = None
    account: str | None = None
    customer: str | None = None
    invoice_id: str | None = None
    date_from: datetime | None = None
    date_to: datetime | None = None
    limit: int = 100
    offset: int = 0


def conditions_of(search: Search) -> tuple[str, list[object]]:
    """Return an SQL condition and the values of its marks."""
    clauses = [f"project_id IN ({','.join('?' * len(search.project_ids))})"]
    values: list[object] = list(search.project_ids)
    if search.states is not None:
        state = "(status = ? AND reversal = coalesce(?, reversal))"
        clauses.append(f"({' OR '.join([state] * len(search.states))})")
        values += [value for each in search.states for value in each]
    if search.customer is not None:
        clauses.append("(instr(customer, ?) > 0 OR instr(id, ?) > 0)")
        values += [one_line(search.customer).casefold()] * 2
    for clause, value in (
        ("id = ?", search.id),
        ("account = ?", search.account),
        ("seq IN (SELECT seq FROM order_metadata WHERE value = ?)", search.invoice_id),
        ("created_at >= ?", search.date_from and to_microseconds(search.date_from)),
        ("created_at <= ?", search.date_to and to_microseconds(search.date_to)),
    ):
        if value is not None:
            clauses.append(clause)
            values.append(value)
    return " AND ".join(clauses), values
