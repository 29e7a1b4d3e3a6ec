"""Sales of every kind, drawn by a seed, and what an accountant books of each: by hand, from what was drawn.

Nothing here reads the app's rows or rules: `booked` is an independent sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any, Final
from zoneinfo import ZoneInfo

ZONE: Final = ZoneInfo("Europe/Berlin")
BEGIN: Final = datetime(2026, 3, 20, 21, 30, tzinfo=UTC)
PRICES: Final = (("9.99", "USD"), ("14.9", "USD"), ("4.49", "EUR"), ("1500", "JPY"), ("3.333", "KWD"))
CHARGES: Final = (None, ("9.20", "EUR"), ("14.90", "USD"), ("11.00", "CHF"))
OF_THE_SERVICE: Final = (
    None,
    {"amount": 0, "currency": ""},
    {"amount": Decimal("1.25"), "currency": "USD"},
    {"amount": Decimal("0.75"), "currency": "EUR"},
)
"""What may stand for the tax, the fee and the net revenue: nothing, the zero of a sender without nulls, or an amount."""
FATES: Final = (
    *("paid", "paid", "paid", "open", "canceled", "canceled later", "canceled before"),
    *("refunded", "refunded in part", "refunded in parts", "refunded in two currencies"),
    *("charged back", "charged back by its document", "refunded in part and charged back"),
)
Money = tuple[Decimal, str]
Key = tuple[str, ...]
"""Name of the sum, currency, and the values of the dimensions."""


@dataclass(kw_only=True)
class Reversal:
    """A refund or a chargeback: when, and how much."""

    kind: str
    at: datetime
    money: Money


@dataclass(kw_only=True)
class Sale:
    """A sale, and what the service says of it: (event, document) for a notification, ("", document) for a list row."""

    number: int
    fate: str
    created_at: datetime
    price: Money
    charge: Money | None
    parts: dict[str, dict[str, Any] | None]
    country: str
    method: str
    product: str
    source: str
    host: str
    said: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    reversals: list[Reversal] = field(default_factory=list)

    @property
    def is_payment(self) -> bool:
        """Whether a success or a reversal was said."""
        return self.fate not in ("open", "canceled")

    @property
    def contradicted(self) -> bool:
        """Whether the last word is a cancellation."""
        return self.fate == "canceled later"

    def document(self, **changes: Any) -> dict[str, Any]:
        """The Order object."""
        charge = {"charge_amount": self.charge[0], "charge_currency": self.charge[1]} if self.charge else {}
        return {
            "id": f"sale-{self.number}",
            "object": "order",
            "transaction": f"tx-{self.number}",
            "status": "processed",
            "type": "simple",
            "is_production": False,
            "created_at": self.created_at.isoformat(),
            "amount": self.price[0],
            "currency": self.price[1],
            "charge_amount": 0,
            "charge_currency": "",
            **charge,
            **self.parts,
            "country": self.country,
            "method": {"type": self.method},
            "issuer": {"utm_source": self.source, "referrer_host": self.host},
            "items": [{"name": self.product}, {"name": "Extra"}] if self.product else [],
            **changes,
        }

    def _reversal(self, kind: str, at: datetime, money: Money) -> dict[str, Any]:
        """The fields of a reversal; remembered for the books."""
        self.reversals.append(Reversal(kind=kind, at=at, money=money))
        refund = {"amount": money[0], "currency": money[1], "reason": "asked", "code": ""}
        return {"status": kind, "refunded": True, "refunded_at": at.isoformat(), "refund": refund}

    def _document_of(self, kind: str, at: datetime, money: Money) -> dict[str, Any]:
        """A reversal document of the list: an id of its own, created by the reversal."""
        own = f"sale-{self.number}-{len(self.reversals)}"
        return self.document(**self._reversal(kind, at, money), id=own, created_at=at.isoformat())

    def happen(self) -> None:
        """Let the service say what the fate of the sale is."""
        say = self.said.append
        if self.fate == "open":
            say(("", self.document(status="created")))
        if self.fate == "canceled before":
            say(("payment.cancel", self.document(status="canceled")))
        if self.is_payment:
            say(("payment.success", self.document()))
        if self.fate in ("canceled", "canceled later"):
            say(("payment.cancel", self.document(status="canceled")))
        self._be_reversed()

    def _be_reversed(self) -> None:
        say, later = self.said.append, self.created_at + timedelta(days=4, hours=3)
        paid = self.price if self.charge is None else self.charge
        part, own = (Decimal(1), paid[1]), (Decimal(1), self.price[1])
        if self.fate in ("refunded", "refunded in part"):
            back = paid if self.fate == "refunded" else part
            say(("payment.refund", self.document(**self._reversal("refunded", later, back))))
        if self.fate.startswith(("refunded in parts", "refunded in two", "refunded in part and")):
            say(("", self._document_of("refunded", later, part)))
        if self.fate in ("refunded in parts", "refunded in two currencies"):
            second = part if self.fate == "refunded in parts" else own
            say(("", self._document_of("refunded", later + timedelta(days=2), second)))
        if self.fate == "charged back":
            self.reversals.append(Reversal(kind="chargeback", at=later, money=paid))
            lost = self.document(status="chargeback", refunded_at=later.isoformat(), refund=None)
            say(("payment.chargeback", lost))
        if self.fate in ("charged back by its document", "refunded in part and charged back"):
            left = (paid[0] - 1, paid[1])
            say(("", self._document_of("chargeback", later + timedelta(days=5), left)))


def generated(seed: int, number: int) -> list[Sale]:
    """So many sales over two months, from before summer time begins."""
    random = Random(seed)
    sales = []
    for each in range(number):
        amount, currency = random.choice(PRICES)
        charge = random.choice(CHARGES)
        sale = Sale(
            number=each,
            fate=random.choice(FATES),
            created_at=BEGIN + timedelta(minutes=random.randrange(60 * 24 * 50)),
            price=(Decimal(amount), currency),
            charge=None if charge is None else (Decimal(charge[0]), charge[1]),
            parts={name: random.choice(OF_THE_SERVICE) for name in ("tax", "fee", "net_revenue")},
            country=random.choice(("DE", "JP", "")),
            method=random.choice(("BANKCARD", "PAYPAL")),
            product=random.choice(("Tin raven", "1,200 gems", "")),
            source=random.choice(("newsletter", "")),
            host=random.choice(("news.example", "")),
        )
        sale.happen()
        sales.append(sale)
    return sales


def booked(
    sales: Sequence[Sale], columns: Sequence[str], first: str, last: str, *, on_payment_day: bool = False
) -> Counter[Key]:
    """What an accountant has in the books of these days, sale by sale; a value of zero is left out."""
    books: Counter[Key] = Counter()
    for sale in sales:
        day = _day(sale.created_at)
        currency = sale.price[1]

        def add(name: str, of: str, amount: Any, day: str = day, sale: Sale = sale) -> None:
            values = {
                "day": day,
                "month": f"{day[:7]}-01",
                "country": sale.country,
                "method_type": sale.method,
                "product": sale.product,
                "utm_source": sale.source,
                "referrer_host": sale.host,
            }
            books[name, of, *(values[column] for column in columns)] += amount

        if sale.is_payment and first <= day <= last:
            add("payments", currency, 1)
            add("contradicted", currency, int(sale.contradicted))
            for name, money in (("gross", sale.price), ("charged", sale.charge), *_parts(sale)):
                if money is None:
                    add(f"{name}_unstated", currency, 1)
                else:
                    add(name, money[1], money[0])
                    add(f"{name}_stated", money[1], 1)
        for reversal in sale.reversals:
            on = day if on_payment_day else _day(reversal.at)
            if first <= on <= last:
                name = "refunded" if reversal.kind == "refunded" else "charged_back"
                add(name, reversal.money[1], reversal.money[0], on)
                add(f"{name}_stated", reversal.money[1], 1, on)
        for kind, name in (("refunded", "refunds"), ("chargeback", "chargebacks")):
            days = [day if on_payment_day else _day(each.at) for each in sale.reversals if each.kind == kind]
            of_period = {on for on in days if first <= on <= last}
            # A payment that was refunded twice is one refund of each row.
            each_row = {
                on if "day" in columns else on[:7] if "month" in columns else "": on for on in of_period
            }
            for on in each_row.values():
                add(name, currency, 1, on)
    return Counter({key: amount for key, amount in books.items() if amount})


def _parts(sale: Sale) -> Iterator[tuple[str, Money | None]]:
    for name, of in (("tax", "tax"), ("fee", "fee"), ("net", "net_revenue")):
        part = sale.parts[of]
        yield name, (Decimal(part["amount"]), part["currency"]) if part and part["currency"] else None


def _day(moment: datetime) -> str:
    return moment.astimezone(ZONE).date().isoformat()
