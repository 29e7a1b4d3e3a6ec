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


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def conditions_of(search: Search) -> tuple[str, list[object]]:
    """Return an SQL condition and the values of its marks."""
    clauses = [f"project_id IN ({_marks(search.project_ids)})"]
    values: list[object] = list(search.project_ids)
    if search.id is not None:
        clauses.append("id = ?")
        values.append(search.id)
    if search.states is not None:
        clauses.append(
            f"({' OR '.join(['(status = ? AND reversal = coalesce(?, reversal))'] * len(search.states))})"
        )
        values += [value for state in search.states for value in state]
    if search.account is not None:
        clauses.append("account = ?")
        values.append(search.account)
    if search.customer is not None:
        clauses.append("(instr(customer, ?) > 0 OR instr(id, ?) > 0)")
        values += [one_line(search.customer).casefold()] * 2
    if search.invoice_id is not None:
        clauses.append("seq IN (SELECT seq FROM order_metadata WHERE value = ?)")
        values.append(search.invoice_id)
    if search.date_from is not None:
        clauses.append("created_at >= ?")
        values.append(to_microseconds(search.date_from))
    if search.date_to is not None:
        clauses.append("created_at <= ?")
        values.append(to_microseconds(search.date_to))
    return " AND ".join(clauses), values
