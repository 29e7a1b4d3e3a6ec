"""The rules for requests that create tokens and orders: their fields, and the requirements.

They look at the finished JSON object, so a problem is named by the path that the specification uses. The sandbox reads the
same rules a second time, independently; tests/agreement compares both with a table written by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from checkout_integration.protocol.creation_values import (
    BUTTON_CAPTION_MAX,
    Checks,
)
from checkout_integration.protocol.values import Document, has_places, minor_units
from checkout_integration.protocol.vocabulary import OrderType, Platform

_PRODUCT_TYPES: Final = (OrderType.PRODUCT, OrderType.KEY)
_USUAL_PLACES: Final = 2
"""Decimal places where no currency says another number (ORD-22)."""


def check_token(document: Document) -> None:
    """Raise CreationError when the body of a token request breaks a rule (EP1-03 to EP1-22)."""
    check = Checks()
    if document.get("settings") is None:
        check.add("settings", "is required")  # EP1-11
    settings = check.members("settings", document.get("settings"))
    check.text("settings.project_id", settings.get("project_id"), required=True)
    amount = _check_fields(check, "settings.", settings, products="products_ids")
    _check_by_type(check, "settings.", settings, amount, products="products_ids")
    check.flag("settings.is_buy_for_virtual_currency", settings.get("is_buy_for_virtual_currency"))
    check.text("settings.button_caption", settings.get("button_caption"), at_most=BUTTON_CAPTION_MAX)
    return_url = check.members("settings.return_url", settings.get("return_url"))
    for name in ("success", "fail"):
        check.web_address(f"settings.return_url.{name}", return_url.get(name))
    if document.get("user") is not None:
        _check_token_user(check, check.members("user", document["user"]))
    check.finish()


def check_order(document: Document) -> None:
    """Raise CreationError when the body of an order request breaks a rule (EP2-03 to EP2-18)."""
    check = Checks()
    check.text("token", document.get("token"), at_most=None)
    has_token = _given(document.get("token"))
    prepared = check.text("order", document.get("order"))
    # EP2-12: the token replaces the required parameters, too.
    check.text("project", document.get("project"), required=not has_token)
    amount = _check_fields(check, "", document, products="products")
    # The content of a token or of a prepared order is not known here (EP2-14: the project and the order are enough).
    if not has_token and (prepared is None or _given(document.get("type"))):
        _check_by_type(check, "", document, amount, products="products")
    check.text("account", document.get("account"))
    for name in ("url_success", "url_fail"):
        check.web_address(name, document.get(name))
    _check_order_user(check, check.members("user", document.get("user")))
    check.finish()


def price_problems(amount: object, currency: object) -> list[tuple[str, str]]:
    """Return the problems of a price that payments are compared with. "" or None: no currency."""
    check = Checks()
    check.currency("currency", currency)
    _check_places(check, "amount", check.amount("amount", amount), currency)
    if (amount is None) != (not currency):
        check.add("amount" if amount is None else "currency", "is required: give both amount and currency")
    return check.problems


def _check_fields(check: Checks, prefix: str, values: Document, *, products: str) -> Decimal | None:
    """Check each parameter of the checkout by itself; return its amount if that can be sent."""
    check.choice(f"{prefix}type", values.get("type"), OrderType)  # EP1-19, EP2-15
    check.currency(f"{prefix}currency", values.get("currency"))
    check.identifiers(f"{prefix}{products}", values.get(products))
    check.choice(f"{prefix}platform_id", values.get("platform_id"), Platform)  # EP1-18, EP2-16
    check.text(f"{prefix}description", values.get("description"))
    check.attributes(f"{prefix}metadata", values.get("metadata"))
    return check.amount(f"{prefix}amount", values.get("amount"))


def _check_by_type(
    check: Checks, prefix: str, values: Document, amount: Decimal | None, *, products: str
) -> None:
    """Check the parameters that the type requires or refuses, and that the amount fits its currency."""
    kind = values.get("type")
    if not _given(kind):
        check.choice(f"{prefix}type", None, OrderType, required=True)
    elif kind == OrderType.SIMPLE:
        _check_simple(check, prefix, values, products)
    elif kind in _PRODUCT_TYPES:
        _check_products(check, prefix, values, products)
    if _given(kind) and kind != OrderType.KEY and _given(values.get("platform_id")):
        check.add(f"{prefix}platform_id", "is used only for type key; leave it out")  # EP1-18, EP2-16
    _check_places(check, f"{prefix}amount", amount, values.get("currency"))


def _check_simple(check: Checks, prefix: str, values: Document, products: str) -> None:
    """Check amount and currency of a simple checkout (EP1-14, EP1-15, EP2-04, EP2-05, EP2-18)."""
    for name in ("amount", "currency"):
        if not _given(values.get(name)):
            check.add(f"{prefix}{name}", "is required for type simple")
    if values.get(products):
        check.add(f"{prefix}{products}", "must be left out for type simple")


def _check_products(check: Checks, prefix: str, values: Document, products: str) -> None:
    """Check a checkout of products (EP1-17, EP2-11, EP2-18). Deployed services refuse an amount: they set the price."""
    kind = values.get("type")
    if not values.get(products):
        check.add(f"{prefix}{products}", f"is required for type {kind}: give at least one product identifier")
    elif kind == OrderType.KEY and _count(values[products]) > 1:
        check.add(f"{prefix}{products}", "give exactly one key product")
    if values.get("amount") is not None:
        check.add(f"{prefix}amount", "must be left out: the service knows the price of its products")


def _given(value: object) -> bool:
    return value is not None and value != ""


def _count(products: object) -> int:
    return len(products) if isinstance(products, Sequence) and not isinstance(products, str) else 0


def _check_places(check: Checks, field: str, amount: Decimal | None, currency: object) -> None:
    """Check that an amount can be paid in its currency: ISO 4217 says in how many decimal places."""
    known = minor_units(currency) if isinstance(currency, str) else None
    if amount is not None and not has_places(amount, _USUAL_PLACES if known is None else known):
        check.add(field, "must not have more decimal places than its currency; round it yourself")


def _check_token_user(check: Checks, user: Document) -> None:
    """Check the user of a token request: an id, and each value in an object of its own (EP1-04 to EP1-10)."""
    check.text("user.id", user.get("id"), required=True)
    value = {
        name: check.members(f"user.{name}", user.get(name))
        for name in ("email", "phone", "name", "ip", "locale")
    }
    for name in ("email", "phone", "name"):
        check.text(f"user.{name}.value", value[name].get("value"))
    for name in ("email", "phone"):
        check.flag(f"user.{name}.verified", value[name].get("verified"))
        if value[name].get("verified") is not None and value[name].get("value") in (None, ""):
            check.add(f"user.{name}.value", "is required where verified is given")
    check.ip("user.ip.value", value["ip"].get("value"))
    check.token_locale("user.locale.value", value["locale"].get("value"))
    check.postal_address("user.address", user.get("address"))
    check.attributes("user.metadata", user.get("metadata"))


def _check_order_user(check: Checks, user: Document) -> None:
    """Check the user of an order request, which is flat (EP2-13)."""
    for name in ("external_id", "name", "email", "phone"):
        check.text(f"user.{name}", user.get(name))
    for name in ("email_verified", "phone_verified"):
        check.flag(f"user.{name}", user.get(name))
    check.ip("user.ip", user.get("ip"))
    check.order_locale("user.locale", user.get("locale"))
    check.postal_address("user.address", user.get("address"))
