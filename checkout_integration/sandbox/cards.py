"""Test cards: which number pays, which declines, which asks for a code, and what an order says of them (MTH-07)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from checkout_integration.sandbox.methods import method_document

PAYS: Final = "4242424242424242"
DECLINES: Final = "4000000000000002"
DECLINES_FUNDS: Final = "4000000000009995"
ASKS_CODE: Final = "4000002760003184"
CODE: Final = "1234"
_DECLINED: Final = {
    DECLINES: ("02", "Declined by the bank"),
    DECLINES_FUNDS: ("11", "Insufficient funds"),
}
_FAILED_STEP: Final = ("14", "3-D Secure authentication failed")
_BRANDS: Final = {"3": "AMEX", "4": "VISA", "5": "MASTERCARD", "6": "DISCOVER"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A card as typed into the form; the number stays inside the sandbox.

    Attributes:
        secure3d: how the 3-D Secure step ended; None when there was none.
    """

    number: str = PAYS
    expiry_month: str = "12"
    expiry_year: str = "2034"
    secure3d: bool | None = None

    @property
    def asks_code(self) -> bool:
        """Whether the bank asks for a code before it answers."""
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


def passes_luhn(number: str) -> bool:
    """Whether the last digit of a card number fits the others."""
    digits = [int(character) for character in reversed(number)]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0
