"""The refund of an Order."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from checkout_integration.protocol.decoder import Decoder, Snapshot, money, text


@dataclass(frozen=True, kw_only=True)
class Refund(Snapshot):
    """What was given back (RFD-01 to RFD-06). Amount and currency may differ from those of the order."""

    amount: Decimal | None = money()
    currency: str | None = text()
    reason: str | None = text(personal=True)
    code: str | None = text()
    receipt_number: str | None = text()
    receipt_url: str | None = text(personal=True)


REFUND: Decoder[Refund] = Decoder(Refund)
