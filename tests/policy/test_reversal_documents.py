"""Reversal documents: a second row of the list, with an id of its own, that is never a new checkout."""

from __future__ import annotations

from typing import Any

import pytest

from checkout_integration.policy.observation import Observation
from checkout_integration.policy.reversal_documents import (
    is_older,
    may_be_reversal_document,
    may_be_the_order_of,
    reversal_of,
)
from checkout_integration.protocol.order import parse_order
from tests.support.policy.observations import at, known, message, paid, row, written


def reversal(status: str = "refunded", **document: Any) -> Observation:
    """A row of the list as the field shows a refund: an id of its own, the transaction of the paid order."""
    fields = {"id": "reversal-1", "transaction": "t-1", "created_at": written(at(60)), **document}
    return row(status, 90, **fields)


@pytest.mark.spec("ORD-02", "STA-06", "STA-07")
@pytest.mark.parametrize("status", ["refunded", "chargeback"])
def test_a_reversed_row_with_a_transaction_may_be_a_reversal_document(status: str) -> None:
    """Only its transaction links it to the order."""
    assert may_be_reversal_document(reversal(status))


@pytest.mark.spec("ORD-02")
@pytest.mark.parametrize(
    "observation",
    [
        reversal("processed"),
        reversal("canceled"),
        reversal(transaction=""),
        reversal(transaction=None),
        message("payment.refund", status="refunded", transaction="t-1"),
        reversal(created_at=written(at(0)), refunded_at=written(at(60))),
    ],
)
def test_what_is_an_order_of_its_own(observation: Observation) -> None:
    """A notification speaks of the order itself; an order that was refunded was created before its refund."""
    assert not may_be_reversal_document(observation)


@pytest.mark.spec("ORD-06", "ORD-11")
@pytest.mark.parametrize(("seconds", "possible"), [(0, True), (1, True), (60, True), (61, False)])
def test_a_reversal_document_is_created_by_its_refund(seconds: int, possible: bool) -> None:
    """Within a minute of ``refunded_at``."""
    document = reversal(created_at=written(at(0)), refunded_at=written(at(seconds / 60)))
    assert may_be_reversal_document(document) is possible


@pytest.mark.spec("ORD-06")
@pytest.mark.parametrize(
    ("order", "document", "older"),
    [
        (at(0), at(1), True),
        (at(1), at(1), False),
        (at(2), at(1), False),
        (None, at(1), True),
        (at(0), None, False),
    ],
)
def test_the_order_is_the_older_document(order: Any, document: Any, older: bool) -> None:
    """Of the rows that share a transaction the earliest is the order; a document never reverses itself."""
    first, second = (
        parse_order({"created_at": each and written(each)} if each else {}) for each in (order, document)
    )
    assert is_older(first, second) is older


@pytest.mark.spec("ORD-02", "ORD-06", "STA-07")
@pytest.mark.parametrize(
    ("transaction", "created", "expected"),
    [("t-1", 0, True), ("t-2", 0, False), (None, 0, False), ("t-1", 60, False), ("t-1", 61, False)],
)
def test_of_two_chargebacks_the_older_one_is_the_order(
    transaction: str | None, created: int, expected: bool
) -> None:
    """An order is charged back once; rows of two transactions are two orders."""
    first = reversal("chargeback", transaction=transaction, created_at=written(at(created))).order
    assert may_be_the_order_of(first, reversal("chargeback").order) is expected


@pytest.mark.spec("ORD-02", "ORD-11", "STA-06")
def test_it_becomes_an_observation_of_the_reversed_order() -> None:
    """The order is refunded at the moment at which the document was made."""
    state = known(paid(id="order-1", description="500 gems", created_at=written(at(0))))
    document = reversal(description="Refund", amount="9.990", metadata={"x": "y"}, refund={"reason": "asked"})
    state = known(reversal_of("order-1", document), before=state)
    assert state.status == "refunded"
    assert state.order.refunded_at == at(60)
    assert state.order.refund is not None and state.order.refund.reason == "asked"
    assert state.merged.document["id"] == "order-1"
    assert (state.order.description, state.order.created_at) == ("500 gems", at(0))
    assert state.contradictions == set()


@pytest.mark.spec("ORD-11")
def test_its_own_refund_time_stands() -> None:
    """The document's own word beats the time at which it was made."""
    observation = reversal_of("order-1", reversal(refunded_at=written(at(59.5))))
    assert observation.order.refunded_at == at(59.5)


def test_a_chargeback_document_has_no_refund_time() -> None:
    """A chargeback is no refund."""
    observation = reversal_of("order-1", reversal("chargeback"))
    assert observation.order.refunded_at is None
    assert known(observation).status == "chargeback"
