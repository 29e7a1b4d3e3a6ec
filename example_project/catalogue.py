"""What Brightwick Games sells. The shop and the service both know it: prices of products are set at the service."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Good:
    """A thing for sale: ``kind`` is the specification's order type, ``slug`` the product's identifier at the service."""

    slug: str
    kind: str
    name: str
    price: Decimal
    text: str
    art: str
    currency: str = "USD"


GOODS = (
    Good(
        slug="gems-500",
        kind="simple",
        name="500 gems",
        price=Decimal("9.99"),
        text="A small pouch. Enough for a lantern, two potions and a bribe.",
        art="gems",
    ),
    Good(
        slug="gems-1200",
        kind="simple",
        name="1,200 gems",
        price=Decimal("19.99"),
        text="A heavy chest. The dwarves will ask where you found it.",
        art="chest",
    ),
    Good(
        slug="lanternfall",
        kind="key",
        name="Lanternfall",
        price=Decimal("24.99"),
        text="Carry the last light down a drowned tower. A key for your game platform.",
        art="lantern",
    ),
    Good(
        slug="moss-and-iron",
        kind="key",
        name="Moss & Iron",
        price=Decimal("14.99"),
        text="Wake a rusted giant and teach it gardening. A key for your game platform.",
        art="giant",
    ),
    Good(
        slug="ember-cloak",
        kind="product",
        name="Cloak of Embers",
        price=Decimal("4.99"),
        text="Warm in every weather. Smoulders when you lie.",
        art="cloak",
    ),
    Good(
        slug="tin-raven",
        kind="product",
        name="Tin raven",
        price=Decimal("6.99"),
        text="Follows you for thirty days, fetches arrows, judges quietly.",
        art="raven",
    ),
)
LASTING: Final = {"tin-raven": 30}
"""For how many days a payment lasts, by product; the others last for ever."""
