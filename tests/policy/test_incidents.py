"""What asks for staff: contradictions, and payments in review while they stand."""

from __future__ import annotations

import pytest

from checkout_integration.policy.incidents import REVIEW, REVIEWED, causes
from checkout_integration.policy.observation import Observation
from checkout_integration.policy.verdict import Reason, Verdict, VerdictStatus
from tests.support.policy.observations import at, known, message, paid, row, written

PAY = paid(10)
CANCELED = message("payment.cancel", 20, status="canceled")
DECLINED = message("payment.cancel", 20, status="rejected")
REFUNDED = message("payment.refund", 30, status="refunded", refunded_at=written(at(30)))
CHARGED_BACK = message("payment.chargeback", 40, status="chargeback")
PARTLY = message("payment.refund", 30, status="refunded", refund={"amount": "1", "currency": "USD"})


@pytest.mark.parametrize(
    ("before", "then", "codes"),
    [
        ([PAY], CANCELED, ("paid_and_canceled",)),
        ([CANCELED], PAY, ("paid_and_canceled",)),
        ([PAY, CANCELED], DECLINED, ()),
        ([PAY], row("canceled", 60), ("listed_canceled_though_paid",)),
        ([PAY, REFUNDED], CHARGED_BACK, ("double_loss",)),
        ([PAY], PARTLY, ()),
        ([PAY], paid(11, amount="1"), ("conflict:amount",)),
        ([PAY], row("processed", 60, currency="EUR", amount="1"), ("conflict:amount", "conflict:currency")),
        ([], PAY, ()),
    ],
)
def test_contradictions_are_reported_when_they_are_first_seen(
    before: list[Observation], then: Observation, codes: tuple[str, ...]
) -> None:
    """They are not reported again for the same observation."""
    first, verified = known(*before), Verdict(VerdictStatus.VERIFIED)
    second = known(then, before=first)
    kinds = {f"{REVIEW}{code}" if code in REVIEWED else code for code in codes}
    assert causes(second, verified) - causes(first, verified) == kinds
    assert causes(known(then, before=second), verified) == causes(second, verified)


def test_a_payment_in_review_is_a_question_while_it_stands() -> None:
    """It is none once it was refunded."""
    unbound = Verdict(VerdictStatus.REVIEW, Reason.UNBOUND)
    assert causes(known(PAY), unbound) == {"review:unbound"}
    assert causes(known(PAY, PARTLY), unbound) == {"review:unbound"}
    assert causes(known(PAY, REFUNDED), unbound) == set()
    assert causes(known(PAY), Verdict(VerdictStatus.VERIFIED)) == set()


@pytest.mark.parametrize(
    ("code", "reviewed"),
    [
        ("paid_and_canceled", True),
        ("double_loss", True),
        ("refund_currency", True),
        ("refund_mixed", True),
        ("refund_amount", True),
        ("refund_exceeded", False),
        ("conflict:amount", True),
        ("conflict:charge_currency", True),
        ("conflict:created_at", False),
        ("listed_canceled_though_paid", False),
        ("listed_rejected_with_transaction", False),
    ],
)
def test_some_contradictions_are_announced_to_staff(code: str, reviewed: bool) -> None:
    """Those about money and goods are; the others are incidents only."""
    assert (code in REVIEWED) is reviewed
