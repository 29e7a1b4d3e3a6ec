"""What a batch may be about, looked up by one statement before anything is locked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db import connections

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import key_of, state_database
from checkout_integration.models import Checkout, Refund
from checkout_integration.policy.binding import reference_of
from checkout_integration.policy.observation import Observation

CHECKOUT, REVERSAL = 1, 2


@dataclass(frozen=True, kw_only=True)
class Hints:
    """Keys of the checkouts that observations name, by order id or by reference, and whether reversals wait for an order.

    They may be old by the time the locks are there. A checkout is committed before its order is made, so it is not missed; a
    reversal that was stored meanwhile is read again by the next pass of the list.
    """

    checkouts: frozenset[int]
    reversals_wait: bool


def look_up(project: Project, observations: Sequence[Observation]) -> Hints:
    """Return what these observations may be about."""
    if not observations:
        return Hints(checkouts=frozenset(), reversals_wait=False)
    orders = [observation.order for observation in observations]
    ids = {order.id or "" for order in orders}
    questions = (
        (CHECKOUT, Checkout, "order_id", ids, ""),
        (
            CHECKOUT,
            Checkout,
            "reference",
            {reference_of(order, project.reference_key) for order in orders},
            "",
        ),
        (REVERSAL, Refund, "transaction", {order.transaction or "" for order in orders}, "order_id IS NULL"),
        (
            REVERSAL,
            Refund,
            "key",
            {key_of("document", project.alias, each) for each in ids},
            "order_id IS NULL",
        ),
    )
    selects: list[str] = []
    params: list[str] = []
    connection = connections[state_database()]
    quote = connection.ops.quote_name
    for kind, model, column, values, condition in questions:
        wanted: Collection[str] = sorted(values - {""})
        if not wanted:
            continue
        marks = ", ".join(["%s"] * len(wanted))
        also = f" AND {condition}" if condition else ""
        selects.append(
            f"SELECT {kind}, id FROM {quote(model._meta.db_table)} "  # noqa: S608  # our own tables and columns
            f"WHERE project = %s AND {quote(column)} IN ({marks}){also}"
        )
        params += [project.alias, *wanted]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ".join(selects), params)
        rows = cursor.fetchall()
    return Hints(
        checkouts=frozenset(key for kind, key in rows if kind == CHECKOUT),
        reversals_wait=any(kind == REVERSAL for kind, _ in rows),
    )
