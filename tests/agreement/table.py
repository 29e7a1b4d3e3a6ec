"""What creation allows, by hand: each parameter with values that the specification allows, and values that it refuses.

Written from the text of the specification, and from what deployed services show where it is silent (docs/open-questions.md).
It shares nothing with the client's checks or with the sandbox's: neither a pattern, nor a list, nor a number.

None, and "" for a text, mean "not given"; they are tried for every parameter.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from tests.agreement.checkout_table import OF_THE_SALE
from tests.agreement.customer_table import OBJECTS, OF_THE_CUSTOMER

PARAMETERS: Final = (*OF_THE_SALE, *OF_THE_CUSTOMER, *OBJECTS)

PLACES: Final = {None: 2, "USD": 2, "JPY": 0, "KWD": 3, "CLF": 4, "XCG": 2, "VED": 2, "XAU": 2}
"""Decimal places by ISO 4217; ORD-22 says two where no currency says another number."""
PLACES_USED: Final = {
    Decimal("1"): 0,
    Decimal("0.01"): 2,
    Decimal("9.99"): 2,
    Decimal("1.234"): 3,
    Decimal("1.2345"): 4,
    Decimal("0.0001"): 4,
    Decimal("1000000000000"): 0,
}


def broken(endpoint: str, given: dict[str, Any]) -> list[str]:
    """Return the rules between parameters that a request breaks; ``given`` has those that were given, by their names.

    A token replaces its parameters (EP2-12); an order that the service has prepared needs its project only.
    """
    kind, user = given.get("type"), given.get("object_user")
    whole = "token" not in given and ("order" not in given or kind is not None)
    rules = {
        "EP1-12 EP2-03 a project": "project" in given or "token" in given,
        "EP1-19 EP2-15 a type": kind is not None or not whole,
        "EP1-14 EP2-05 simple has a currency": kind != "simple" or "currency" in given or not whole,
        "EP1-15 EP2-04 simple has an amount": kind != "simple" or "amount" in given or not whole,
        "EP1-17 EP2-11 products and keys are named": kind not in ("product", "key")
        or "products" in given
        or not whole,
        "EP2-18 one key": kind != "key" or len(given.get("products", ())) <= 1 or not whole,
        "field: simple has no products": kind != "simple" or "products" not in given or not whole,
        "field: products have no amount": kind not in ("product", "key")
        or "amount" not in given
        or not whole,
        "EP1-18 EP2-16 a platform is for keys": kind in (None, "key")
        or "platform_id" not in given
        or not whole,
        "ORD-22 decimals": PLACES_USED.get(given.get("amount", Decimal(1)), 0)
        <= PLACES.get(given.get("currency"), 9)
        or not whole,
        "EP1-04 a token's user has an id": endpoint != "token" or user is None or "customer_id" in given,
        "EP1-05 a verified e-mail": endpoint != "token" or "email_verified" not in given or "email" in given,
        "EP1-06 a verified phone": endpoint != "token" or "phone_verified" not in given or "phone" in given,
    }
    return [rule for rule, holds in rules.items() if not holds]
