"""The payment method of an Order."""

from __future__ import annotations

from dataclasses import dataclass

from checkout_integration.protocol.decoder import Decoder, Snapshot, flag, nested, text


@dataclass(frozen=True, kw_only=True)
class Card(Snapshot):
    """The card of a card method (MTH-07)."""

    first6: str | None = text(personal=True)
    last4: str | None = text(personal=True)
    expiry_month: str | None = text(personal=True)
    expiry_year: str | None = text(personal=True)
    brand: str | None = text()
    fingerprint: str | None = text(personal=True)
    secure3d: bool | None = flag()

    @property
    def masked(self) -> str | None:
        """The masked number, built from first6 and last4.

        The one that was sent is not read: it may cut the number elsewhere, and two different cuts of one
        number together reveal more of it than PCI DSS allows.
        """
        if not self.first6 or not self.last4:
            return None
        return f"{self.first6[:6]}******{self.last4[-4:]}"


@dataclass(frozen=True, kw_only=True)
class Wallet(Snapshot):
    """The wallet of an integrated wallet method (MTH-08)."""

    brand: str | None = text()
    account: str | None = text(personal=True)


@dataclass(frozen=True, kw_only=True)
class CryptoCurrency(Snapshot):
    """The crypto currency of such a method (MTH-09)."""

    brand: str | None = text()
    address: str | None = text(personal=True)


@dataclass(frozen=True, kw_only=True)
class Method(Snapshot):
    """How the customer paid (MTH-01 to MTH-11)."""

    title: str | None = text()
    external_id: str | None = text()
    payment_system_id: str | None = text()
    type: str | None = text()
    handler: str | None = text()
    saved: bool | None = flag()
    card: Card | None = nested(Decoder(Card))
    wallet: Wallet | None = nested(Decoder(Wallet))
    crypto_currency: CryptoCurrency | None = nested(Decoder(CryptoCurrency))
    refund_allowed: bool | None = flag()
    recurring_allowed: bool | None = flag()


METHOD: Decoder[Method] = Decoder(Method)
