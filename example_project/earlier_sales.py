"""Three months of earlier sales, the same for the shop that made them and for the service that was paid.

Both read one plan, so that orders and checkouts fit each other. The shop learns what became of its checkouts from the
transaction list, as any shop that installs the app on a new database.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from itertools import accumulate
from typing import Final

from example_project.catalogue import GOODS

NUMBER: Final = 2000
DAYS: Final = 90
PLAYERS: Final = 400
GUESTS: Final = 2
"""So many of them, the last ones, buy without an account."""
_SEED: Final = 20_260
RETIRED: Final = "paper-moon"
"""The service still sells it, and the shop has forgotten it: whoever paid for it has nothing."""
STAGED_PRODUCT: Final = "staged: the shop has forgotten this product"
_GEMS_ABROAD: Final = {"EUR": Decimal("8.99"), "GBP": Decimal("7.99"), "JPY": Decimal(1500)}
_COUNTRIES: Final = {"USD": ("US", "US", "CA"), "EUR": ("DE", "FR", "ES"), "GBP": ("GB",), "JPY": ("JP",)}
_LONGEST_PAYMENT: Final = timedelta(minutes=10)
_HOURS: Final = (6, 3, 2, 1, 1, 2, 3, 5, 7, 8, 9, 10, 12, 11, 10, 11, 13, 16, 20, 24, 26, 24, 18, 11)
"""How much is sold in each hour of a day."""


class End(StrEnum):
    """What became of a sale."""

    PAID = "paid"
    ABANDONED = "abandoned"
    DECLINED = "declined"
    REFUNDED = "refunded"
    REFUNDED_IN_PART = "refunded in part"
    CHARGED_BACK = "charged back"
    UNDERPAID = "underpaid"
    WITHOUT_CHECKOUT = "without a checkout"


_ENDS: Final = {
    End.PAID: 850,
    End.ABANDONED: 60,
    End.DECLINED: 50,
    End.REFUNDED: 22,
    End.REFUNDED_IN_PART: 8,
    End.CHARGED_BACK: 6,
    End.UNDERPAID: 9,
    End.WITHOUT_CHECKOUT: 2,
}
"""How often each occurs, of about a thousand."""


STAGED: Final = {
    End.UNDERPAID: "staged: paid too little",
    End.WITHOUT_CHECKOUT: "staged: the shop does not know the sale",
}
"""What a description says of a sale that went wrong on purpose."""
_LATER: Final = (End.REFUNDED, End.REFUNDED_IN_PART, End.CHARGED_BACK)
"""These happen up to twenty days after the payment."""


@dataclass(frozen=True, kw_only=True)
class Player:
    """A customer. Numbers begin with 1; the name is made of two lists, and belongs to nobody."""

    number: int
    first_name: str
    last_name: str

    @property
    def key(self) -> int:
        """The primary key of the account, which the shop sends as ``external_id``; far from those of new accounts."""
        return 1_000_000 + self.number

    @property
    def is_guest(self) -> bool:
        """Whether they buy without an account, so that the shop sends no ``external_id``."""
        return self.number > PLAYERS - GUESTS

    @property
    def username(self) -> str:
        """The account's name in the shop."""
        return f"player-{self.number}"

    @property
    def email(self) -> str:
        """An address that no mail reaches."""
        return f"{self.username}@example.com"


@dataclass(frozen=True, kw_only=True)
class Sale:
    """One checkout: sold at ``sold_at``, ended at ``ended_at``. ``reference`` is the checkout's, on both sides."""

    reference: str
    player: Player
    slug: str
    kind: str
    price: Decimal
    currency: str
    country: str
    end: End
    sold_at: datetime
    ended_at: datetime

    def described(self, name: str) -> str:
        """Return the description of the sale, which says what was made to go wrong."""
        staged = STAGED_PRODUCT if self.slug == RETIRED else STAGED.get(self.end)
        return f"{name} ({staged})" if staged else name


def players() -> list[Player]:
    """Return every player."""
    chance = random.Random(_SEED)  # noqa: S311  # repeatable, and no secret
    firsts = ("Ada", "Bela", "Cleo", "Dara", "Emil", "Fay", "Gus", "Hana", "Ivo", "June", "Kim", "Lou")
    lasts = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Hazel", "Juniper", "Linden", "Rowan")
    return [
        Player(number=number, first_name=chance.choice(firsts), last_name=chance.choice(lasts))
        for number in range(1, PLAYERS + 1)
    ]


def sales(until: datetime, number: int = NUMBER) -> Iterator[Sale]:
    """Yield the sales in the order of their times; all has ended at ``until``, an aware time."""
    chance = random.Random(_SEED)  # noqa: S311  # as above
    buyers = players()
    for count, sold_at in enumerate(_times(chance, until, number), 1):
        kind, slug, price, currency = _good(chance)
        end = chance.choices(list(_ENDS), list(_ENDS.values()))[0]
        ended_at = sold_at + timedelta(minutes=chance.randint(2, 10))
        if end is End.UNDERPAID and kind != "simple":
            end = End.PAID  # prices of products are the service's own
        elif end in _LATER:
            later = sold_at + timedelta(hours=chance.randint(2, 480))
            end, ended_at = (end, later) if later < until else (End.PAID, ended_at)
        yield Sale(
            reference=f"earlier-{count:05}",
            player=chance.choice(buyers),
            slug=slug,
            kind=kind,
            price=price,
            currency=currency,
            country=chance.choice(_COUNTRIES[currency]),
            end=end,
            sold_at=sold_at,
            ended_at=ended_at,
        )


def _times(chance: random.Random, until: datetime, number: int) -> list[datetime]:
    """Return when something was sold: more in the evening, at weekends, and from month to month; today too."""
    first = until.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=DAYS)
    days = [first + timedelta(days=day) for day in range(DAYS + 1)]
    weights = list(
        accumulate((1 + day / DAYS) * (1.4 if at.weekday() > 4 else 1) for day, at in enumerate(days))
    )
    picked = chance.choices(days, cum_weights=weights, k=number)
    hours = chance.choices(range(24), _HOURS, k=number)
    times = (
        day + timedelta(hours=hour, seconds=chance.randrange(3600))
        for day, hour in zip(picked, hours, strict=True)
    )
    return sorted(time for time in times if time < until - _LONGEST_PAYMENT)


def _good(chance: random.Random) -> tuple[str, str, Decimal, str]:
    """Return kind, slug, price and currency of something: now and then of what the shop has forgotten."""
    if chance.random() < 0.003:
        return "simple", RETIRED, Decimal("2.99"), "USD"
    good = chance.choice(GOODS)
    currency = chance.choice(("USD", "USD", *_GEMS_ABROAD)) if good.slug == "gems-500" else good.currency
    return good.kind, good.slug, _GEMS_ABROAD.get(currency, good.price), currency


def present() -> datetime:
    """Return the last full hour, up to which there are sales."""
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
