"""The body of a control request; unknown keys and wrong values are rejected."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any, Final

from werkzeug.wrappers import Request

from checkout_integration.sandbox.orders.payment_methods import (
    CARD_NUMBER,
    Card,
    CryptoCurrency,
    PaymentMethod,
    Wallet,
)
from checkout_integration.sandbox.wire.errors import RefusedError
from checkout_integration.sandbox.wire.fields import COUNTRY, PHONE, Fields
from checkout_integration.sandbox.wire.http import read_control_body

PAYMENT_FIELDS: Final = (
    "card wallet crypto_currency secure3d saved recurring notify_sale notify_new_region notify_new_region_email receipt_email"
    " receipt_phone billing_country billing_state billing_zip"
).split()
"""The keys that describe a payment."""
_CONSENTS: Final = ("saved", "recurring", "notify_sale", "notify_new_region")
_LARGEST_NUMBER: Final = 10**9


class ControlRequest(Fields):
    """The JSON object of a control request; a name that is not in `known` is a problem."""

    def __init__(self, request: Request, *known: str) -> None:
        """Read the request's body; none is an empty object.

        Raises:
            RefusedError: 400, the body is no JSON object.
        """
        document = read_control_body(request)
        super().__init__(document)
        for name in sorted(set(document) - set(known)):
            self.wrong(name[:64], f"is unknown; known: {', '.join(known) or 'nothing'}")

    def decimal(self, name: str) -> Decimal | None:
        """Return a number, which may be written as text.

        Raises:
            RefusedError: 400, it is no number, negative or out of range.
        """
        if (value := self._document.get(name)) is None:
            return None
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite() or not 0 <= number <= _LARGEST_NUMBER:
            raise RefusedError(400, "sb000007", "not a number", f"0 to {_LARGEST_NUMBER} is allowed")
        return number

    def check(self) -> None:
        """Raise RefusedError, 400, with everything that is wrong."""
        if self.problems:
            raise RefusedError(
                400, "sb000006", "the request asks for something else", "; ".join(self.problems)
            )


def payment_details(body: ControlRequest) -> dict[str, Any]:
    """Return the arguments of `Payments.pay`, without the order."""
    details = {
        "method": _payment_method(body),
        **{name: body.boolean(name) or False for name in _CONSENTS},
        **{name: body.text(name, longest=254) or "" for name in ("notify_new_region_email", "receipt_email")},
        "receipt_phone": body.matching("receipt_phone", PHONE, "a phone number") or "",
        "billing_country": body.matching("billing_country", COUNTRY, "an ISO 3166-1 alpha-2 code") or "",
        "billing_state": body.text("billing_state", longest=6) or "",
        "billing_zip": body.text("billing_zip", longest=16) or "",
    }
    if details["billing_country"] == "US":
        for name in ("billing_state", "billing_zip"):
            if not details[name]:
                body.wrong(name, "is required in the USA")  # ORD-25
    return details


def _payment_method(body: ControlRequest) -> PaymentMethod | None:
    """Return the payment method: a card number, a wallet account or a crypto currency address."""
    wallet = body.text("wallet", longest=120)
    crypto = body.text("crypto_currency", longest=120)
    number = body.matching("card", CARD_NUMBER, "13 to 19 digits")
    secure3d = body.boolean("secure3d")
    if sum(map(bool, (wallet, crypto, number))) > 1:
        body.wrong("card", "one of card, wallet and crypto_currency")
    if wallet:
        return Wallet(account=wallet)
    if crypto:
        return CryptoCurrency(address=crypto)
    card = Card(secure3d=secure3d) if number is None else Card(number=number, secure3d=secure3d)
    # The bank's code cannot be entered here, so the 3-D Secure step succeeds by default.
    return Card(number=card.number, secure3d=True) if card.asks_code else card
