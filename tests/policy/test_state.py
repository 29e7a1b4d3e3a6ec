"""An order's state: paid, partly and fully reversed, what staff should look at."""

from __future__ import annotations

from typing import Any

import pytest

from checkout_integration.policy.observation import Observation
from checkout_integration.policy.unreadable import unknown_words
from checkout_integration.protocol.vocabulary import OrderStatus
from tests.support.policy.observations import at, creation, known, message, paid, row, written

PAID = paid(charge_amount="9.99", charge_currency="USD", transaction="t-1")


def refund(minutes: float = 30, /, **given: Any) -> Observation:
    """A refund of so much."""
    return message(
        "payment.refund", minutes, status="refunded", refunded_at=written(at(minutes)), refund=given or None
    )


@pytest.mark.spec("STA-02")
def test_nothing_known_is_created() -> None:
    """The initial state of an order."""
    state = known()
    assert (state.status, state.succeeded, state.stands, state.fully_reversed) == (
        "created",
        False,
        False,
        False,
    )
    assert state.contradictions == set()


def test_a_partial_refund_tells_of_a_payment() -> None:
    """Its success was lost, but the rest of the money is with the shop: the order is paid."""
    state = known(creation(charge_amount="9.99", charge_currency="USD"), refund(amount="1", currency="USD"))
    assert (state.status, state.partial, state.stands) == ("refunded", True, True)


@pytest.mark.spec("STA-03", "EVT-03")
def test_a_success_is_paid() -> None:
    """Whatever its object says."""
    state = known(creation(), PAID)
    assert (state.status, state.succeeded, state.stands, state.fully_reversed) == (
        "processed",
        True,
        True,
        False,
    )


@pytest.mark.spec("RFD-01", "RFD-02")
@pytest.mark.parametrize(
    "given",
    [
        {"amount": "9.99", "currency": "USD"},
        {"amount": "9.99"},
        {"amount": "12.00", "currency": "USD"},
        {"amount": "5.00", "currency": "EUR"},
        {"amount": "5.00", "currency": "EURO"},
        {"currency": "USD"},
        {},
    ],
)
def test_a_refund_is_full_unless_it_is_known_to_be_smaller(given: dict[str, str]) -> None:
    """An amount that is missing, or in a currency that was not paid, is no proof of a remainder."""
    state = known(PAID, refund(**given))
    assert (state.partial, state.fully_reversed, state.stands, state.succeeded) == (False, True, False, True)


@pytest.mark.spec("RFD-01", "STA-06")
@pytest.mark.parametrize("given", [{"amount": "9.98", "currency": "USD"}, {"amount": "5"}])
def test_a_smaller_refund_is_partial(given: dict[str, str]) -> None:
    """It reverses nothing, and is nothing to look at."""
    state = known(PAID, refund(**given))
    assert (state.status, state.partial, state.fully_reversed, state.stands) == (
        "refunded",
        True,
        False,
        True,
    )
    assert state.contradictions == set()


@pytest.mark.spec("ORD-40")
def test_a_refund_is_measured_by_what_the_card_paid() -> None:
    """The charge may be in another currency than the price; a refund in the price's is measured by the price."""
    charged = paid(amount="9.99", currency="USD", charge_amount="1500", charge_currency="JPY")
    assert known(charged, refund(amount="1499", currency="JPY")).partial
    assert known(charged, refund(amount="9.00", currency="USD")).partial
    assert not known(charged, refund(amount="9.99", currency="USD")).partial
    assert known(paid(), refund(amount="9.00", currency="USD")).partial


@pytest.mark.spec("STA-07")
@pytest.mark.parametrize("minutes", [10, 60])
def test_nothing_is_left_after_a_chargeback(minutes: float) -> None:
    """A partial refund before or after it does not make the order paid."""
    state = known(PAID, refund(30, amount="1"), message("payment.chargeback", minutes, status="chargeback"))
    assert (state.partial, state.fully_reversed, state.stands) == (False, True, False)
    assert "double_loss" in state.contradictions


@pytest.mark.spec("EVT-08")
def test_a_canceled_payment_stands() -> None:
    """Taking goods back is a person's decision."""
    state = known(PAID, message("payment.cancel", 30, status="canceled"))
    assert (state.status, state.stands, state.fully_reversed, state.succeeded) == (
        "canceled",
        True,
        False,
        True,
    )


@pytest.mark.parametrize(
    ("observation", "found"),
    [
        (row("rejected", transaction="t-1"), True),
        (row("rejected", transaction=""), False),
        (row("rejected", transaction="t-1", cancellation={"code": "02"}), False),
        (row("canceled", transaction="t-1"), False),
        (message("payment.cancel", status="rejected", transaction="t-1"), False),
    ],
)
def test_a_listed_rejected_order_with_a_transaction_may_be_paid(
    observation: Observation, found: bool
) -> None:
    """After 48 hours of refusals the list shows a paid order as rejected, without a message."""
    assert ("listed_rejected_with_transaction" in known(observation).contradictions) is found


def test_a_listed_rejected_order_that_was_declined_is_not_paid() -> None:
    """The service said so itself."""
    declined = message("payment.cancel", status="rejected", transaction="t-1")
    assert known(row("rejected", transaction="t-1"), declined).contradictions == set()


@pytest.mark.spec("STA-01", "WHK-03")
@pytest.mark.parametrize(
    ("observation", "words"),
    [
        (message("payment.success", status="processed"), set()),
        (message("payment.success", status=""), set()),
        (message("payment.success"), set()),
        (message("payment.success", status="unheard of"), {"unknown_status"}),
        (message("payment.unheard_of", status="processed"), {"unknown_event"}),
        (message("payment.unheard_of", status="unheard of"), {"unknown_event", "unknown_status"}),
        (row("unheard of"), {"unknown_status"}),
        *((row(status), set()) for status in OrderStatus),
        (creation(), set()),
    ],
)
def test_unknown_words_are_named(observation: Observation, words: set[str]) -> None:
    """They are stored, never refused, and shown as incidents."""
    assert unknown_words(observation) == words
