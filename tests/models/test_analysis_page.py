"""The questions of docs/analysis.md, answered by the database that the tests run on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

import pytest
from django.db import connection

from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.documents import ROOT

pytestmark = pytest.mark.django_db

PAGE: Final = (ROOT / "docs" / "analysis.md").read_text(encoding="utf-8")
QUESTIONS: Final = dict(re.findall(r"^## (.+?)\n.*?^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
MEMBER: Final = re.compile(r"\bdocument((?: -> '\w+')*) ->> '(\w+)'")
"""A member of a document as PostgreSQL and SQLite name it."""

ANSWERS: Final[dict[str, list[tuple[Any, ...]]]] = {
    "Sales by method and country": [
        ("bank_card", "DE", "EUR", 2, Decimal("30.10")),
        ("wallet", "FR", "EUR", 1, Decimal("5.05")),
    ],
    "Sales by month": [("2026-02", "EUR", 1, Decimal("5.05")), ("2026-03", "EUR", 2, Decimal("30.10"))],
    "Refunds by reason": [("duplicate", "EUR", 1, Decimal("7.00"))],
    "Sales by coupon": [("AUTUMN", "EUR", 1, Decimal("5.05")), ("SPRING", "EUR", 1, Decimal("10.10"))],
    "Chargebacks by card brand": [("VISA", 2), ("MASTERCARD", 1)],
    "Why payments are canceled or rejected": [("51", "bank_card", 2), ("05", "wallet", 1)],
    "Which items sell best": [("sword", "Golden sword", 2), ("gem", "Gem", 1)],
    "Tax by country": [
        ("DE", Decimal("0.19"), "EUR", Decimal("3.80")),
        ("FR", Decimal("0.2"), "EUR", Decimal("0.84")),
    ],
    "What the service keeps, by method": [
        ("bank_card", "EUR", Decimal("1.51"), 2),
        ("wallet", "EUR", Decimal("0.25"), 1),
    ],
    "How many purchases of a campaign were paid": [("letter", "spring", 2, 1), ("radio", "", 1, 0)],
}


def pay(amount: str, **changes: Any) -> None:
    """A payment of a checkout at this price."""
    metadata, origin = changes.pop("metadata", {}), changes.pop("origin", {})
    checkout = CheckoutFactory(expected_amount=Decimal(amount), currency="EUR", metadata=metadata, **origin)
    OrderFactory(checkout=checkout, **changes)


def rejected(code: str, kind: str) -> None:
    """A payment that the bank refused."""
    cancellation = {"code": code, "reason": "no"}
    OrderFactory(status="rejected", cancellation=cancellation, method={"type": kind})


@pytest.fixture(autouse=True)
def sales() -> None:
    """Three sales, one refund, three chargebacks, three refusals and two purchases that were not paid."""
    sword, gem = {"sku": "sword", "name": "Golden sword"}, {"sku": "gem", "name": "Gem"}
    tax = {"type": "VAT", "rate": Decimal("0.19"), "amount": Decimal("1.90"), "currency": "EUR"}
    march = {
        "created_at": "2026-03-05T10:00:00Z",
        "country": "DE",
        "method": {"type": "bank_card"},
        "tax": tax,
    }
    fee = {"amount": Decimal("0.75"), "currency": "EUR"}
    letter = {"utm_source": "letter", "utm_campaign": "spring"}
    pay("10.10", **march, fee=fee, items=[sword, gem], metadata={"coupon": "SPRING"}, origin=letter)
    pay("20.00", **march, fee={**fee, "amount": Decimal("0.76")}, items=[sword])
    pay(
        "5.05",
        created_at="2026-02-11T10:00:00Z",
        country="FR",
        method={"type": "wallet"},
        tax={**tax, "rate": Decimal("0.2"), "amount": Decimal("0.84")},
        fee={**fee, "amount": Decimal("0.25")},
        items=[],
        metadata={"coupon": "AUTUMN"},
    )
    refund = {"amount": Decimal("7.00"), "currency": "EUR", "reason": "duplicate", "code": "1"}
    pay("7.00", status="refunded", refund=refund)
    for brand in ("VISA", "VISA", "MASTERCARD"):
        OrderFactory(status="chargeback", method={"type": "bank_card", "card": {"brand": brand}})
    for code, kind in (("51", "bank_card"), ("51", "bank_card"), ("05", "wallet")):
        rejected(code, kind)
    CheckoutFactory(**letter)
    CheckoutFactory(utm_source="radio")


def as_this_database_says_it(question: str) -> str:
    """The question with members of documents as the page tells users of MariaDB to write them."""
    if connection.vendor != "mysql":
        return question
    return MEMBER.sub(_json_value, question)


def _json_value(member: re.Match[str]) -> str:
    path = ".".join([*re.findall(r"\w+", member[1]), member[2]])
    return f"JSON_VALUE(document, '$.{path}')"


def plain(rows: Iterable[Iterable[Any]]) -> list[tuple[Any, ...]]:
    """The rows with numbers as all databases could write them: SQLite adds binary floats."""
    return [
        tuple(
            value if isinstance(value, str) or value is None else round(Decimal(str(value)), 6)
            for value in row
        )
        for row in rows
    ]


def test_the_page_has_ten_questions() -> None:
    """Each with its answer here."""
    assert list(QUESTIONS) == list(ANSWERS) and len(ANSWERS) == 10


@pytest.mark.parametrize("question", ANSWERS)
def test_the_tables_answer(question: str) -> None:
    """As the page asks them, in the sequence that it asks for."""
    with connection.cursor() as cursor:
        cursor.execute(as_this_database_says_it(QUESTIONS[question]))
        assert plain(cursor.fetchall()) == plain(ANSWERS[question])
