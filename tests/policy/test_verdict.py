"""Does a payment pay for the sale that it is bound to? The whole table, and its corners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from checkout_integration.policy.binding import Sale
from checkout_integration.policy.observation import Observation
from checkout_integration.policy.state import OrderState
from checkout_integration.policy.verdict import Reason, Verdict, VerdictStatus, is_historic, judge
from tests.policy.news import at, creation, known, message, row, written

VERIFIED = Verdict(VerdictStatus.VERIFIED)
SIMPLE = Sale(
    project="shop",
    reference="r",
    order_id="order-1",
    type="simple",
    expected_amount=Decimal("9.99"),
    currency="USD",
)
PAYS_SIMPLE = {
    "type": "simple",
    "amount": Decimal("9.99"),
    "original_amount": Decimal("9.99"),
    "currency": "USD",
    "vat_payer": "nobody",
    "is_production": True,
    "testing_case": "",
}
GEMS = replace(SIMPLE, type="product", expected_amount=None, currency="", products=("gem", "sword"))
PAYS_GEMS = {**PAYS_SIMPLE, "type": "products", "items": [{"id": "sword"}, {"id": "gem"}]}
COINS = replace(
    SIMPLE, type="virtual_currency", expected_amount=None, currency="", virtual_currency_amount=Decimal(500)
)
PAYS_COINS = {**PAYS_SIMPLE, "type": "virtual_currency", "virtual_currency_amount": Decimal(500)}


def success(live: bool | None = True, /, **document: Any) -> OrderState:
    """The state of an order after one signed success."""
    return known(message("payment.success", **{**document, "live": live}))


def verdict(
    state: OrderState, sale: Sale | None = SIMPLE, *, accept_unbound: bool = False, accept_test: bool = False
) -> Verdict:
    """The verdict, with the safe settings unless told otherwise."""
    return judge(state, sale, accept_unbound=accept_unbound, accept_test=accept_test)


def review(reason: Reason) -> Verdict:
    """A payment for staff to look at."""
    return Verdict(VerdictStatus.REVIEW, reason)


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
    (test, live, production): production is not None and production is not test and live is not test
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


ITEMS: list[tuple[Any, Reason]] = [
    ([{"id": "gem"}, {"id": "sword"}], Reason.NONE),
    ([{"id": "sword", "sku": "other"}, {"id": "gem"}], Reason.NONE),
    ([{"id": "gem"}], Reason.PRODUCTS),
    ([{"id": "gem"}, {"id": "gem"}], Reason.PRODUCTS),
    ([{"id": "gem"}, {"id": "sword"}, {"id": "sword"}], Reason.PRODUCTS),
    ([{"id": "gem"}, {"id": "shield"}], Reason.PRODUCTS),
    ([{"id": "gem"}, {"sku": "sword"}], Reason.PRODUCTS),
    ([], Reason.NO_ITEMS),
    (None, Reason.NO_ITEMS),
    ("gem,sword", Reason.NO_ITEMS),
]


@pytest.mark.spec("ORD-30", "ORD-35")
@pytest.mark.parametrize(("asked", "told"), [("product", "product"), ("product", "products"), ("key", "key")])
@pytest.mark.parametrize(("items", "reason"), ITEMS)
def test_the_products_are_those_asked(asked: str, told: str, items: object, reason: Reason) -> None:
    """By id, each as often as asked, in any order; the service sets the price."""
    state = success(**{**PAYS_GEMS, "type": told, "items": items, "amount": Decimal(1)})
    expected = review(reason) if reason else VERIFIED
    assert verdict(state, replace(GEMS, type=asked)) == expected


@pytest.mark.parametrize(
    ("amount", "currency", "expected"),
    [
        ("9.99", "USD", VERIFIED),
        ("9.98", "USD", review(Reason.AMOUNT)),
        ("9.99", "EUR", review(Reason.CURRENCY)),
    ],
)
def test_a_price_that_the_shop_set_is_compared(amount: str, currency: str, expected: Verdict) -> None:
    """For products too."""
    priced = replace(GEMS, expected_amount=Decimal("9.99"), currency="USD")
    assert verdict(success(**{**PAYS_GEMS, "amount": amount, "currency": currency}), priced) == expected


def test_a_key_is_no_product() -> None:
    """The type is the checkout's, not the one of a like order."""
    assert verdict(success(**{**PAYS_GEMS, "type": "key"}), GEMS) == review(Reason.TYPE)


@pytest.mark.spec("ORD-37")
@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (Decimal("500.0"), VERIFIED),
        (499, review(Reason.VIRTUAL_CURRENCY)),
        (None, review(Reason.VIRTUAL_CURRENCY)),
    ],
)
def test_the_virtual_currency_is_that_asked(told: object, expected: Verdict) -> None:
    """500 coins are 500 coins."""
    assert verdict(success(**{**PAYS_COINS, "virtual_currency_amount": told}), COINS) == expected


@pytest.mark.parametrize(
    ("items", "expected"), [([{"id": "coins"}], VERIFIED), (None, review(Reason.NO_ITEMS))]
)
def test_virtual_currency_sold_as_a_product(items: object, expected: Verdict) -> None:
    """Where no amount of it was asked, the products are compared."""
    asked = replace(COINS, virtual_currency_amount=None, products=("coins",))
    assert verdict(success(**{**PAYS_COINS, "items": items}), asked) == expected


@pytest.mark.parametrize(
    ("sale", "document", "reason"),
    [
        (replace(SIMPLE, expected_amount=None), PAYS_SIMPLE, Reason.AMOUNT),
        (replace(COINS, virtual_currency_amount=None), PAYS_COINS, Reason.VIRTUAL_CURRENCY),
        (replace(GEMS, products=()), PAYS_GEMS, Reason.PRODUCTS),
        (replace(GEMS, products=()), {**PAYS_GEMS, "items": []}, Reason.NO_ITEMS),
    ],
)
def test_a_sale_that_asks_nothing_is_paid_by_nothing(
    sale: Sale, document: dict[str, Any], reason: Reason
) -> None:
    """A checkout without content cannot be compared, so no payment of one cent grants it."""
    assert verdict(success(**document), sale) == review(reason)


VAT: list[tuple[Mapping[str, object], Verdict]] = [
    ({"vat_payer": "buyer", "original_amount": "9.99", "amount": "11.89"}, VERIFIED),
    ({"vat_payer": "buyer", "original_amount": "9.98", "amount": "9.99"}, review(Reason.AMOUNT)),
    ({"vat_payer": "buyer", "original_amount": None, "amount": "9.99"}, review(Reason.AMOUNT)),
    ({"vat_payer": "seller", "original_amount": "8.39", "amount": "9.99"}, VERIFIED),
    ({"vat_payer": "seller", "original_amount": "9.99", "amount": "8.39"}, review(Reason.AMOUNT)),
    ({"vat_payer": "nobody", "original_amount": None, "amount": "9.99"}, VERIFIED),
    ({"vat_payer": "nobody", "original_amount": "9.99", "amount": "9.98"}, review(Reason.AMOUNT)),
    ({"vat_payer": None, "original_amount": "9.99", "amount": "9.98"}, review(Reason.AMOUNT)),
    ({"vat_payer": "unheard of", "original_amount": "9.99", "amount": "9.98"}, review(Reason.AMOUNT)),
]


@pytest.mark.spec("ORD-33", "ORD-41")
@pytest.mark.parametrize(("told", "expected"), VAT)
def test_vat_that_is_added_for_the_buyer_is_not_the_shops_price(
    told: Mapping[str, object], expected: Verdict
) -> None:
    """Where the buyer pays it, ``original_amount`` is the price; else ``amount`` is."""
    assert verdict(success(**{**PAYS_SIMPLE, **told})) == expected


@pytest.mark.parametrize(
    ("currency", "asked", "told", "same"),
    [
        ("JPY", "100", "100.0", True),
        ("JPY", "100", "101", False),
        ("JPY", "100", "10000", False),
        ("JPY", "100", "1", False),
        ("USD", "100", "1", False),
        ("USD", "9.9", "9.90", True),
        ("KWD", "1.001", "1.0010", True),
        ("KWD", "1.001", "1.002", False),
        ("CLF", "1.0001", "1.0002", False),
        ("GEM", "1.00001", "1.00002", False),
        ("GEM", "1.5", "1.50", True),
    ],
)
def test_money_is_compared_to_the_last_place_of_its_currency(
    currency: str, asked: str, told: str, same: bool
) -> None:
    """Yen have no places, dinars three; an unknown currency is compared exactly."""
    sale = replace(SIMPLE, currency=currency, expected_amount=Decimal(asked))
    given = verdict(success(**{**PAYS_SIMPLE, "currency": currency, "amount": Decimal(told)}), sale)
    assert given == (VERIFIED if same else review(Reason.AMOUNT))


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
