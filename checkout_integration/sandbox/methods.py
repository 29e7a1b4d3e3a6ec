"""Ways to pay beside cards: wallets and crypto currencies, and what an order says about them (MTH-08, MTH-09)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

WALLETS: Final = ("Sandbox Wallet", "Pocket Purse")
CRYPTO_CURRENCIES: Final = ("Bitcoin", "Ethereum", "Litecoin")
# An account or address that begins so does not pay.
_DECLINED: Final = "declined"


class PaymentMethod(Protocol):
    """Something that a buyer pays with."""

    def decline(self) -> tuple[str, str] | None:
        """Return reason code and reason when this payment is declined, else None."""

    def method(self) -> dict[str, Any]:
        """Return the order's `method` (MTH-01 to MTH-11)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wallet:
    """An integrated wallet: its name, and the buyer's account in it."""

    brand: str = WALLETS[0]
    account: str

    def decline(self) -> tuple[str, str] | None:
        """Decline the accounts that are named for it."""
        return ("21", "Declined by the wallet") if self.account.lower().startswith(_DECLINED) else None

    def method(self) -> dict[str, Any]:
        """Return the order's `method` with the wallet filled."""
        return {
            **method_document("Wallet", "WALLET"),
            "wallet": {"brand": self.brand, "account": self.account},
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class CryptoCurrency:
    """A crypto currency: its name, and the address that the buyer pays from. It cannot be refunded."""

    brand: str = CRYPTO_CURRENCIES[0]
    address: str

    def decline(self) -> tuple[str, str] | None:
        """Decline the addresses that are named for it."""
        return ("31", "The transfer failed") if self.address.lower().startswith(_DECLINED) else None

    def method(self) -> dict[str, Any]:
        """Return the order's `method` with the crypto currency filled."""
        return {
            **method_document("Crypto currency", "CRYPTO"),
            "crypto_currency": {"brand": self.brand, "address": self.address},
            "refund_allowed": False,
        }


def method_document(title: str, kind: str) -> dict[str, Any]:
    """Return a `method` in which nothing of one kind is filled yet."""
    return {
        "title": title,
        "external_id": kind,
        "payment_system_id": f"sandbox-{kind.lower()}",
        "type": kind,
        "handler": f"sandbox_{kind.lower()}",
        "saved": False,
        "card": None,
        "wallet": None,
        "crypto_currency": None,
        "refund_allowed": True,
        "recurring_allowed": False,
    }
