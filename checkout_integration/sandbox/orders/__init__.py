"""Orders as values: a new order, its content, and its documents. Nothing here stores or sends.

- `order`: the order itself, and its text for the database
- `purchase`: the purchase of a request, and the rules for it
- `order_factory`: a new order from a purchase, with the status created
- `documents`: the Order, User and Webhook objects
- `document_parts`: the parts of an Order object
- `payment_methods`: test cards, wallets and crypto currencies
- `tax`: taxes by country
- `language`: the customer's language
"""

from __future__ import annotations

from checkout_integration.sandbox.orders.documents import Context, Documents
from checkout_integration.sandbox.orders.language import is_locale, language_of, with_language
from checkout_integration.sandbox.orders.order import NO_USER, Order, one_line, read_row_json, write_row_json
from checkout_integration.sandbox.orders.order_factory import new_order, repeat_order
from checkout_integration.sandbox.orders.payment_methods import (
    CARD_NUMBER,
    CODE,
    CRYPTO_CURRENCIES,
    WALLETS,
    Card,
    CryptoCurrency,
    PaymentMethod,
    Wallet,
    passes_luhn,
)
from checkout_integration.sandbox.orders.purchase import (
    Purchase,
    check_purchase,
    read_order_purchase,
    read_token_purchase,
)
from checkout_integration.sandbox.orders.tax import COUNTRIES, with_tax

__all__ = [
    "CARD_NUMBER",
    "CODE",
    "COUNTRIES",
    "CRYPTO_CURRENCIES",
    "NO_USER",
    "WALLETS",
    "Card",
    "Context",
    "CryptoCurrency",
    "Documents",
    "Order",
    "PaymentMethod",
    "Purchase",
    "Wallet",
    "check_purchase",
    "is_locale",
    "language_of",
    "new_order",
    "one_line",
    "passes_luhn",
    "read_order_purchase",
    "read_row_json",
    "read_token_purchase",
    "repeat_order",
    "with_language",
    "with_tax",
    "write_row_json",
]
