"""The type of an order: one word for each, whichever of the specification's two lists its document uses (ORD-35).

In creation there are four words. In an Order there are three: ``products`` for ``product``, and none for virtual currency.
"""

from __future__ import annotations

from typing import Final

from checkout_integration.protocol.order import Order
from checkout_integration.protocol.vocabulary import TYPE_PRODUCTS, OrderType

_LISTED: Final = frozenset({OrderType.KEY, OrderType.PRODUCT, OrderType.SIMPLE})
"""The types that an Order has a word for."""


def creation_word(word: str | None) -> str | None:
    """Return the word of creation for a type; a word that the specification does not know stays as it is."""
    return OrderType.PRODUCT if word == TYPE_PRODUCTS else word


def type_of(order: Order) -> str | None:
    """Return the type that lists and filters show. Units that were bought, and not paid with, say virtual currency."""
    word, units = creation_word(order.type), order.virtual_currency_amount
    bought_units = units is not None and units > 0 and not order.is_buy_for_virtual_currency
    return OrderType.VIRTUAL_CURRENCY if bought_units and word in _LISTED else word


def may_pay_for(word: str | None, checkout_type: str) -> bool:
    """Return whether an order of this word can pay for a checkout of this type.

    Any listed word may stand for virtual currency, which has none of its own: the content then decides.
    """
    word = creation_word(word)
    return word == checkout_type or (checkout_type == OrderType.VIRTUAL_CURRENCY and word in _LISTED)
