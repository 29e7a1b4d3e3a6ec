"""The sums of a history, against those that the sandbox's own list gives when it is added up item by item."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, transaction

from checkout_integration import flows
from checkout_integration.flows import accounting
from checkout_integration.flows.accounting import Dimension, Mode, MoneyQuery, MoneyRow, Period
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.admin import rows
from tests.support.documents import block
from tests.support.flows.seeded_money import Key, listed, seeded, sums_of
from tests.support.flows.shop import notification
from tests.support.plans import analyze, empty_tables, multiply, plans_of
from tests.support.scale import times

pytestmark = pytest.mark.django_db(transaction=True)
PERIOD = Period(first=date(2026, 3, 1), last=date(2026, 6, 30))
MARCH = Period(first=date(2026, 3, 1), last=date(2026, 3, 31))
SUMS = ("payments", "gross", "charged", "tax", "fee", "net", "refunded", "charged_back")
ORDERS = times(63, 1_000)


def sums_here(sums_of_rows: list[MoneyRow]) -> Counter[Key]:
    """The sums of rows by day, country and VAT."""
    sums: Counter[Key] = Counter()
    for row in sums_of_rows:
        rate = format(row.by["tax_rate"].normalize(), "f")
        for name in SUMS:
            key = (
                name,
                row.currency,
                row.by["day"].isoformat(),
                row.by["country"],
                rate,
                row.by["vat_payer"],
            )
            sums[key] += getattr(row.sums, name) or 0
    return sums


@pytest.mark.slow
@pytest.mark.spec(
    "ORD-22", "ORD-26", "ORD-27", "ORD-28", "ORD-34", "ORD-40", "ORD-41", "RFD-01", "STA-06", "STA-07"
)
@pytest.mark.parametrize("profile", ["field", "spec"])
@pytest.mark.parametrize("notified", [False, True], ids=["list", "notifications and list"])
def test_sums_equal_those_of_the_services_list(
    settings: Any, request: pytest.FixtureRequest, profile: str, notified: bool
) -> None:
    """To the last cent, by currency, day, country, rate and payer of VAT; over the beginning of summer time."""
    shop = request.getfixturevalue("live_server").url if notified else ""
    with seeded(settings, shop, profile, ORDERS):
        assert flows.sync.sync_transactions(lane="all").state == "complete"
        expected = sums_of(listed())
    by = (Dimension.DAY, Dimension.COUNTRY, Dimension.VAT)
    here = sums_here(accounting.money_rows(MoneyQuery(period=PERIOD, by=by, mode=Mode.TEST)))
    for name in ("fee", "net") if profile == "field" else ():  # the list of deployed services has neither
        here = Counter({key: amount for key, amount in here.items() if key[0] != name})
    if (
        profile == "spec"
    ):  # its list says when an order was created and refunded, and not when it was charged back
        here = _without_days_of_chargebacks(here)
    assert {key: amount for key, amount in here.items() if amount} == dict(+expected)
    assert {"refunded", "charged_back", "tax"} <= {key[0] for key in expected}
    assert len({key[1:4] for key in expected}) > 40


def _without_days_of_chargebacks(sums: Counter[Key]) -> Counter[Key]:
    summed: Counter[Key] = Counter()
    for (name, currency, day, country, rate, payer), amount in sums.items():
        summed[name, currency, "" if name == "charged_back" else day, country, rate, payer] += amount
    return summed


@pytest.mark.django_db
def test_the_page_computes_vat_and_a_week() -> None:
    """docs/money.md: its example."""
    books: dict[str, Any] = {}
    exec(block("docs/money.md", "# shop/books.py"), books)
    vat: dict[str, Any] = {
        "tax_amount": "1.60",
        "tax_currency": "USD",
        "tax_rate": "0.19",
        "vat_payer": "seller",
        "country": "DE",
    }
    rows.make_order(**vat)
    rows.make_order(**vat, created_at=datetime.now(UTC), status="refunded")
    rows.make_refund(rows.make_order(status="refunded", created_at=datetime.now(UTC)), refunded_at=None)
    assert books["vat_of_march"]()["USD", "DE", Decimal("0.19"), "seller"] == Decimal("1.60")
    assert books["vat_of_march"]("other") == {}
    assert "19.98 USD, 1 refunded" in books["this_week"]()


@pytest.mark.spec("ORD-06", "ORD-11")
@pytest.mark.django_db
def test_a_reversal_counts_on_its_day_or_on_that_of_its_payment() -> None:
    """As the query says; one without a time on the day when it was first seen."""
    order = rows.make_order(status="refunded")  # on 4 March
    rows.make_refund(order, refunded_at=rows.NOON + timedelta(days=9), amount="2.00")
    rows.make_refund(order, refunded_at=None, amount="3.00")
    query = MoneyQuery(period=MARCH, by=[Dimension.DAY], mode=Mode.TEST)

    def refunded(query: MoneyQuery) -> dict[int, Decimal]:
        found = accounting.money_rows(query)
        return {row.by["day"].day: row.sums.refunded for row in found if row.sums.refunded is not None}

    assert refunded(query) == {13: Decimal(2)}
    assert refunded(replace(query, on_payment_day=True)) == {4: Decimal(5)}
    found = accounting.money_rows(MoneyQuery(period=Period.last_days(1), mode=Mode.TEST))
    assert [(row.currency, row.sums.refunded, row.sums.refunds, row.sums.refund_rate) for row in found] == [
        ("EUR", Decimal(3), 0, None),
        ("USD", None, 1, None),
    ]


@pytest.mark.django_db
def test_a_restored_payment_counts_as_paid() -> None:
    """The dispute was won: its chargeback stands no more."""
    order = rows.make_order(status="processed")
    rows.make_refund(order, status="chargeback")
    sums = [row.sums for row in accounting.money_rows(MoneyQuery(period=MARCH, mode=Mode.TEST))]
    assert sum(each.payments for each in sums) == 1
    assert [each.charged_back for each in sums] == [None, None]


@pytest.mark.django_db
@pytest.mark.parametrize("status", ["created", "pending", "canceled", "rejected"])
def test_what_was_not_paid_is_no_money(status: str) -> None:
    """Only a success, or its reversal, is a payment."""
    rows.make_order(status=status)
    assert accounting.money_rows(MoneyQuery(period=MARCH, mode=Mode.TEST)) == []


@pytest.mark.django_db
def test_too_many_groups_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than read without bound."""
    monkeypatch.setattr("checkout_integration.flows.accounting.sums.MOST_GROUPS", 2)
    for country in ("DE", "FR", "US"):
        rows.make_order(country=country)
    query = MoneyQuery(period=MARCH, mode=Mode.TEST)
    assert len(accounting.money_rows(query)) == 2
    with pytest.raises(accounting.TooManyRows):
        accounting.money_rows(replace(query, by=[Dimension.COUNTRY]))


@pytest.mark.postgres
@pytest.mark.django_db
def test_a_long_period_is_grouped_in_memory() -> None:
    """Even where the database has next to none for a statement; a larger limit of the shop's stands."""
    empty_tables()
    different = {"charge_currency": "chr(65 + mod(n, 20))", "tax_currency": "chr(65 + mod(n / 20, 20))"}
    multiply(rows.make_order(), "order_id", 8_000, **different)
    analyze()
    year = MoneyQuery(
        period=Period(first=date(2026, 1, 1), last=date(2026, 12, 31)), by=[Dimension.DAY], mode=Mode.TEST
    )

    def memory(least: str) -> tuple[set[str], str]:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL work_mem = '{least}'")
            plan = plans_of(lambda: accounting.money_rows(year))[1]
            cursor.execute("SHOW work_mem")
            return plan.kinds(), cursor.fetchone()[0]

    assert memory("64kB") == ({"Aggregate", "Limit", "Seq Scan"}, "64MB")
    assert memory("128MB")[1] == "128MB"


@pytest.mark.spec("STA-07")
def test_a_chargeback_without_an_amount_counts_with_the_whole_charge(checkout_deliver: Deliver) -> None:
    """The specification fills the refund object of refunds only."""
    checkout = CheckoutFactory()
    order = order_document_for(checkout, charge_amount=Decimal("9.20"), charge_currency="EUR")
    checkout_deliver(notification("payment.success", order))
    checkout_deliver(notification("payment.chargeback", {**order, "status": "chargeback", "refund": None}))
    lost = [
        (row.currency, row.sums.chargebacks, row.sums.charged_back)
        for row in accounting.money_rows(MoneyQuery(period=Period.last_days(2), mode=Mode.TEST))
    ]
    assert ("EUR", 0, Decimal("9.20")) in lost
    assert (checkout.currency, 1, None) in lost


@pytest.mark.spec("RFD-01", "STA-06")
@pytest.mark.django_db
def test_a_payment_refunded_in_parts_is_one_refunded_payment() -> None:
    """In one row; each part adds to the money."""
    order = rows.make_order(status="refunded")
    for amount in ("2.00", "3.00"):
        rows.make_refund(order, refunded_at=rows.NOON, amount=amount, currency=order.currency)
    found = accounting.money_rows(MoneyQuery(period=MARCH, mode=Mode.TEST))
    sums = {row.currency: (row.sums.refunds, row.sums.refunded) for row in found}
    assert sums[order.currency] == (1, Decimal(5))
