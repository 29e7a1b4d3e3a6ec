"""Ways to pay: test cards, wallets and crypto currencies, and what an order says about them (MTH-07 to MTH-09)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any, Final, Protocol

WALLETS: Final = ("Sandbox Wallet", "Pocket Purse")
CRYPTO_CURRENCIES: Final = ("Bitcoin", "Ethereum", "Litecoin")
# An account or address that begins so does not pay.
_DECLINED_NAME: Final = "declined"
PAYS: Final = "4242424242424242"
DECLINES: Final = "4000000000000002"
DECLINES_FUNDS: Final = "4000000000009995"
ASKS_CODE: Final = "4000002760003184"
CODE: Final = "1234"
_DECLINED: Final = {
    DECLINES: ("02", "Declined by the bank"),
    DECLINES_FUNDS: ("11", "Insufficient funds"),
}
CARD_NUMBER: Final = re.compile(r"\d{13,19}", re.ASCII)
_FAILED_STEP: Final = ("14", "3-D Secure authentication failed")
_BRANDS: Final = {"3": "AMEX", "4": "VISA", "5": "MASTERCARD", "6": "DISCOVER"}


class PaymentMethod(Protocol):
    """A payment method as the customer filled it in."""

    def decline(self) -> tuple[str, str] | None:
        """Return reason code and reason when this payment is declined, else None."""

    def method(self) -> dict[str, Any]:
        """Return the order's `method` (MTH-01 to MTH-11)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wallet:
    """An integrated wallet: its name, and the customer's account in it."""

    brand: str = WALLETS[0]
    account: str

    def decline(self) -> tuple[str, str] | None:
        """Decline the accounts whose name begins so."""
        return ("21", "Declined by the wallet") if self.account.lower().startswith(_DECLINED_NAME) else None

    def method(self) -> dict[str, Any]:
        """Return the order's `method` with the wallet filled."""
        return {
            **method_document("Wallet", "WALLET"),
            "wallet": {"brand": self.brand, "account": self.account},
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class CryptoCurrency:
    """A crypto currency: its name, and the address that the customer pays from. It cannot be refunded."""

    brand: str = CRYPTO_CURRENCIES[0]
    address: str

    def decline(self) -> tuple[str, str] | None:
        """Decline the addresses that begin so."""
        return ("31", "The transfer failed") if self.address.lower().startswith(_DECLINED_NAME) else None

    def method(self) -> dict[str, Any]:
        """Return the order's `method` with the crypto currency filled."""
        return {
            **method_document("Crypto currency", "CRYPTO"),
            "crypto_currency": {"brand": self.brand, "address": self.address},
            "refund_allowed": False,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A card; its number never leaves the sandbox.

    Attributes:
        secure3d: how the 3-D Secure step ended; None when there was none.
    """

    number: str = PAYS
    expiry_month: str = "12"
    expiry_year: str = "2034"
    secure3d: bool | None = None

    @property
    def asks_code(self) -> bool:
        """Whether the bank asks for a code before it decides."""
        return self.number == ASKS_CODE and self.secure3d is None

    def decline(self) -> tuple[str, str] | None:
        """Return reason code and reason when the bank declines this card, else None."""
        return _FAILED_STEP if self.secure3d is False else _DECLINED.get(self.number)

    def method(self) -> dict[str, Any]:
        """Return the order's `method` for a payment with this card."""
        first6, last4 = self.number[:6], self.number[-4:]
        return {
            **method_document("Bank card", "BANKCARD"),
            "card": {
                "first6": first6,
                "last4": last4,
                "masked": f"{first6}...{last4}",
                "expiry_month": self.expiry_month,
                "expiry_year": self.expiry_year,
                "brand": _BRANDS.get(self.number[0], "CARD"),
                "fingerprint": hashlib.sha256(b"sandbox" + self.number.encode()).hexdigest()[:32],
                "secure3d": self.secure3d is True,
            },
            "recurring_allowed": True,
        }


NO_METHOD: Final[dict[str, Any]] = {
    "title": "",
    "external_id": "",
    "payment_system_id": "",
    "type": "",
    "handler": "",
    "saved": False,
    "card": None,
    "wallet": None,
    "crypto_currency": None,
    "refund_allowed": False,
    "recurring_allowed": False,
}
"""A `method` of which nothing is known: nobody has paid yet (ORD-29)."""


def passes_luhn(number: str) -> bool:
    """Return whether the last digit of a card number fits the others."""
    digits = [int(character) for character in reversed(number)]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def method_document(title: str, kind: str) -> dict[str, Any]:
    """Return a `method` in which nothing of one kind is filled yet."""
    return {
        **NO_METHOD,
        "title": title,
        "external_id": kind,
        "payment_system_id": f"sandbox-{kind.lower()}",
        "type": kind,
        "handler": f"sandbox_{kind.lower()}",
        "refund_allowed": True,
    }
