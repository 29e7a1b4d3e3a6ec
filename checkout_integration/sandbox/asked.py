"""What a request of the control API asks for: all of it is checked, so that no slip of the pen passes in silence."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from werkzeug.wrappers import Request

from checkout_integration.sandbox.cards import Card
from checkout_integration.sandbox.failure import RefusedError
from checkout_integration.sandbox.fields import COUNTRY, Fields
from checkout_integration.sandbox.methods import CryptoCurrency, PaymentMethod, Wallet
from checkout_integration.sandbox.typed import CARD_NUMBER, PHONE
from checkout_integration.sandbox.wire import read_asked, read_decimal

PAYING: Final = (
    "card wallet crypto_currency secure3d saved recurring notify_sale notify_new_region notify_new_region_email receipt_email"
    " receipt_phone billing_country billing_state billing_zip"
).split()
"""What may be told of a payment."""


class Asked(Fields):
    """The JSON object of a control request; names beyond `known` are problems as wrong values are."""

    def __init__(self, request: Request, *known: str) -> None:
        """Read the request's body; none is an empty object.

        Raises:
            RefusedError: 400, the body is no JSON object.
        """
        document = read_asked(request)
        super().__init__(document)
        self._given = document
        for name in sorted(set(document) - set(known)):
            self.wrong(name[:64], f"is unknown; known: {', '.join(known) or 'nothing'}")

    def decimal(self, name: str) -> Decimal | None:
        """Return a number, which may be written as text.

        Raises:
            RefusedError: 400, it is no number, negative or beyond all use.
        """
        return read_decimal(self._given.get(name))

    def value(self, name: str) -> Any:
        """Return a value as it came."""
        return self._given.get(name)

    def check(self) -> None:
        """Raise RefusedError, 400, with everything that is wrong."""
        if self.problems:
            raise RefusedError(
                400, "sb000006", "the request asks for something else", "; ".join(self.problems)
            )


def payment_of(asked: Asked) -> dict[str, Any]:
    """Return the arguments of `Payments.pay` beside the order.

    Raises:
        RefusedError: 400, with everything that is wrong.
    """
    told = {
        "method": _method_of(asked),
        "saved": asked.boolean("saved") or False,
        "recurring": asked.boolean("recurring") or False,
        "notify_sale": asked.boolean("notify_sale") or False,
        "notify_new_region": asked.boolean("notify_new_region") or False,
        "notify_new_region_email": asked.text("notify_new_region_email", longest=254) or "",
        "receipt_email": asked.text("receipt_email", longest=254) or "",
        "receipt_phone": asked.matching("receipt_phone", PHONE, "a phone number") or "",
        "billing_country": asked.matching("billing_country", COUNTRY, "an ISO 3166-1 alpha-2 code") or "",
        "billing_state": asked.text("billing_state", longest=6) or "",
        "billing_zip": asked.text("billing_zip", longest=16) or "",
    }
    if told["billing_country"] == "US":
        for name in ("billing_state", "billing_zip"):
            if not told[name]:
                asked.wrong(name, "is required in the USA")  # ORD-25
    asked.check()
    return told


def _method_of(asked: Asked) -> PaymentMethod | None:
    """Return what is paid with: a card's number, a wallet's account or a crypto currency's address."""
    wallet = asked.text("wallet", longest=120)
    crypto = asked.text("crypto_currency", longest=120)
    number = asked.matching("card", CARD_NUMBER, "13 to 19 digits")
    secure3d = asked.boolean("secure3d")
    if sum(map(bool, (wallet, crypto, number))) > 1:
        asked.wrong("card", "one of card, wallet and crypto_currency")
    if wallet:
        return Wallet(account=wallet)
    if crypto:
        return CryptoCurrency(address=crypto)
    card = Card(secure3d=secure3d) if number is None else Card(number=number, secure3d=secure3d)
    # WHY: nobody is there to type the bank's code in, so the step goes well unless told otherwise.
    return Card(number=card.number, secure3d=True) if card.asks_code else card
