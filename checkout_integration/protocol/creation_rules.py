"""The rules for requests that create tokens and orders: what is required when, and the limits of fields.

They look at the finished JSON object, so a problem is named by the path that the specification uses.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from checkout_integration.protocol.address import split
from checkout_integration.protocol.values import Document, fits_places, parse_money
from checkout_integration.protocol.vocabulary import OrderType, Platform

DESCRIPTION_MAX: Final = 255
BUTTON_CAPTION_MAX: Final = 18
METADATA_MAX: Final = 255
LOCALE_MIN: Final = 5

_PRODUCT_TYPES: Final = (OrderType.PRODUCT, OrderType.KEY)
_CURRENCY: Final = re.compile(r"[A-Z]{3}", re.ASCII)
_COUNTRY: Final = re.compile(r"[A-Z]{2}", re.ASCII)


class CreationError(ValueError):
    """The request breaks rules of the specification. ``problems`` are pairs of field and what to do."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{field}: {message}" for field, message in problems))
        self.problems = list(problems)


def price_problems(amount: object, currency: object) -> list[tuple[str, str]]:
    """What is wrong with a price that is not sent, only compared with what is paid. "" or None: no currency."""
    check = _Check()
    check.price(amount, currency or None)
    return check.problems


def check_token(document: Document) -> None:
    """Raise CreationError when the body of a token request breaks a rule (EP1-03 to EP1-22)."""
    check = _Check()
    settings = document["settings"]
    check.text("settings.project_id", settings.get("project_id"), required=True)
    check.sale("settings.", settings, products="products_ids")
    check.text("settings.button_caption", settings.get("button_caption"), at_most=BUTTON_CAPTION_MAX)
    for name, address in settings.get("return_url", {}).items():
        check.address(f"settings.return_url.{name}", address)
    if "user" in document:
        user = document["user"]
        check.text("user.id", user.get("id"), required=True)  # EP1-04
        check.customer({name: _value(member) for name, member in user.items() if name != "id"}, ".value")
    check.finish()


def check_order(document: Document) -> None:
    """Raise CreationError when the body of an order request breaks a rule (EP2-03 to EP2-18)."""
    check = _Check()
    by_token = "token" in document  # EP2-12: the token stands for the required parameters, too
    check.text("token", document.get("token"), required=by_token)
    check.text("project", document.get("project"), required=not by_token)
    check.sale("", document, products="products", complete=not by_token)
    products = document.get("products")
    if document.get("type") == OrderType.KEY and isinstance(products, Sequence) and len(products) > 1:
        check.add("products", "give exactly one key product")  # EP2-18
    for name in ("account", "order"):
        check.text(name, document.get(name))
    for name in ("url_success", "url_fail"):
        check.address(name, document.get(name))
    if "user" in document:
        check.text("user.external_id", document["user"].get("external_id"))
        check.customer(document["user"])
    check.finish()


def _value(member: Any) -> Any:
    return member.get("value", member) if isinstance(member, dict) else member


class _Check:
    """Collects problems, so that a developer sees all of them at once."""

    def __init__(self) -> None:
        self.problems: list[tuple[str, str]] = []

    def add(self, field: str, message: str) -> None:
        self.problems.append((field, message))

    def finish(self) -> None:
        if self.problems:
            raise CreationError(self.problems)

    def text(
        self,
        field: str,
        value: object,
        *,
        required: bool = False,
        at_least: int = 0,
        at_most: int | None = None,
    ) -> None:
        if value is None or value == "":
            if required:
                self.add(field, "is required; give it as text")
        elif not isinstance(value, str):
            self.add(field, "must be text; convert it with str()")
        elif len(value) < at_least:
            self.add(field, f"must have at least {at_least} characters")
        elif at_most is not None and len(value) > at_most:
            self.add(field, f"must have at most {at_most} characters; shorten it")

    def sale(self, prefix: str, values: Document, *, products: str, complete: bool = True) -> None:
        kind = values.get("type")
        self._kind(f"{prefix}type", kind, required=complete)
        self._currency(f"{prefix}currency", values.get("currency"), required=complete and kind == "simple")
        self._amount(f"{prefix}amount", values, required=complete and kind == "simple")
        self._products(f"{prefix}{products}", values.get(products), kind, required=complete)
        self._platform(f"{prefix}platform_id", values.get("platform_id"), kind)
        self.text(f"{prefix}description", values.get("description"), at_most=DESCRIPTION_MAX)
        self._metadata(f"{prefix}metadata", values.get("metadata", {}))

    def price(self, amount: object, currency: object) -> None:
        self._currency("currency", currency, required=False)
        self._amount("amount", {"amount": amount, "currency": currency}, required=False)
        if (amount is None) != (currency is None):
            self.add("amount" if amount is None else "currency", "is required: give both amount and currency")

    def _kind(self, field: str, kind: object, *, required: bool) -> None:
        # EP1-19, EP2-15
        if kind is None and not required:
            return
        if kind not in tuple(OrderType):
            self.add(field, f"must be one of {', '.join(OrderType)}")

    def _currency(self, field: str, currency: object, *, required: bool) -> None:
        # EP1-14, EP2-05
        if currency is None:
            if required:
                self.add(field, "is required for type simple")
        elif not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
            self.add(field, "must be an ISO 4217 code of three capital letters, such as USD")

    def _amount(self, field: str, values: Document, *, required: bool) -> None:
        # EP1-15, EP2-04
        amount = values.get("amount")
        if amount is None:
            if required:
                self.add(field, "is required for type simple")
        elif values.get("type") in _PRODUCT_TYPES:
            self.add(field, "must be left out: the service knows the price of its products")
        elif not isinstance(amount, Decimal):
            self.add(field, 'must be a Decimal, such as Decimal("9.99"), never a float')
        elif not _is_positive_money(amount):
            self.add(field, "must be a positive amount of money")
        elif not fits_places(amount, values.get("currency")):
            self.add(field, "must not have more decimal places than its currency; round it yourself")

    def _products(self, field: str, products: object, kind: object, *, required: bool) -> None:
        # EP1-17, EP2-11
        if not products:
            if required and kind in _PRODUCT_TYPES:
                self.add(field, f"is required for type {kind}: give at least one product identifier")
        elif kind == OrderType.SIMPLE:
            self.add(field, "must be left out for type simple")
        elif isinstance(products, str) or not isinstance(products, Sequence):
            self.add(field, "must be a list of product identifiers")
        else:
            for index, product in enumerate(products):
                self.text(f"{field}.{index}", product, required=True)

    def _platform(self, field: str, platform: object, kind: object) -> None:
        # EP1-18, EP2-16
        if platform is None:
            return
        if kind is not None and kind != OrderType.KEY:
            self.add(field, "is used only for type key; leave it out")
        elif platform not in tuple(Platform):
            self.add(field, f"must be one of {', '.join(Platform)}")

    def _metadata(self, field: str, metadata: object) -> None:
        # EP1-22, EP2-08
        if not isinstance(metadata, Mapping):
            self.add(field, "must be a mapping of text to text")
            return
        for key, value in metadata.items():
            self.text(field, key, required=True, at_most=METADATA_MAX)
            self.text(f"{field}.{key}", value, at_most=METADATA_MAX)

    def customer(self, user: Document, suffix: str = "") -> None:
        # EP1-05 to EP1-10, EP2-13
        for name in ("name", "email", "phone"):
            self.text(f"user.{name}{suffix}", user.get(name))
        self.text(f"user.locale{suffix}", user.get("locale"), at_least=LOCALE_MIN)
        if not _is_ip(user.get("ip")):
            self.add(f"user.ip{suffix}", "must be an IP address")
        address = user.get("address", {})
        for name, value in address.items():
            self.text(f"user.address.{name}", value)
        if "country" in address and not _COUNTRY.fullmatch(str(address["country"])):
            self.add("user.address.country", "must be an ISO 3166-1 code of two capital letters, such as DE")

    def address(self, field: str, value: object) -> None:
        # EP1-13, EP2-09, EP2-10
        if value is not None and not _is_web_address(value):
            self.add(field, "must be a complete web address, such as https://shop.example/paid")


def _is_positive_money(amount: Decimal) -> bool:
    try:
        return (parse_money(amount) or 0) > 0
    except ValueError:
        return False


def _is_ip(value: object) -> bool:
    if value is None:
        return True
    try:
        ipaddress.ip_address(value if isinstance(value, str) else "")
    except ValueError:
        return False
    return True


def _is_web_address(value: object) -> bool:
    parts = split(value)
    return parts is not None and parts.scheme in {"https", "http"} and str(value).isprintable()
