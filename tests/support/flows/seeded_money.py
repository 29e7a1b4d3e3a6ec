"""A history of payments in several currencies, countries and rates of VAT, and the sums that the sandbox's list says."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import requests
import time_machine

from checkout_integration import flows
from checkout_integration.conf import app_settings
from checkout_integration.sandbox import Card, CryptoCurrency, VirtualClock, Wallet
from checkout_integration.testing.service import CheckoutSandbox, running_sandbox

BEGIN: Final = datetime(2026, 3, 27, 20, 30, tzinfo=UTC)
"""Two days before summer time begins in Europe, in the evening."""
STEP: Final = timedelta(hours=1, minutes=10)
ZONE: Final = ZoneInfo("Europe/Berlin")
PRICES: Final = (("9.99", "USD"), ("4.49", "EUR"), ("1500", "JPY"), ("0.10", "GBP"), ("3.333", "KWD"))
COUNTRIES: Final = ("DE", "FR", "US", "JP")
PAYERS: Final = ("buyer", "seller", "nobody")
CHARGES: Final = (("", 1), ("", 1), ("CHF", "0.93"))
METHODS: Final = (Card(), Wallet(account="ada"), CryptoCurrency(address="bc1ada"))
Act = Callable[[CheckoutSandbox, str], object]
Key = tuple[str, str, str, str, str, str]
"""Name of the sum, currency, day, country, rate and payer of VAT."""


def _refund_part(sandbox: CheckoutSandbox, order_id: str) -> None:
    charged = sandbox.ledger.find(order_id)
    assert charged is not None
    unit = Decimal(1) if charged.charge_currency == "JPY" else Decimal("0.01")
    sandbox.refund(order_id, unit)


def _refund_in_parts(sandbox: CheckoutSandbox, order_id: str) -> None:
    _refund_part(sandbox, order_id)
    sandbox.refund(order_id)


ACTS: Final[Sequence[Act]] = (
    lambda sandbox, order_id: None,
    lambda sandbox, order_id: sandbox.refund(order_id),
    lambda sandbox, order_id: None,
    _refund_part,
    lambda sandbox, order_id: sandbox.chargeback(order_id),
    _refund_in_parts,
    lambda sandbox, order_id: None,
)


@contextmanager
def seeded(settings: Any, shop: str, profile: str, orders: int) -> Iterator[CheckoutSandbox]:
    """Let so many payments be made, and some be reversed days later, in a simulated time that goes on during the test."""
    settings.TIME_ZONE = ZONE.key
    with (
        time_machine.travel(BEGIN, tick=True) as time,
        running_sandbox(settings, shop, profile=profile, clock=VirtualClock(BEGIN)) as sandbox,
    ):

        def go_on(step: timedelta) -> None:
            time.shift(step)
            sandbox.clock.advance(step.total_seconds())

        paid = [_pay(sandbox, number, go_on) for number in range(orders)]
        for order_id, act in zip(paid, itertools.cycle(ACTS)):
            go_on(STEP / 2)
            if order_id:
                act(sandbox, order_id)
        go_on(timedelta(hours=1))
        yield sandbox


def _pay(sandbox: CheckoutSandbox, number: int, go_on: Callable[[timedelta], None]) -> str:
    """Pay an order; return its id, "" for one that was declined or cannot be refunded."""
    (project_id,) = (each.project_id for each in app_settings().projects.values())
    go_on(STEP)
    charge, rate = CHARGES[number % len(CHARGES)]
    price, currency = PRICES[number % len(PRICES)]
    payer = PAYERS[number // 2 % len(PAYERS)]
    sandbox.projects.update(project_id, vat_payer=payer, charge_currency=charge, charge_rate=Decimal(rate))
    checkout = flows.create_checkout(amount=Decimal(price), currency=currency)
    go_on(timedelta(minutes=10))
    if number % 11 == 10:
        sandbox.decline(checkout.order_id)
        return ""
    method = METHODS[number // 3 % len(METHODS)]
    country = COUNTRIES[number // 5 % len(COUNTRIES)]
    sandbox.pay(checkout.order_id, method, billing_country=country, receipt_email="ada@buyers.example")
    return "" if isinstance(method, CryptoCurrency) else checkout.order_id


def listed() -> list[dict[str, Any]]:
    """Every item of the transaction list, as any HTTP client reads it."""
    (project,) = app_settings().projects.values()
    secret = project.secrets[0].reveal()
    items: list[dict[str, Any]] = []
    while True:
        answer = requests.get(
            f"{project.list_url}/merchant/s2s/api/v1/order",
            params={"limit": "50", "offset": str(len(items))},
            auth=(project.project_id, secret),
            timeout=10,
        )
        page = answer.json(parse_float=Decimal, parse_int=Decimal)["items"] or []
        items += page
        if len(page) < 50:
            return items


def sums_of(items: Sequence[Mapping[str, Any]]) -> Counter[Key]:
    """The sums of the items, added up one by one: of payments by the day of their creation, of reversals by their own."""
    sums: Counter[Key] = Counter()
    payments: dict[str, Mapping[str, Any]] = {}
    for item in sorted(items, key=lambda item: str(item["created_at"])):
        if item["status"] not in {"processed", "refunded", "chargeback"}:
            continue
        is_payment = payments.setdefault(item["transaction"], item) is item
        if is_payment:
            _add(sums, item, "gross", item["amount"], item["currency"], item["created_at"])
            _add(sums, item, "charged", item["charge_amount"], item["charge_currency"], item["created_at"])
            _add(sums, item, "tax", item["tax"]["amount"], item["tax"]["currency"], item["created_at"])
            for name, part in (("fee", item.get("fee")), ("net", item.get("net_revenue"))):
                if part:
                    _add(sums, item, name, part["amount"], part["currency"], item["created_at"])
            _add(sums, item, "payments", 1, item["currency"], item["created_at"])
        if (
            item["status"] == "chargeback" and not item["refund"]
        ):  # by the specification: the whole charge, at no stated time
            _add(sums, item, "charged_back", item["charge_amount"], item["charge_currency"], "")
        elif item["status"] != "processed" and item["refund"] and not (is_payment and _is_field(item)):
            name = "refunded" if item["status"] == "refunded" else "charged_back"
            at = item["created_at"] if _is_field(item) else item["refunded_at"]
            of = payments[item["transaction"]]
            _add(sums, of, name, item["refund"]["amount"], item["refund"]["currency"], at)
    return sums


def _is_field(item: Mapping[str, Any]) -> bool:
    """Deployed services list a reversal as an item of its own, and say nothing of the fee."""
    return "fee" not in item


def _add(
    sums: Counter[Key], of: Mapping[str, Any], name: str, amount: Any, currency: str, moment: str
) -> None:
    day = datetime.fromisoformat(moment).astimezone(ZONE).date().isoformat() if moment else ""
    rate = format(Decimal(str(of["tax"]["rate"])).normalize(), "f")
    sums[name, currency, day, str(of["country"]), rate, str(of["vat_payer"])] += amount
