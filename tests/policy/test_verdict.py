"""Does a payment pay for the sale that it is bound to? The whole table, and its corners."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import product

import pytest

from checkout_integration.policy.observation import Observation
from checkout_integration.policy.verdict import Reason, Verdict, VerdictStatus, is_historic
from tests.policy.news import at, creation, known, message, row, written
from tests.policy.sales import PAYS_SIMPLE, SIMPLE, VERIFIED, review, success, verdict

AMOUNTS = {
    "9.99": True,
    "9.98": False,
    "10.00": False,
    "0.0999": False,
    "0": False,
    "-9.99": False,
    None: False,
}
CURRENCIES = {"USD": True, "EUR": False, "usd": False, "JPY": False, None: False}
TYPES = {
    "simple": True,
    "key": False,
    "product": False,
    "products": False,
    "virtual_currency": False,
    None: False,
}
CASES = {
    "": True,
    None: True,
    False: True,
    "correct_payment": False,
    "existing_user": False,
    "unheard of": False,
}
MODES = {
    (test, live, production): production is (not test) and live is (not test)
    for test, live, production in product((False, True), (False, True, None), (False, True, None))
}


@pytest.mark.spec("ORD-22", "ORD-23", "ORD-42", "ORD-43", "WHK-03")
@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_only_what_was_sold_is_verified(mode: tuple[bool, bool | None, bool | None], bound: bool) -> None:
    """Amount x currency x type x binding x mode x testing case: one allowed cell for each mode, a true reason elsewhere."""
    test, live, production = mode
    for amount, currency, type_, case in product(AMOUNTS, CURRENCIES, TYPES, CASES):
        told = {
            "amount": amount and Decimal(amount),
            "currency": currency,
            "type": type_,
            "testing_case": case,
        }
        state = success(live, **{**PAYS_SIMPLE, **told, "is_production": production})
        wrong = {
            Reason.MODE: not MODES[mode],
            Reason.TESTING_CASE: not CASES[case],
            Reason.UNBOUND: not bound,
            Reason.TYPE: bound and not TYPES[type_],
            Reason.CURRENCY: bound and not CURRENCIES[currency],
            Reason.AMOUNT: bound and not AMOUNTS[amount],
        }
        reasons = {reason for reason, applies in wrong.items() if applies}
        given = verdict(state, replace(SIMPLE, test=test) if bound else None, accept_test=test)
        if reasons:
            assert given.status is VerdictStatus.REVIEW and given.reason in reasons, (told, given)
        else:
            assert given == VERIFIED, (told, given)


@pytest.mark.parametrize(
    "observation",
    [
        creation(**PAYS_SIMPLE),
        row("created", **PAYS_SIMPLE),
        row("pending", **PAYS_SIMPLE),
        message("payment.cancel", status="rejected", **PAYS_SIMPLE),
        message("payment.refund", status="refunded", **PAYS_SIMPLE),
        message("payment.unheard_of", status="processed", **PAYS_SIMPLE),
    ],
)
def test_no_verdict_before_a_success(observation: Observation) -> None:
    """Nothing is verified that is not known to be paid."""
    assert verdict(known(observation)) == Verdict(VerdictStatus.PENDING)


@pytest.mark.parametrize("later", ["payment.refund", "payment.chargeback", "payment.cancel"])
def test_the_verdict_is_on_the_success_whatever_became_of_it(later: str) -> None:
    """What was sold and paid was sold and paid; the status tells the rest."""
    assert verdict(known(message("payment.success", **PAYS_SIMPLE), message(later, 30))) == VERIFIED


def test_a_partial_refund_withdraws_no_verdict() -> None:
    """It is for staff to look at."""
    told = {**PAYS_SIMPLE, "charge_amount": Decimal("9.99"), "charge_currency": "USD"}
    refund = message("payment.refund", 30, refund={"amount": Decimal(1), "currency": "USD"})
    state = known(message("payment.success", **told), refund)
    assert state.partial and state.paid
    assert verdict(state) == VERIFIED


@pytest.mark.parametrize(
    "field", ["amount", "original_amount", "charge_amount", "currency", "charge_currency"]
)
def test_a_conflict_over_money_withdraws_the_verdict(field: str) -> None:
    """Even where the standing value is the expected one."""
    first = message(
        "payment.success", 0, **{**PAYS_SIMPLE, "charge_amount": "9.99", "charge_currency": "USD"}
    )
    assert verdict(known(first)) == VERIFIED
    other = "1" if field.endswith("amount") else "EUR"
    assert verdict(known(first, row("processed", 60, **{field: other}))) == review(Reason.CONFLICT)


def test_a_conflict_over_another_field_is_an_incident_only() -> None:
    """It does not change what was paid."""
    first = message("payment.success", 0, created_at=written(at(0)), **PAYS_SIMPLE)
    state = known(first, row("processed", 60, created_at=written(at(1))))
    assert state.contradictions == {"conflict:created_at"}
    assert verdict(state) == VERIFIED


ACCEPTED = Verdict(VerdictStatus.ACCEPTED, Reason.BY_SETTING)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_accepting_unbound_orders_still_asks_for_mode_and_testing_case(
    mode: tuple[bool, bool | None, bool | None], case: str | bool | None
) -> None:
    """UNBOUND_ORDERS="accept" trusts the amount, and nothing else."""
    test, live, production = mode
    state = success(live, **{**PAYS_SIMPLE, "is_production": production, "testing_case": case})
    given = verdict(state, None, accept_unbound=True, accept_test=test)
    assert given.pays is (MODES[mode] and CASES[case])
    assert given == ACCEPTED or given.status is VerdictStatus.REVIEW


def test_accepting_unbound_orders_accepts_no_wrong_payment_of_a_sale() -> None:
    """A bound order is compared with its sale."""
    wrong = success(**{**PAYS_SIMPLE, "amount": "1"})
    assert verdict(wrong, accept_unbound=True) == review(Reason.AMOUNT)


def test_accepting_unbound_orders_accepts_no_conflict() -> None:
    """Two amounts of one payment are for staff."""
    state = known(message("payment.success", **PAYS_SIMPLE), row("processed", 60, amount="1"))
    assert verdict(state, None, accept_unbound=True) == review(Reason.CONFLICT)


@pytest.mark.parametrize("accept_test", [True, False])
@pytest.mark.parametrize("test", [True, False])
def test_a_sale_has_its_own_mode(test: bool, accept_test: bool) -> None:
    """A sale made while test payments were on does not become a real one when the setting changes."""
    state = success(not test, **{**PAYS_SIMPLE, "is_production": not test})
    assert verdict(state, replace(SIMPLE, test=test), accept_test=accept_test) == VERIFIED


def test_a_list_row_alone_verifies_by_is_production() -> None:
    """The list makes no statement on ``live`` (G6)."""
    assert verdict(known(row("processed", 60, **PAYS_SIMPLE))) == VERIFIED


@pytest.mark.parametrize("status", VerdictStatus)
def test_only_two_verdicts_pay(status: VerdictStatus) -> None:
    """G8: goods are granted for verified and accepted payments."""
    assert Verdict(status).pays is (status in ("verified", "accepted"))


OLD, NEW = {"created_at": written(at(-60))}, {"created_at": written(at(60))}


@pytest.mark.parametrize(
    ("observations", "historic"),
    [
        ([row("processed", **OLD)], True),
        ([row("processed", **NEW)], False),
        ([row("processed", created_at=written(at(0)))], False),
        ([row("pending", **OLD)], False),
        ([row("created", **OLD)], False),
        ([row("processed")], False),
        ([row("processed", **OLD), message("payment.success", **OLD)], False),
        ([row("refunded", **OLD), row("processed", **OLD)], True),
        ([creation(), row("processed", **OLD)], False),
    ],
)
def test_only_old_orders_that_the_list_alone_tells_of_are_historic(
    observations: list[Observation], historic: bool
) -> None:
    """What the shop made itself, or was told by a notification, is its business now."""
    assert is_historic(known(*observations), at(0)) is historic
    assert is_historic(known(*observations), at(0) - timedelta(days=1)) is False
