"""The products of a project: its own, or generated from any identifier."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from checkout_integration.protocol.vocabulary import OrderType
from checkout_integration.sandbox.wire.json_text import read_json

_UNITS_IN_NAME: Final = re.compile(r".*?([1-9][0-9]{0,8})", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class Product:
    """A product; the specification references products by identifier only (RFD-07).

    Attributes:
        id, sku, name, description: texts of the item.
        price: in `currency`.
        kind: the order type that sells it: `key`, `product` or `virtual_currency`.
        units: of virtual currency in the package; None for as many as its price buys.
        images: addresses of pictures.
        url: address of the product's page.
        metadata: string-valued attributes set when the product was created (ITM-06).
    """

    id: str
    name: str
    price: Decimal
    currency: str = "USD"
    kind: OrderType = OrderType.PRODUCT
    sku: str = ""
    description: str = ""
    images: tuple[str, ...] = ()
    units: Decimal | None = None
    url: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


def generated_product(product_id: str, kind: OrderType, currency: str) -> Product:
    """Return a product whose name and price depend on the identifier only, so that they stay the same.

    A package of virtual currency has as many units as its identifier says at its end: `gems-500`.
    """
    units = _UNITS_IN_NAME.fullmatch(product_id) if kind == OrderType.VIRTUAL_CURRENCY else None
    digest = hashlib.sha256(product_id.encode("utf-8", "replace")).digest()
    name = product_id.replace("_", " ").replace("-", " ").strip().title()[:60]
    return Product(
        id=product_id,
        sku=product_id,
        name=name or "Product",
        description=f"{name} from the sandbox's shelf",
        price=Decimal(digest[0] % 40 + 1) - Decimal("0.01"),
        currency=currency,
        kind=kind,
        units=Decimal(units[1]) if units else None,
    )


def find_product(
    catalogue: tuple[Product, ...] | None, product_id: str, kind: OrderType, currency: str
) -> Product | None:
    """Return the product sold under that identifier; None when the catalogue does not know it."""
    if catalogue is None:
        return generated_product(product_id, kind, currency)
    for product in catalogue:
        if product.id == product_id and product.kind == kind:
            return product
    return None


def read_catalogue(text: bytes | str) -> tuple[Product, ...]:
    """Read products from a JSON array of objects, named as the attributes of `Product`.

    Raises:
        ValueError: when the text is something else.
    """
    try:
        return tuple(_product_of(**entry) for entry in read_json(text))
    except (TypeError, ArithmeticError) as error:
        raise ValueError("a catalogue is a JSON array of products: id, name, price, and what else") from error


def _product_of(
    *,
    price: Decimal | str,
    kind: str = OrderType.PRODUCT,
    images: Sequence[str] = (),
    units: Decimal | str | None = None,
    metadata: Mapping[str, str] | None = None,
    **texts: str,
) -> Product:
    attributes = dict(metadata or {})
    if not all(isinstance(value, str) for value in attributes.values()):
        raise TypeError("metadata holds texts")
    return Product(
        price=Decimal(price),
        kind=OrderType(kind),
        images=tuple(images),
        units=None if units is None else Decimal(units),
        metadata=attributes,
        **texts,
    )


def activation_code(order_id: str, product_id: str) -> str:
    """Return the generated activation code of a sold key: five groups of five characters."""
    digest = hashlib.sha256(f"{order_id}/{product_id}".encode("utf-8", "replace")).digest()
    alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
    letters = "".join(alphabet[byte % len(alphabet)] for byte in digest[:25])
    return "-".join(letters[start : start + 5] for start in range(0, 25, 5))
