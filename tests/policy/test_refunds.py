"""How much was refunded: what notifications state, what reversal documents add up to, and in which currency."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest

from checkout_integration.policy.observation import Observation
from checkout_integration.policy.refunds import (
    REFUND_AMOUNT,
    REFUND_CURRENCY,
    REFUND_EXCEEDED,
    REFUND_MIXED,
    Refunds,
    Returned,
    from_json,
    join,
    refunds_of,
    returned,
    to_json,
)
from checkout_integration.policy.reversal_documents import reversal_of
from checkout_integration.protocol.order import parse_order
from tests.support.policy.observations import at, known, message, row, written

PAID = {"amount": Decimal("9.99"), "currency": "USD"}
IN_EUROS = {**PAID, "charge_amount": Decimal("9.10"), "charge_currency": "EUR"}


def stated(amount: object, currency: object = "USD") -> Observation:
    """A notification of a refund, with this amount."""
    return message("payment.refund", refund={"amount": amount, "currency": currency})


def document(name: str, amount: object, currency: object = "USD") -> Observation:
    """A reversal document of the list."""
    refund = {"amount": amount, "currency": currency}
    moment = written(at(10))
    listed = row("refunded", 60, id=name, transaction="t", created_at=moment, refund=refund)
    return reversal_of("order-1", listed)


def joined(*observations: Observation) -> Refunds:
    """All statements together, in this order."""
    together: Refunds = {}
    for observation in observations:
        together = join(together, refunds_of(observation))
    return together


def of(*observations: Observation, paid: dict[str, Any] | None = None) -> Returned:
    """What was refunded of 9.99 USD."""
    return returned(joined(*observations), parse_order({"id": "order-1", **(PAID if paid is None else paid)}))


def sums(*observations: Observation, paid: dict[str, Any] | None = None) -> dict[str, str]:
    """The sums as texts."""
    return {currency: str(amount) for currency, amount in of(*observations, paid=paid).sums.items()}


def seen(refund: Returned, *names: str) -> list[object]:
    """Attributes of it."""
    return [getattr(refund, name) for name in names]


@pytest.mark.spec("RFD-01")
def test_documents_add_up() -> None:
    """Each is a refund of its own, and the same one twice is one."""
    parts = (stated("5"), document("a", "5"), document("b", "4.99"), document("a", "5"))
    assert sums(*parts) == {"USD": "9.99"}
    assert of(*parts).full


@pytest.mark.spec("RFD-01")
def test_a_notification_states_the_same_money_again() -> None:
    """The larger of both is the refunded amount; what no document has is the rest."""
    both = of(stated("5"), document("a", "3"))
    assert seen(both, "sums", "rest") == [{"USD": 5}, {"USD": 2}]
    assert [both.documents["a"].amount, both.full] == [3, False]
    assert of(stated("5")).rest == {"USD": 5}
    assert of(stated("5"), document("a", "5")).rest == {}


def test_the_order_of_arrival_does_not_matter() -> None:
    """Two statements in one place: the larger one stands, and one without an amount."""
    parts = [
        stated("5"),
        stated("7"),
        document("a", "3"),
        document("a", None),
        stated("-1"),
        stated("4", "EUR"),
    ]
    ends = [joined(*order) for order in permutations(parts)]
    assert all(end == ends[0] for end in ends)
    assert from_json(to_json(ends[0])) == ends[0]


@pytest.mark.spec("RFD-02", "ORD-23")
@pytest.mark.parametrize("currency", ["USD", "usd", " Usd ", "", None])
def test_currencies_are_compared_without_regard_to_case(currency: str | None) -> None:
    """Without one it is that of the charge."""
    part = of(stated("2.00", currency))
    assert seen(part, "sums", "full", "problems") == [{"USD": 2}, False, frozenset()]


@pytest.mark.spec("RFD-02")
@pytest.mark.parametrize(
    ("amount", "currency", "full"),
    [
        ("9.09", "EUR", False),
        ("9.10", "EUR", True),
        ("9.98", "usd", False),
        ("9.99", "USD", True),
        ("9.10", "", True),
    ],
)
def test_a_refund_is_compared_with_the_total_of_its_own_currency(
    amount: str, currency: str, full: bool
) -> None:
    """That of the charge, or the price."""
    refund = of(stated(amount, currency), paid=IN_EUROS)
    assert seen(refund, "full", "problems") == [full, frozenset()]


@pytest.mark.spec("RFD-01")
@pytest.mark.parametrize("paid", [PAID, IN_EUROS, {}, {"amount": 0, "currency": "USD"}])
def test_a_refund_without_an_amount_is_full_and_stays_full(paid: dict[str, Any]) -> None:
    """A smaller amount that is stated earlier or later lowers nothing."""
    for parts in permutations([message("payment.refund"), stated("2.00")]):
        assert of(*parts, paid=paid).full
    whole = of(message("payment.refund"), paid=paid)
    total = {"USD": Decimal("9.99")} if paid is PAID else {"EUR": Decimal("9.10")} if paid is IN_EUROS else {}
    assert seen(whole, "full", "sums", "problems") == [True, total, frozenset()]


def test_a_document_without_an_amount_has_what_the_others_do_not_have() -> None:
    """All rows add up to the payment."""
    every = of(document("a", "4.00"), document("b", None), stated(None))
    assert [str(each.amount) for each in every.documents.values()] == ["4.00", "5.99"]
    assert every.rest == {}


@pytest.mark.spec("RFD-02")
def test_parts_in_both_currencies_are_never_added() -> None:
    """Full when one reaches its own total; otherwise nobody can say."""
    parts = of(stated("5.00", "USD"), document("a", "5.00", "EUR"), paid=IN_EUROS)
    assert seen(parts, "full", "problems") == [False, {REFUND_MIXED}]
    assert parts.sums == {"EUR": 5, "USD": 5}
    assert parts.shown.currency == "EUR"  # 5.00 of 9.10 is more than 5.00 of 9.99
    whole = of(stated("9.99", "USD"), document("a", "5.00", "EUR"), paid=IN_EUROS)
    assert (whole.full, whole.problems, whole.shown.currency) == (True, frozenset(), "USD")


@pytest.mark.spec("RFD-02")
def test_a_refund_in_neither_currency_is_full_and_listed_in_its_own() -> None:
    """Staff have to look."""
    foreign = of(stated("2.00", "GBP"), paid=IN_EUROS)
    assert seen(foreign, "full", "sums", "problems") == [True, {"GBP": 2}, {REFUND_CURRENCY}]
    assert [foreign.shown.currency, *seen(foreign, "rest")] == ["GBP", {"GBP": 2}]


@pytest.mark.spec("RFD-01")
@pytest.mark.parametrize("amount", ["9.9900001", "9.989999999", "9.99"])
def test_noise_of_a_double_is_no_difference(amount: str) -> None:
    """Neither less than the payment nor more."""
    assert seen(of(stated(amount)), "full", "problems") == [True, frozenset()]


@pytest.mark.spec("RFD-01")
def test_more_than_was_paid_is_full() -> None:
    """Staff have to look."""
    more = of(stated("99.99"))
    assert seen(more, "full", "sums", "problems") == [True, {"USD": Decimal("99.99")}, {REFUND_EXCEEDED}]
    assert of(document("a", "9.99"), document("b", "9.99")).problems == {REFUND_EXCEEDED}


@pytest.mark.spec("RFD-01")
@pytest.mark.parametrize("amount", ["0", "-5", "-0.00"])
@pytest.mark.parametrize("make", [stated, lambda amount: document("odd", amount)])
def test_zero_and_negative_amounts_change_no_sum(amount: str, make: Any) -> None:
    """The order shows a refund, the goods stay, staff look."""
    odd = of(make(amount))
    assert [*seen(odd, "full", "sums", "problems"), odd.shown.amount] == [False, {}, {REFUND_AMOUNT}, None]
    beside = of(stated("2.00"), make(amount))
    assert seen(beside, "full", "sums") == [False, {"USD": 2}]
    assert of(stated("9.99"), make(amount)).full
    state = known(message("payment.success", **PAID), make(amount))
    assert (state.status, state.partial, state.stands) == ("refunded", True, True)


@pytest.mark.spec("ORD-22", "ORD-40")
@pytest.mark.parametrize("charge", ["0", "-1", "0.0000001"])
def test_a_charge_of_nothing_is_none(charge: str) -> None:
    """The price stands for it."""
    paid = {**PAID, "charge_amount": Decimal(charge), "charge_currency": "USD"}
    assert not of(stated("2.00"), paid=paid).full
    assert of(stated("9.99"), paid=paid).full


def test_rows_add_up_where_a_document_states_two_currencies() -> None:
    """It has one row; the rest has another."""
    twice = of(document("a", "2.00", "USD"), document("a", "1.50", "EUR"), paid=IN_EUROS)
    assert [twice.documents["a"].currency, *seen(twice, "rest")] == ["EUR", {"USD": 2}]
