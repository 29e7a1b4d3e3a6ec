"""One refunded amount, wherever it is read; and a word to staff where money or goods are in doubt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.flows import accounting
from checkout_integration.flows.accounting import Mode, MoneyQuery, Period
from checkout_integration.models import Checkout, Incident, Order, Refund
from checkout_integration.signals import checkout_paid, checkout_reversed, payment_refund, payment_review
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.flows.shop import Listening, notification, record_listed

pytestmark = pytest.mark.django_db
PAID_AT = datetime.now(UTC) - timedelta(days=2)
A, B = PAID_AT + timedelta(hours=1), PAID_AT + timedelta(hours=1, minutes=5)
IN_EUROS = {"charge_amount": Decimal("9.10"), "charge_currency": "EUR"}


def paid(**charge: Any) -> dict[str, Any]:
    """A paid order of 9.99 USD."""
    created = {"created_at": PAID_AT.isoformat(), "transaction": "bank-1"}
    return order_document_for(CheckoutFactory(), **{**created, **charge})


def refund_of(order: dict[str, Any], amount: object, currency: str, at: datetime = A) -> dict[str, Any]:
    """The order with a refund of this amount."""
    refund = {"amount": amount, "currency": currency, "reason": "asked"}
    return {**order, "status": "refunded", "refunded": True, "refunded_at": at.isoformat(), "refund": refund}


def refunded() -> dict[str, Decimal]:
    """The sums of the page Money, by currency."""
    rows = accounting.money_rows(MoneyQuery(period=Period.last_days(7), mode=Mode.TEST))
    return {row.currency: row.sums.refunded for row in rows if row.sums.refunded}


def amounts() -> list[tuple[Decimal | None, str]]:
    """The amounts of the refunds' rows."""
    return list(Refund.objects.order_by("pk").values_list("amount", "currency"))


def questions() -> list[str]:
    """The kinds of the open incidents."""
    return sorted(Incident.objects.filter(resolved_at=None).values_list("kind", flat=True))


@pytest.mark.parametrize(
    ("charge", "amount", "currency", "status", "question"),
    [
        ({}, "2.00", "USD", "paid", ""),
        ({}, "2.00", "usd", "paid", ""),
        ({}, "2.00", "", "paid", ""),
        ({}, "2.00", "EUR", "reversed", "review:refund_currency"),
        ({}, "0.01", "EUR", "reversed", "review:refund_currency"),
        (IN_EUROS, "2.00", "USD", "paid", ""),
        (IN_EUROS, "9.10", "EUR", "reversed", ""),
        (IN_EUROS, "9.99", "USD", "reversed", ""),
        ({}, "99.99", "USD", "reversed", "refund_exceeded"),
        ({}, "-5", "USD", "paid", "review:refund_amount"),
        ({}, "0", "USD", "paid", "review:refund_amount"),
    ],
)
@pytest.mark.parametrize("listed", [False, True], ids=["notification", "list"])
def test_nothing_is_revoked_without_a_word(
    checkout_deliver: Deliver,
    listen: Listening,
    charge: dict[str, Any],
    amount: str,
    currency: str,
    status: str,
    question: str,
    listed: bool,
) -> None:
    """A refund that is not known to be a part or the whole of what was paid is a question for staff."""
    granted, revoked, review = listen(checkout_paid), listen(checkout_reversed), listen(payment_review)
    order = paid(**charge)
    refund = refund_of(order, Decimal(amount), currency)
    checkout_deliver(notification(order=order, at=PAID_AT))
    if listed:
        record_listed([{**refund, "id": "a document", "created_at": A.isoformat()}])
    else:
        checkout_deliver(notification("payment.refund", refund, at=A))
    flows.run_due()
    assert (Order.objects.get().status, Checkout.objects.get().status) == ("refunded", status)
    assert (len(granted), len(revoked)) == (1, int(status == "reversed"))
    assert questions() == ([question] if question else [])
    assert [f"review:{each['reason']}" for each in review] == [question] * question.startswith("review:")
    code = currency.upper() or "USD"
    expected = Decimal(amount) if Decimal(amount) > 0 else None
    assert amounts() == [(expected, code)]
    assert refunded() == ({code: expected} if expected else {})
    assert (Order.objects.get().refund_amount, Order.objects.get().refund_currency) == (expected, code)


def parts_of(order: dict[str, Any]) -> list[dict[str, Any]]:
    """Notifications of two refunds: of 3.00, delivered once more when it was too late, and of all that was paid."""
    first = notification("payment.refund", refund_of(order, Decimal("3.00"), "USD", A), at=A, id="same")
    again = {**first, "created_at": (A + timedelta(minutes=10)).isoformat(), "delivery_try": 1}
    second = notification("payment.refund", refund_of(order, Decimal("9.99"), "USD", B), at=B, id="same")
    return [first, second, again]


@pytest.mark.spec("RFD-01", "ORD-31")
@pytest.mark.parametrize("arrivals", [*permutations(range(3)), (1, 2)], ids=str)
def test_an_earlier_statement_that_arrives_later_lowers_nothing(
    checkout_deliver: Deliver, arrivals: Sequence[int]
) -> None:
    """Neither the order, nor its refunds, nor the sums, nor what receivers and customers read; nor does its day change."""
    order = paid()
    checkout_deliver(notification(order=order, at=PAID_AT))
    parts = parts_of(order)
    for position in arrivals:
        checkout_deliver(parts[position])
    known = Order.objects.get()
    assert (known.refund_amount, amounts(), refunded()) == (
        Decimal("9.99"),
        [(Decimal("9.99"), "USD")],
        {"USD": Decimal("9.99")},
    )
    assert known.refund is not None
    assert (known.refund.amount, known.refund.currency, known.refund.reason) == (
        Decimal("9.99"),
        "USD",
        "asked",
    )
    assert Refund.objects.get().refunded_at == B


@pytest.mark.parametrize("stated_first", [True, False])
def test_what_no_document_has_is_a_row_until_there_is_one(
    checkout_deliver: Deliver, stated_first: bool
) -> None:
    """Parts of 2.00 and 3.00 in the list, the rest by notification: each sum says 9.99."""
    order = paid()
    checkout_deliver(notification(order=order, at=PAID_AT))
    documents = [
        {**refund_of(order, Decimal(amount), "USD", at), "id": name, "created_at": at.isoformat()}
        for name, amount, at in (("a", "2.00", A), ("b", "3.00", B))
    ]
    steps: list[Callable[[], object]] = [
        lambda: record_listed(documents),
        lambda: checkout_deliver(
            notification("payment.refund", refund_of(order, Decimal("9.99"), "USD", B), at=B)
        ),
    ]
    for step in reversed(steps) if stated_first else steps:
        step()
    assert sorted(amount for amount, _ in amounts() if amount) == [2, 3, Decimal("4.99")]
    assert (refunded(), Order.objects.get().refund_amount) == ({"USD": Decimal("9.99")}, Decimal("9.99"))
    record_listed([{**documents[0], "id": "c", "refund": {"amount": Decimal("4.99"), "currency": "USD"}}])
    assert sorted(Refund.objects.values_list("document_id", flat=True)) == ["a", "b", "c"]
    assert refunded() == {"USD": Decimal("9.99")}


def test_parts_in_two_currencies_are_reviewed_until_one_is_complete(
    checkout_deliver: Deliver, listen: Listening
) -> None:
    """Then the question is over, and says so."""
    review, revoked = listen(payment_review), listen(checkout_reversed)
    listen(checkout_paid)
    order = paid(**IN_EUROS)
    checkout_deliver(notification(order=order, at=PAID_AT))
    record_listed([{**refund_of(order, Decimal("5.00"), "EUR"), "id": "a", "created_at": A.isoformat()}])
    checkout_deliver(notification("payment.refund", refund_of(order, Decimal("5.00"), "USD"), at=A))
    flows.run_due()
    assert ([each["reason"] for each in review], questions()) == (["refund_mixed"], ["review:refund_mixed"])
    assert not revoked
    assert refunded() == {"EUR": Decimal(5), "USD": Decimal(5)}
    checkout_deliver(
        notification("payment.refund", refund_of(order, Decimal("9.99"), "USD", B), at=B), delivery_try=1
    )
    flows.run_due()
    assert (len(revoked), questions(), refunded()) == (1, [], {"EUR": 5, "USD": Decimal("9.99")})
    over = Incident.objects.get()
    assert over.ended_itself and over.resolved_at and over.staff is None


def test_a_partial_refund_is_a_fact_and_no_question(checkout_deliver: Deliver, listen: Listening) -> None:
    """`payment_refund` says that it is a part."""
    facts, review = listen(payment_refund), listen(payment_review)
    order = paid()
    checkout_deliver(notification(order=order, at=PAID_AT))
    checkout_deliver(notification("payment.refund", refund_of(order, Decimal("2.00"), "USD"), at=A))
    flows.run_due()
    assert ([each["partial"] for each in facts], review, Incident.objects.count()) == ([True], [], 0)
    assert [each["refund"].amount for each in facts] == [2]
