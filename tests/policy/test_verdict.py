"""The verdict on a payment and its checkout: the whole table, and its corners."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.policy.historic import is_historic
from checkout_integration.policy.observation import Observation
from checkout_integration.policy.verdict import Reason, Terms, Verdict, VerdictStatus, judge
from tests.support.policy.checkouts import PAYS_SIMPLE, SIMPLE, VERIFIED, review, success, verdict
from tests.support.policy.observations import at, creation, known, message, row, written

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


@pytest.mark.slow
@pytest.mark.spec("ORD-22", "ORD-23", "ORD-42", "ORD-43", "WHK-03")
@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_only_what_was_sold_is_verified(mode: tuple[bool, bool | None, bool | None], bound: bool) -> None:
    """Amount x currency x type x binding x mode x testing case: one allowed cell for each mode, a true reason elsewhere."""
    test, live, production = mode
    for amount, currency, type_, case in product(AMOUNTS, CURRENCIES, TYPES, CASES):
        fields = {
            "amount": amount and Decimal(amount),
            "currency": currency,
            "type": type_,
            "testing_case": case,
        }
        state = success(live, **{**PAYS_SIMPLE, **fields, "is_production": production})
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
            assert given.status is VerdictStatus.REVIEW and given.reason in reasons, (fields, given)
        else:
            assert given == VERIFIED, (fields, given)


@pytest.mark.spec("STA-03")
@pytest.mark.parametrize(
    "observation",
    [
        creation(**PAYS_SIMPLE),
        row("created", **PAYS_SIMPLE),
        row("pending", **PAYS_SIMPLE),
        message("payment.cancel", status="rejected", **PAYS_SIMPLE),
        message("payment.unheard_of", status="processed", **PAYS_SIMPLE),
    ],
)
def test_no_verdict_before_money_came(observation: Observation) -> None:
    """Nothing is verified that is not known to be paid."""
    assert verdict(known(observation)) == Verdict(VerdictStatus.PENDING)


@pytest.mark.parametrize("later", ["payment.refund", "payment.chargeback", "payment.cancel"])
def test_the_verdict_is_on_the_success_whatever_became_of_it(later: str) -> None:
    """The verdict stays; the status shows what came later."""
    assert verdict(known(message("payment.success", **PAYS_SIMPLE), message(later, 30))) == VERIFIED


def test_a_partial_refund_withdraws_no_verdict() -> None:
    """It is for staff to look at."""
    fields = {**PAYS_SIMPLE, "charge_amount": Decimal("9.99"), "charge_currency": "USD"}
    refund = message("payment.refund", 30, refund={"amount": Decimal(1), "currency": "USD"})
    state = known(message("payment.success", **fields), refund)
    assert state.partial and state.stands
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


@pytest.mark.spec("ORD-42", "ORD-43", "WHK-04")
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


def test_accepting_unbound_orders_accepts_no_wrong_payment_of_a_checkout() -> None:
    """A bound order is compared with its checkout."""
    wrong = success(**{**PAYS_SIMPLE, "amount": "1"})
    assert verdict(wrong, accept_unbound=True) == review(Reason.AMOUNT)


def test_accepting_unbound_orders_accepts_no_conflict() -> None:
    """Two amounts of one payment are for staff."""
    state = known(message("payment.success", **PAYS_SIMPLE), row("processed", 60, amount="1"))
    assert verdict(state, None, accept_unbound=True) == review(Reason.CONFLICT)


@pytest.mark.spec("ORD-42", "WHK-04")
@pytest.mark.parametrize("accept_test", [True, False])
@pytest.mark.parametrize("test", [True, False])
def test_a_checkout_has_its_own_mode(test: bool, accept_test: bool) -> None:
    """A checkout made while test payments were on does not become a real one when the setting changes."""
    state = success(not test, **{**PAYS_SIMPLE, "is_production": not test})
    assert verdict(state, replace(SIMPLE, test=test), accept_test=accept_test) == VERIFIED


@pytest.mark.spec("ORD-42", "WHK-04")
def test_a_list_row_alone_verifies_by_is_production() -> None:
    """The list makes no statement on ``live``."""
    assert verdict(known(row("processed", 60, **PAYS_SIMPLE))) == VERIFIED


@pytest.mark.parametrize("status", VerdictStatus)
def test_only_two_verdicts_pay(status: VerdictStatus) -> None:
    """Goods are granted for verified and accepted payments."""
    assert Verdict(status).pays is (status in ("verified", "accepted"))


def created_at(minutes: float) -> dict[str, str]:
    """When the order was created."""
    return {"created_at": written(at(minutes))}


DAY = 24 * 60
INSTALLED = Terms(installed_at=at(0))
OLD, RECENT, NEW = created_at(-DAY - 1), created_at(-DAY), created_at(0)


@pytest.mark.parametrize(
    ("observations", "historic"),
    [
        ([row("processed", **OLD)], True),
        ([row("processed", **RECENT)], False),
        ([row("processed", **NEW)], False),
        ([row("pending", **OLD)], False),
        ([row("created", **OLD)], False),
        ([row("processed")], False),
        ([row("processed", **OLD), message("payment.success", **OLD)], False),
        ([row("refunded", **OLD), row("processed", **OLD)], True),
        ([row("canceled", **OLD)], True),
        ([creation(), row("processed", **OLD)], False),
    ],
)
def test_only_old_orders_that_the_list_alone_knows_are_historic(
    observations: list[Observation], historic: bool
) -> None:
    """An order that the shop created or a notification reported is not historic; HISTORIC_MARGIN is a day."""
    assert is_historic(known(*observations), at(0), timedelta(days=1)) is historic
    assert is_historic(known(*observations), at(-DAY), timedelta(days=1)) is False


@pytest.mark.parametrize("accept_unbound", [True, False])
def test_the_list_alone_accepts_nothing_from_before_the_installation(accept_unbound: bool) -> None:
    """A migration: the shop may have granted it already."""
    terms = replace(INSTALLED, accept_unbound=accept_unbound)
    assert judge(known(row("processed", 60, **{**PAYS_SIMPLE, **RECENT})), None, terms) == review(
        Reason.BEFORE_INSTALLATION
    )
    assert judge(known(row("processed", 60, **{**PAYS_SIMPLE, **OLD})), None, terms) == Verdict(
        VerdictStatus.HISTORIC
    )


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        (10, Verdict(VerdictStatus.ACCEPTED, Reason.BY_SETTING)),
        (-2 * DAY, Verdict(VerdictStatus.ACCEPTED, Reason.BY_SETTING)),
        (-2 * DAY - 1, review(Reason.BEFORE_INSTALLATION)),
    ],
)
@pytest.mark.parametrize("listed", [True, False])
def test_a_signed_success_says_when_it_was(minutes: float, expected: Verdict, listed: bool) -> None:
    """Its time counts, not the age of its order, nor whether the list was read first."""
    created = {**PAYS_SIMPLE, **created_at(-365 * DAY)}
    observations = [
        message("payment.success", minutes, **created),
        *([row("processed", 60, **created)] if listed else []),
    ]
    assert judge(known(*observations), None, replace(INSTALLED, accept_unbound=True)) == expected
    assert judge(known(*reversed(observations)), None, replace(INSTALLED, accept_unbound=True)) == expected


def test_what_a_setting_accepted_stays_accepted() -> None:
    """When the setting changes; but not when the payment turns out to be another one."""
    accepted = Verdict(VerdictStatus.ACCEPTED, Reason.BY_SETTING)
    success = message("payment.success", 0, **PAYS_SIMPLE)
    assert judge(known(success), None, Terms(), before=accepted) == accepted
    doubtful = known(success, row("processed", 60, amount="1"))
    assert judge(doubtful, None, Terms(), before=accepted) == review(Reason.CONFLICT)


def test_a_reversal_is_judged_as_its_lost_success_would_be() -> None:
    """The verdict does not depend on which of the two arrived."""
    refund = message("payment.refund", 30, **PAYS_SIMPLE)
    assert verdict(known(refund)) == verdict(known(refund, message("payment.success", 0, **PAYS_SIMPLE)))
    assert verdict(known(refund)) == VERIFIED


CHARGED = {**PAYS_SIMPLE, "charge_currency": "USD"}


@pytest.mark.spec("ORD-39", "ORD-40")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"charge_amount": "9.99"}, VERIFIED),
        ({"charge_amount": "9.989999999999"}, VERIFIED),
        ({"charge_amount": "11.89"}, VERIFIED),
        ({"charge_amount": "9.98"}, review(Reason.CHARGE)),
        ({"charge_amount": "0.01"}, review(Reason.CHARGE)),
        ({"charge_amount": "0.01", "charge_currency": "usd"}, review(Reason.CHARGE)),
        ({"charge_amount": "0.01", "charge_currency": "EUR"}, VERIFIED),
        ({"charge_amount": "0.01", "charge_currency": ""}, VERIFIED),
        ({"charge_amount": None}, VERIFIED),
        ({"charge_amount": "0"}, VERIFIED),
        ({"charge_amount": "-1"}, VERIFIED),
    ],
)
def test_a_charge_below_the_price_pays_for_nothing(fields: dict[str, str | None], expected: Verdict) -> None:
    """In the currency of the price. One in another currency is not compared."""
    assert verdict(success(**{**CHARGED, **fields})) == expected


@pytest.mark.spec("ORD-40")
@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        ({"charge_amount": "-1"}, {"negative_charge"}),
        ({"charge_amount": "-1", "charge_currency": "EUR"}, {"negative_charge"}),
        ({"charge_amount": "0"}, {"zero_charge"}),
        ({"charge_amount": "0", "charge_currency": ""}, set()),
        ({"charge_amount": None}, set()),
        ({"charge_amount": "0.01"}, set()),
    ],
)
def test_a_charge_of_nothing_is_an_incident(fields: dict[str, str | None], codes: set[str]) -> None:
    """Zero without a currency says nothing; before the payment neither does."""
    assert success(**{**CHARGED, **fields}).contradictions == codes
    assert (
        known(creation(**{**CHARGED, **fields}), row("created", **{**CHARGED, **fields})).contradictions
        == set()
    )


@pytest.mark.spec("ORD-41")
@pytest.mark.parametrize(
    ("payer", "amount", "expected"),
    [
        ("buyer", "9.99", VERIFIED),
        ("buyer", "11.89", VERIFIED),
        ("buyer", None, VERIFIED),
        ("buyer", "0.01", review(Reason.AMOUNT)),
        ("", "11.89", VERIFIED),
        ("", "9.99", VERIFIED),
        ("", "0.01", review(Reason.AMOUNT)),
        (None, "9.98", review(Reason.AMOUNT)),
        ("seller", "0.01", review(Reason.AMOUNT)),
        ("nobody", "0.01", review(Reason.AMOUNT)),
    ],
)
def test_vat_is_added_and_never_taken_off(payer: str | None, amount: str | None, expected: Verdict) -> None:
    """Where VAT is added for the customer, ``amount`` is not less than the price."""
    state = success(**{**PAYS_SIMPLE, "vat_payer": payer, "amount": amount})
    assert verdict(state) == expected


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["9.99", "5.00"]))))
def test_a_block_takes_nothing_back_and_grants_nothing(times: list[tuple[bool, str]]) -> None:
    """However often it is set and lifted between observations: what counts stays, and what it stopped waits for staff."""
    now = Verdict(VerdictStatus.PENDING)
    for blocked, amount in times:
        before, state = now, success(**{**PAYS_SIMPLE, "amount": Decimal(amount)})
        now = judge(state, SIMPLE, Terms(), before=before, blocked=blocked)
        if before.pays or not (blocked or before.reason == Reason.BLOCKED):
            assert now == judge(state, SIMPLE, Terms(), before=before)
        else:
            assert now == Verdict(VerdictStatus.REVIEW, Reason.BLOCKED)
