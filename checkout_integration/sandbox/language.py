"""The customer's language: what a request says of it, and how it becomes the locale of an order (USR-10)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from werkzeug.wrappers import Request

from checkout_integration.sandbox.order import Order

_LOCALE: Final = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}")


def is_locale(text: str) -> bool:
    """Whether the text is a language, perhaps with a region."""
    return _LOCALE.fullmatch(text) is not None


def language_of(request: Request) -> str:
    """Return the language that the Accept-Language header likes best, "" when it names none."""
    best = request.accept_languages.best or ""
    return best if is_locale(best) else ""


def with_language(order: Order, language: str) -> Order:
    """Return the order with the customer's locale, unless the merchant has told it (USR-10)."""
    if order.user.get("locale") or not language:
        return order
    return replace(order, user={**order.user, "locale": language})
