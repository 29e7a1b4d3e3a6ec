"""The customer's language: what a request says of it, and how it becomes the locale of an order (USR-10)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from werkzeug.datastructures import LanguageAccept
from werkzeug.http import parse_accept_header
from werkzeug.wrappers import Request

from checkout_integration.sandbox.orders.order import Order

_LOCALE: Final = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}")


def is_locale(text: str) -> bool:
    """Return whether the text is a language, perhaps with a region."""
    return _LOCALE.fullmatch(text) is not None


def preferred_language(ranges: str) -> str:
    """Return the preferred language of a text in Accept-Language form, "" when it names none (EP1-09)."""
    best = parse_accept_header(ranges, LanguageAccept).best or ""
    return best if is_locale(best) else ""


def language_of(request: Request) -> str:
    """Return the preferred language of the Accept-Language header, "" when it names none."""
    return preferred_language(request.headers.get("Accept-Language", ""))


def with_language(order: Order, language: str) -> Order:
    """Return the order with the customer's locale, unless the merchant gave one (USR-10)."""
    if order.user.get("locale") or not language:
        return order
    return replace(order, user={**order.user, "locale": language})
