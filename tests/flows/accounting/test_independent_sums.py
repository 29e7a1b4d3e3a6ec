"""Sums of sales of every kind, against the books of an accountant who has added them up by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import combinations
from random import Random
from typing import Any

import pytest

from checkout_integration.conf import app_settings
from checkout_integration.flows import accounting
from checkout_integration.flows.accounting import AMOUNTS, Dimension, Mode, MoneyQuery, MoneyRow, Period
from checkout_integration.flows.ledger import Cause
from checkout_integration.models import Order
from checkout_integration.models.order import IS_PAYMENT
from checkout_integration.policy import facts as fact_rules
from checkout_integration.policy.facts import Decision, Facts, Slot, slot_key
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.policy.state import OrderState
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.vocabulary import OrderStatus
from tests.support.admin import rows
from tests.support.flows.generated_money import ZONE, Key, Sale, booked, generated
from tests.support.flows.recording import record
from tests.support.scale import times

pytestmark = pytest.mark.django_db
MONTHS = (
    (date(2026, 3, 1), date(2026, 3, 31)),
    (date(2026, 4, 1), date(2026, 4, 30)),
    (date(2026, 3, 1), date(2026, 6, 30)),
)
BY = (Dimension.DAY, Dimension.METHOD, Dimension.COUNTRY)
CHOSEN = (
    *(chosen for size in range(len(BY) + 1) for chosen in combinations(BY, size)),
    *((Dimension.MONTH,), (Dimension.PRODUCT,), (Dimension.ORIGIN,)),
    (Dimension.MONTH, Dimension.COUNTRY, Dimension.PRODUCT, Dimension.ORIGIN),
)


def take(sales: list[Sale], random: Random) -> None:
    """Record what the service says of the sales, some of it twice, each sale in its order."""
    minute = timedelta(minutes=1)
    for sale in sales:
        for number, (event, document) in enumerate(sale.said):
            observation = Observation(
                source=Source.NOTIFICATION if event else Source.LIST,
                order=parse_order(document),
                event=event,
                observed_at=sale.created_at + (number + 1) * minute,
                live=False if event else None,
            )
            for _ in range(random.choice((1, 1, 2))):
                record(app_settings().project(), [observation], Cause(source=observation.source))


def summed(money: list[MoneyRow], columns: list[str]) -> Counter[Key]:
    """The same names as in the books; a value of zero is left out."""
    sums: Counter[Key] = Counter()
    for row in money:
        values = [str(row.by[column]) for column in columns]
        counts = {
            name: getattr(row.sums, name) for name in ("payments", "contradicted", "refunds", "chargebacks")
        }
        amounts = {name: getattr(row.sums, name) or 0 for name in AMOUNTS}
        stated = {f"{name}_stated": row.sums.stated[name] for name in AMOUNTS}
        unstated = {f"{name}_unstated": row.sums.unstated[name] for name in AMOUNTS}
        for name, value in (counts | amounts | stated | unstated).items():
            sums[name, row.currency, *values] += value
        for name in AMOUNTS:
            assert (getattr(row.sums, name) is None) == (row.sums.stated[name] == 0)
    return Counter({key: value for key, value in sums.items() if value})


@pytest.mark.spec(
    "ORD-22",
    "ORD-23",
    "ORD-26",
    "ORD-27",
    "ORD-28",
    "ORD-34",
    "ORD-39",
    "ORD-40",
    "MTH-04",
    "RFD-01",
    "STA-06",
    "STA-07",
)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(times(2, 25, 1)))
def test_the_sums_are_those_of_an_accountant(settings: Any, seed: int) -> None:
    """In each currency, day, month, country, method, product and origin; unknown is not added, and counted."""
    settings.TIME_ZONE = ZONE.key
    sales = generated(seed, times(60, 200, 40))
    take(sales, Random(seed))
    for first, last in MONTHS:
        for by in CHOSEN:
            query = MoneyQuery(period=Period(first=first, last=last), by=by, mode=Mode.TEST)
            for on_payment_day in (False, True):
                found = accounting.money_rows(replace(query, on_payment_day=on_payment_day))
                days = first.isoformat(), last.isoformat()
                assert summed(found, query.columns) == booked(
                    sales, query.columns, *days, on_payment_day=on_payment_day
                )
                assert summed(accounting.totals_of(found), []) == _without(summed(found, query.columns))


def _without(sums: Counter[Key]) -> Counter[Key]:
    """The sums of each currency alone."""
    totals: Counter[Key] = Counter()
    for (name, currency, *_values), value in sums.items():
        totals[name, currency] += value
    return totals


@pytest.mark.parametrize("seed", range(times(1, 20)))
def test_the_condition_of_a_payment_is_that_of_the_policy(seed: int) -> None:
    """Whatever is known of an order, and whatever it is shown as."""
    random, settled = Random(seed), set()
    keys = [slot_key(kind, source) for kind in OrderStatus for source in (Source.NOTIFICATION, Source.LIST)]
    for _ in range(60):
        known = random.sample(keys, random.randrange(1, 4))
        facts = Facts(
            slots={key: Slot(at=f"2026-03-0{random.randrange(1, 9)}T12:00:00.000000Z") for key in known}
        )
        reversals = {key for key in known if key.startswith(("refunded", "chargeback"))}
        if reversals and random.random() < 0.5:
            at = "2026-03-05T12:00:00.000000Z"
            facts = replace(
                facts, decision=Decision(status=OrderStatus.PROCESSED, at=at, known=frozenset(reversals))
            )
        state = OrderState(facts=facts)
        order = rows.make_order(status=state.status.value, facts=fact_rules.to_json(facts))
        settled |= {order.pk} if state.settled else set()
    assert set(Order.objects.filter(IS_PAYMENT).values_list("pk", flat=True)) == settled
    hidden = Order.objects.filter(pk__in=settled, status__in=("canceled", "rejected"))
    assert hidden.exists()


def test_a_payment_refunded_in_two_currencies_is_one() -> None:
    """In the row of its price; each part is in the row of its own currency."""
    order = rows.make_order(status="refunded")
    rows.make_refund(order, amount="1.00", currency="USD")
    rows.make_refund(order, amount="2.00", currency="EUR")
    rows.make_refund(order, amount=None, currency="")
    march = Period(first=date(2026, 3, 1), last=date(2026, 3, 31))
    found = accounting.money_rows(MoneyQuery(period=march, mode=Mode.TEST))
    sums = {row.currency: row.sums for row in found}
    assert {currency: each.refunds for currency, each in sums.items()} == {"EUR": 0, "USD": 1}
    assert (sums["USD"].refunded, sums["EUR"].refunded) == (Decimal(1), Decimal(2))
    assert (sums["USD"].unstated["refunded"], sums["EUR"].unstated["refunded"]) == (1, 0)
