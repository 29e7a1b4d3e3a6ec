"""The status that facts add up to, contradictions among them, and decisions of staff."""

from __future__ import annotations

import pytest

from checkout_integration.policy.contradictions import (
    DOUBLE_LOSS,
    LISTED_CANCELED_THOUGH_PAID,
    PAID_AND_CANCELED,
    of_facts,
)
from checkout_integration.policy.events import facts_of
from checkout_integration.policy.facts import Facts, decide, join
from checkout_integration.policy.observation import Observation
from checkout_integration.policy.status import displayed_status
from checkout_integration.protocol.vocabulary import OrderStatus
from tests.support.policy.observations import TIMING, at, creation, known, message, row, written


def facts(*observations: Observation) -> Facts:
    """The joined facts of these observations."""
    return known(*observations).facts


def status(*observations: Observation) -> str:
    """The displayed status."""
    return displayed_status(facts(*observations))


PAY = message("payment.success", 10, status="processed")
CANCEL = message("payment.cancel", 20, status="canceled", canceled_at=written(at(20)))
DECLINE = message("payment.cancel", 20, status="rejected")
REFUND = message("payment.refund", 30, status="refunded", refunded_at=written(at(30)))
CHARGEBACK = message("payment.chargeback", 40, status="chargeback")


@pytest.mark.parametrize(
    ("observations", "displayed"),
    [
        ([], "created"),
        ([creation()], "created"),
        ([row("pending")], "pending"),
        ([creation(), row("pending"), row("created", 99)], "pending"),
        ([row("pending", 99), CANCEL], "canceled"),
        ([row("pending", 99), DECLINE], "rejected"),
        ([row("created", 99), PAY], "processed"),
        ([row("pending", 99), PAY], "processed"),
        ([row("processed")], "processed"),
        ([PAY, REFUND], "refunded"),
        ([PAY, CHARGEBACK], "chargeback"),
        ([REFUND], "refunded"),
        ([CHARGEBACK, row("processed", 999)], "chargeback"),
        ([REFUND, message("payment.success", 999)], "refunded"),
        ([REFUND, message("payment.cancel", 999, status="canceled")], "refunded"),
    ],
)
@pytest.mark.spec("STA-01", "STA-09")
def test_classes(observations: list[Observation], displayed: str) -> None:
    """A higher class wins whatever the times."""
    assert status(*observations) == displayed
    assert status(*reversed(observations)) == displayed


@pytest.mark.spec("STA-04", "STA-05", "STA-06", "STA-07")
@pytest.mark.parametrize(
    ("first", "second", "displayed"),
    [
        (REFUND, CHARGEBACK, "chargeback"),
        (REFUND, message("payment.chargeback", 29), "refunded"),
        (REFUND, message("payment.chargeback", 30), "chargeback"),
        (PAY, CANCEL, "canceled"),
        (PAY, DECLINE, "rejected"),
        (PAY, message("payment.cancel", 9, status="canceled"), "processed"),
        (PAY, message("payment.cancel", 10, status="canceled"), "canceled"),
        (PAY, message("payment.cancel", 10, status="rejected"), "rejected"),
        (CANCEL, message("payment.cancel", 19, status="rejected"), "canceled"),
        (CANCEL, message("payment.cancel", 21, status="rejected"), "rejected"),
        (CANCEL, DECLINE, "canceled"),
    ],
)
def test_within_a_class_the_later_fact_is_shown(
    first: Observation, second: Observation, displayed: str
) -> None:
    """On a tie the one that ships no goods: chargeback, then the end of class 2, canceled before rejected."""
    assert status(first, second) == status(second, first) == displayed


@pytest.mark.spec("STA-02")
@pytest.mark.parametrize("observations", [[creation()], [row("created")], [creation(), row("created", 99)]])
def test_an_order_that_nobody_has_paid_is_created(observations: list[Observation]) -> None:
    """From our own call on, before the list has it and after: nothing else is known of it."""
    assert status(*observations) == "created"


@pytest.mark.spec("STA-03")
@pytest.mark.parametrize("end", ["rejected", "canceled"])
def test_an_end_known_only_from_the_list_never_beats_a_payment(end: str) -> None:
    """An order whose receiver failed for 48 hours turns rejected in the list although it is paid."""
    known = facts(PAY, row(end, 9999))
    assert displayed_status(known) == "processed"
    assert of_facts(known) == {LISTED_CANCELED_THOUGH_PAID}


@pytest.mark.spec("STA-04", "STA-05")
def test_a_listed_end_does_not_date_a_signed_one() -> None:
    """Only the signed time of an end is compared with the payment."""
    early_end = message("payment.cancel", 5, status="rejected")
    assert status(PAY, early_end, row("rejected", 9999)) == "processed"


def test_a_listed_end_does_not_choose_between_two_signed_ones() -> None:
    """Of two signed ends the later is shown, whatever the list says when."""
    later = message("payment.cancel", 30, status="rejected")
    assert status(PAY, CANCEL, later, row("canceled", 9999)) == "rejected"


@pytest.mark.spec("STA-04", "STA-05")
def test_a_listed_end_of_an_unpaid_order_is_shown() -> None:
    """Nothing speaks against it."""
    assert status(creation(), row("rejected")) == "rejected"


@pytest.mark.spec("STA-03", "STA-04")
@pytest.mark.parametrize(
    ("observations", "found"),
    [
        ([PAY, REFUND], set()),
        ([CANCEL, DECLINE], set()),
        ([PAY, CANCEL], {PAID_AND_CANCELED}),
        ([PAY, DECLINE, row("rejected")], {PAID_AND_CANCELED}),
        ([row("processed"), row("canceled")], {LISTED_CANCELED_THOUGH_PAID}),
        ([REFUND, CHARGEBACK], {DOUBLE_LOSS}),
        ([PAY, CANCEL, REFUND, CHARGEBACK], {PAID_AND_CANCELED, DOUBLE_LOSS}),
    ],
)
def test_contradictions(observations: list[Observation], found: set[str]) -> None:
    """Facts that no path of the specification combines need a decision of staff."""
    assert of_facts(facts(*observations)) == found


def test_a_decision_of_staff_outranks_what_is_known() -> None:
    """Staff have looked at the contradiction."""
    decided = decide(facts(PAY, CANCEL), OrderStatus.PROCESSED, at(50))
    assert displayed_status(facts(PAY, CANCEL)) == "canceled"
    assert displayed_status(decided) == "processed"


@pytest.mark.parametrize("again", [CANCEL, message("payment.cancel", 900, status="canceled")])
def test_a_decision_stands_when_the_same_fact_arrives_again(again: Observation) -> None:
    """A repetition of a known fact changes nothing."""
    decided = decide(facts(PAY, CANCEL), OrderStatus.PROCESSED, at(50))
    assert displayed_status(join(decided, facts_of(again, TIMING))) == "processed"


def test_a_fact_that_is_new_after_a_decision_counts() -> None:
    """A decision outranks the facts known at that moment, and no later ones."""
    decided = decide(facts(PAY, CANCEL), OrderStatus.PROCESSED, at(50))
    assert displayed_status(join(decided, facts_of(REFUND, TIMING))) == "refunded"


@pytest.mark.parametrize(("minutes", "displayed"), [(49, "processed"), (50, "canceled"), (51, "canceled")])
def test_a_decision_counts_at_its_own_time(minutes: int, displayed: str) -> None:
    """A signed end that arrives after it is compared with it like any other fact."""
    decided = decide(facts(PAY), OrderStatus.PROCESSED, at(50))
    end = message("payment.cancel", minutes, status="canceled")
    assert displayed_status(join(decided, facts_of(end, TIMING))) == displayed


def test_the_latest_decision_stands() -> None:
    """Whichever is read first."""
    known = facts(PAY, CANCEL)
    first = decide(known, OrderStatus.PROCESSED, at(50))
    second = decide(known, OrderStatus.CANCELED, at(60))
    assert displayed_status(join(first, second)) == displayed_status(join(second, first)) == "canceled"


@pytest.mark.spec("STA-06", "STA-07")
def test_a_reversal_may_be_undone_by_staff_only() -> None:
    """A list row with processed does not make it paid again."""
    reversed_facts = facts(PAY, REFUND, row("processed", 99999))
    assert displayed_status(reversed_facts) == "refunded"
    assert displayed_status(decide(reversed_facts, OrderStatus.PROCESSED, at(100))) == "processed"
