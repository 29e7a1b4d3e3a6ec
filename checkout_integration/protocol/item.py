"""An element of the ``items`` of an Order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from checkout_integration.protocol.decoder import Decoder, Snapshot, attributes, moment, money, text, texts


@dataclass(frozen=True, kw_only=True)
class OrderItem(Snapshot):
    """What was bought (ITM-01 to ITM-08), and the further fields that deployed services send.

    ``platform`` is also sent as ``platform_id`` and reads as both; ``code`` and ``platform`` may be missing.
    """

    id: str | None = text()
    sku: str | None = text()
    name: str | None = text()
    description: str | None = text()
    images: tuple[str, ...] | None = texts()
    metadata: Mapping[str, str] | None = attributes()
    code: str | None = text(personal=True)
    platform: str | None = text(alias="platform_id")
    platform_id: str | None = text(alias="platform")
    object: str | None = text()
    amount: Decimal | None = money()
    currency: str | None = text()
    url: str | None = text()
    created_at: datetime | None = moment()
    updated_at: datetime | None = moment()


ITEM: Decoder[OrderItem] = Decoder(OrderItem)
