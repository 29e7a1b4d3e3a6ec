"""A checkout with its orders: the paying order, its status, and its grants."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from checkout_integration.policy.fulfilment import (
    Fulfilment,
    GrantChanges,
    Payment,
    fulfilment_of,
    grant_changes,
    payment_of,
)
from tests.support.policy.checkouts import PAYS_SIMPLE, VERIFIED
from tests.support.policy.observations import known, message

FIRST = Payment(
    order_id="first", moment="1", stands=True, reversed=False, ended=False, decided=False, pays=True
)
SECOND = replace(FIRST, order_id="second", moment="2")
OPEN = replace(FIRST, order_id="open", stands=False, pays=False)
ENDED = replace(OPEN, order_id="ended", ended=True)
DOUBTFUL = replace(FIRST, order_id="doubtful", pays=False)
RENEWED = replace(FIRST, recurring_id="agreement")
RENEWAL = replace(SECOND, order_id="renewal", recurring_id="agreement")


def back(payment: Payment) -> Payment:
    """The same payment, fully refunded or charged back."""
    return replace(payment, stands=False, reversed=True)


def changes(payments: list[Payment], *grants: tuple[int, str]) -> GrantChanges:
    """What becomes of these open grants."""
    return grant_changes(fulfilment_of(payments), payments, grants)


@pytest.mark.spec("STA-02", "STA-03", "STA-04", "STA-05", "STA-06", "STA-07")
@pytest.mark.parametrize(
    ("payments", "status", "payer"),
    [
        ([], "open", ""),
        ([OPEN], "open", ""),
        ([ENDED], "cancelled", ""),
        ([ENDED, OPEN], "open", ""),
        ([ENDED, FIRST], "paid", "first"),
        ([DOUBTFUL], "review", ""),
        ([DOUBTFUL, FIRST], "paid", "first"),
        ([back(FIRST)], "reversed", "first"),
        ([back(FIRST), ENDED], "reversed", "first"),
        ([back(FIRST), DOUBTFUL], "review", "first"),
        ([back(DOUBTFUL)], "reversed", ""),
    ],
)
def test_the_status_of_a_checkout(payments: list[Payment], status: str, payer: str) -> None:
    """A function of the set of its orders."""
    for order in permutations(payments):
        fulfilment = fulfilment_of(order)
        assert (fulfilment.status, fulfilment.payer) == (status, payer)


def test_a_checkout_stays_paid_while_one_payment_stands() -> None:
    """Paid twice, and one of them refunded: which one does not matter."""
    for payments in ([back(FIRST), SECOND], [FIRST, back(SECOND)]):
        assert fulfilment_of(payments).status == "paid"
        assert changes(payments, (1, "first")).closed == ()


def test_the_earliest_payment_pays() -> None:
    """Whichever was known first; the others are paid twice."""
    expected = Fulfilment(
        status=fulfilment_of([FIRST]).status,
        payer="first",
        lines=fulfilment_of([FIRST, SECOND]).lines,
        paid_twice=("second",),
        paid_once=("first",),
    )
    assert fulfilment_of([SECOND, FIRST]) == expected
    assert [line.order_ids for line in expected.lines] == [("first", "second")]


@pytest.mark.spec("ORD-46", "ORD-47")
def test_each_renewal_has_a_grant_of_its_own() -> None:
    """A payment of the same agreement is no second payment."""
    fulfilment = fulfilment_of([RENEWAL, RENEWED])
    assert fulfilment.paid_twice == ()
    assert [(line.order_ids, line.renewal) for line in fulfilment.lines] == [
        (("first",), False),
        (("renewal",), True),
    ]


@pytest.mark.spec("ORD-47")
@pytest.mark.parametrize("first", [FIRST, back(FIRST), RENEWED, back(RENEWED)])
def test_each_agreement_of_a_checkout_is_renewed(first: Payment) -> None:
    """A customer who paid twice has two of them; whichever is given up, payments of the other one are no second payments."""
    second = replace(SECOND, recurring_id="other agreement")
    renewal = replace(second, order_id="renewal", moment="3")
    fulfilment = fulfilment_of([first, second, renewal])
    assert [line.order_ids for line in fulfilment.lines] == [("first", "second"), ("renewal",)]
    assert "renewal" not in fulfilment.paid_twice


@pytest.mark.parametrize("reversed_one", ["first", "renewal"])
def test_of_two_payments_of_an_agreement_the_one_that_went_back_is_revoked(reversed_one: str) -> None:
    """And the other one stays, also where it was known first."""
    payments = [back(each) if each.order_id == reversed_one else each for each in (RENEWED, RENEWAL)]
    closed = {"first": 1, "renewal": 2}[reversed_one]
    assert changes(payments, (1, "first"), (2, "renewal")).closed == (closed,)


def test_a_renewal_that_came_first_keeps_its_grant() -> None:
    """It was taken for the first payment; that one gets a grant of its own."""
    found = changes([RENEWAL, RENEWED], (1, "renewal"))
    assert (found.payers, found.closed) == ({1: "renewal"}, ())
    assert [line.payer for line in found.opened] == ["first"]


def test_a_grant_goes_over_to_the_payment_that_is_left() -> None:
    """Nothing is granted or revoked when the payer changes."""
    found = changes([back(FIRST), SECOND], (1, "first"))
    assert found == GrantChanges(payers={1: "second"}, closed=(), opened=())


def test_a_payment_that_stands_again_opens_another_grant() -> None:
    """The one that was closed stays closed."""
    assert [line.payer for line in changes([FIRST]).opened] == ["first"]
    assert changes([back(FIRST)]) == GrantChanges(payers={}, closed=(), opened=())


def test_a_verdict_that_is_withdrawn_revokes_nothing() -> None:
    """That is a person's decision; a later refund revokes the goods."""
    assert changes([replace(FIRST, pays=False)], (1, "first")).payers == {1: "first"}
    assert changes([back(replace(FIRST, pays=False))], (1, "first")).closed == (1,)


def test_another_payment_takes_over_the_grant_of_a_withdrawn_one() -> None:
    """The goods were granted once for this checkout, and are not granted again."""
    found = changes([replace(FIRST, pays=False), SECOND], (1, "first"))
    assert found == GrantChanges(payers={1: "second"}, closed=(), opened=())


@pytest.mark.parametrize("keys", [(1, 2), (2, 1)])
def test_of_two_grants_the_one_whose_payment_went_back_is_closed(keys: tuple[int, int]) -> None:
    """An accepted order that was bound to a paid checkout brought its own."""
    first, second = keys
    found = changes([back(FIRST), SECOND], (first, "first"), (second, "second"))
    assert found == GrantChanges(payers={second: "second"}, closed=(first,), opened=())


def test_no_reversal_closes_what_staff_decided() -> None:
    """An incident asks staff to look."""
    assert changes([back(replace(FIRST, decided=True))], (1, "first")).closed == ()


@pytest.mark.spec("ORD-46")
@pytest.mark.parametrize(("recurring", "lines"), [(True, 2), (False, 1), (None, 1)])
def test_a_recurring_id_makes_a_renewal_only_of_a_recurring_payment(
    recurring: bool | None, lines: int
) -> None:
    """A customer who paid twice under one id has paid twice for the same goods."""
    fields = {**PAYS_SIMPLE, "recurring": recurring, "recurring_id": "agreement"}
    payments = [
        payment_of(
            order_id, known(message("payment.success", minutes, **{**fields, "id": order_id})), VERIFIED
        )
        for minutes, order_id in enumerate(["first", "second"])
    ]
    fulfilment = fulfilment_of(payments)
    assert len(fulfilment.lines) == lines
    assert fulfilment.paid_twice == (() if recurring else ("second",))
