"""The purchase of a request: read from an order body or from a token's body, and the rules for it.

Both bodies become one `Purchase`, so that a token can override an order's parameters field by field (EP2-12).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any, Final

from checkout_integration.protocol.vocabulary import OrderType, Platform
from checkout_integration.sandbox.merchant.currencies import is_chargeable, is_currency
from checkout_integration.sandbox.merchant.project import SandboxProject
from checkout_integration.sandbox.orders.language import preferred_language
from checkout_integration.sandbox.profile import Profile
from checkout_integration.sandbox.wire.errors import Case, RefusedError
from checkout_integration.sandbox.wire.fields import Fields

_CAPTION_LIMIT: Final = 18  # EP1-21: as deployed services
_LOCALE: Final = re.compile(  # EP2-13: language-region; deployed services take two letters too
    r"[A-Za-z]{2}|[A-Za-z]{2,3}-([A-Za-z]{4}-)?([A-Za-z]{2}|[0-9]{3})"
)
_RANGE: Final = r"(\*|[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*)([ \t]*;[ \t]*q=(0(\.[0-9]{0,3})?|1(\.0{0,3})?))?"
_ACCEPT_LANGUAGE: Final = re.compile(rf"{_RANGE}([ \t]*,[ \t]*{_RANGE})*")  # RFC 7231, section 5.3.5
_PRODUCT_TYPES: Final = {OrderType.KEY, OrderType.PRODUCT}


@dataclass(frozen=True, kw_only=True, slots=True)
class Purchase:
    """The parameters of a purchase, named as in order creation; None is "not given"."""

    project: str | None = None
    type: str | None = None
    amount: Decimal | None = None
    currency: str | None = None
    products: tuple[str, ...] | None = None
    description: str | None = None
    metadata: dict[str, str] | None = None
    account: str | None = None
    user: dict[str, Any] | None = None
    url_success: str | None = None
    url_fail: str | None = None
    platform_id: str | None = None
    button_caption: str | None = None
    is_buy_for_virtual_currency: bool | None = None

    def overridden_by(self, other: Purchase) -> Purchase:
        """Return this purchase overridden by a token (EP2-12, EP6-05), whose sale is taken as a whole."""
        given = {parameter.name: getattr(other, parameter.name) for parameter in fields(other)}
        result = replace(self, **{name: value for name, value in given.items() if value is not None})
        result = replace(result, amount=other.amount, currency=other.currency, products=other.products)
        # A platform is used for keys only (EP2-16); the sender of the order did not know the token's type.
        return result if result.type == OrderType.KEY else replace(result, platform_id=other.platform_id)


def _currency(inner: Fields) -> str | None:
    code = inner.text("currency")
    if code is not None and not is_currency(code):
        inner.wrong("currency", "must be an ISO 4217 code in uppercase")
        return None
    return code


def read_order_purchase(body: Fields) -> Purchase:
    """Read the parameters of order creation (EP2-03 to EP2-16)."""
    return Purchase(
        project=body.text("project"),
        type=body.choice("type", list(OrderType)),
        amount=body.amount("amount"),
        currency=_currency(body),
        products=body.texts("products"),
        description=body.text("description"),
        metadata=body.attributes("metadata"),
        account=body.text("account"),
        user=_read_order_user(body.nested("user")),
        url_success=body.url("url_success"),
        url_fail=body.url("url_fail"),
        platform_id=body.choice("platform_id", list(Platform)),
    )


def _read_order_user(user: Fields | None) -> dict[str, Any] | None:
    """Read `user` of order creation (EP2-13)."""
    if user is None:
        return None
    return {
        "external_id": user.text("external_id") or "",
        "name": user.text("name") or "",
        "email": user.text("email") or "",
        "email_verified": user.boolean("email_verified") or False,
        "phone": user.text("phone") or "",
        "phone_verified": user.boolean("phone_verified") or False,
        "ip": user.ip("ip") or "",
        "locale": user.matching("locale", _LOCALE, "a language-region code") or "",
        "address": user.address("address"),
    }


def read_token_purchase(body: Fields, profile: Profile) -> Purchase:
    """Read the parameters of token creation (EP1-03 to EP1-22)."""
    user = _read_token_user(body.nested("user"), profile)
    settings = body.nested("settings")
    if settings is None:
        body.wrong("settings", "is required")
        return Purchase()
    return_url = settings.nested("return_url")
    return Purchase(
        project=settings.text("project_id"),
        type=settings.choice("type", list(OrderType)),
        amount=settings.amount("amount"),
        currency=_currency(settings),
        products=settings.texts("products_ids"),
        description=settings.text("description"),
        metadata=settings.attributes("metadata"),
        user=user,
        url_success=return_url.url("success") if return_url else None,
        url_fail=return_url.url("fail") if return_url else None,
        platform_id=settings.choice("platform_id", list(Platform)),
        button_caption=settings.text("button_caption", longest=_CAPTION_LIMIT),
        is_buy_for_virtual_currency=settings.boolean("is_buy_for_virtual_currency"),
    )


def _read_token_user(user: Fields | None, profile: Profile) -> dict[str, Any] | None:
    """Read `user` of token creation, whose texts are wrapped in objects (EP1-04 to EP1-10)."""
    if user is None:
        return None
    external_id = user.text("id")
    if not external_id:
        user.wrong("id", "is required")
    name, ip, locale = user.nested("name"), user.nested("ip"), user.nested("locale")
    ranges = (
        locale.matching(
            "value", _ACCEPT_LANGUAGE, "in Accept-Language form", shortest=profile.token_locale_shortest
        )
        if locale
        else None
    )
    email, email_verified = _read_verified(user, "email")
    phone, phone_verified = _read_verified(user, "phone")
    return {
        "external_id": external_id or "",
        "name": (name.text("value") if name else None) or "",
        "email": email,
        "email_verified": email_verified,
        "phone": phone,
        "phone_verified": phone_verified,
        "ip": (ip.ip("value") if ip else None) or "",
        "locale": preferred_language(ranges or ""),
        "address": user.address("address"),
        "metadata": user.attributes("metadata") or {},
    }


def _read_verified(user: Fields, name: str) -> tuple[str, bool]:
    """Read an e-mail or a phone number, and whether it was verified; `verified` requires a value."""
    inner = user.nested(name)
    if inner is None:
        return "", False
    value, verified = inner.text("value"), inner.boolean("verified")
    if value is None and verified is not None:
        inner.wrong("value", "is required where verified is given")
    return value or "", verified or False


def check_purchase(purchase: Purchase, project: SandboxProject, problems: Fields) -> None:
    """Add every breach of the required-when rules and of the project's catalogue to `problems`.

    Type virtual_currency has no such rule of its own: amount and currency are required for simple only (EP2-04, EP2-05).
    """
    if purchase.type is None:
        problems.wrong("type", "is required")
    elif purchase.type == OrderType.SIMPLE:
        _check_simple(purchase, problems)
    elif purchase.type in _PRODUCT_TYPES:
        _check_products(purchase, problems)
    if purchase.platform_id and purchase.type != OrderType.KEY:
        problems.wrong("platform_id", "is used for type key only")
    _check_decimals(purchase, project, problems)
    if project.catalogue is not None:
        known = {product.id for product in project.catalogue if product.kind == purchase.type}
        for product_id in purchase.products or ():
            if product_id not in known:
                problems.wrong("products", "unknown product for this type")


def check_addresses(purchase: Purchase, project: SandboxProject) -> None:
    """Refuse return addresses that the project does not allow (EP2-09, EP2-10)."""
    if (purchase.url_success or purchase.url_fail) and not project.dynamic_urls:
        raise RefusedError(
            400,
            Case.RETURN_ADDRESSES,
            "return addresses are not allowed",
            "url_success, url_fail: dynamic URLs are not enabled in the project settings",
        )


def _check_simple(purchase: Purchase, problems: Fields) -> None:
    if purchase.amount is None:
        problems.wrong("amount", "is required for type simple")
    if purchase.currency is None:
        problems.wrong("currency", "is required for type simple")
    if purchase.products:
        problems.wrong("products", "must not be given for type simple")


def _check_decimals(purchase: Purchase, project: SandboxProject, problems: Fields) -> None:
    """Refuse what cannot be charged: two decimals (ORD-22), or as many as the currency has."""
    if purchase.amount is None:
        return
    currency = purchase.currency or project.currency
    usual = purchase.currency is not None or purchase.amount == round(purchase.amount, 2)
    if not usual or not is_chargeable(purchase.amount, currency):
        problems.wrong("amount", f"must not have more decimals than {currency}")


def _check_products(purchase: Purchase, problems: Fields) -> None:
    if not purchase.products:
        problems.wrong("products", f"is required for type {purchase.type}")
    elif purchase.type == OrderType.KEY and len(purchase.products) != 1:
        problems.wrong("products", "must be one key product for type key")
    if purchase.amount is not None:
        problems.wrong("amount", f"must not be given for type {purchase.type}")
