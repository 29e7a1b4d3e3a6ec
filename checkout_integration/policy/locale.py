"""The customer's locale in the forms that the service takes, from the names that Django and operating systems use.

A shop has ``zh-hans``, ``fr`` or ``en_US`` at hand. A locale is optional, so a name without a form that the service takes
is left out: nobody loses a sale for it. What is no name of a locale stays as it is, and the rules refuse it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from checkout_integration.protocol.creation_values import Checks

_NAME: Final = re.compile(
    r"([a-z]{2,3})(?:[-_]([a-z]{4}))?(?:[-_]([a-z]{2}|[0-9]{3}))?(?:[-_][a-z0-9]{1,8})*(?:\.[\w-]+)?(?:@\w+)?",
    re.ASCII | re.IGNORECASE,
)
_REGION: Final = {("zh", "hans"): "CN", ("zh", "hant"): "TW", ("sr", "latn"): "RS", ("sr", "cyrl"): "RS"}
"""Of Django's languages that have a script and no region: the likely one of CLDR."""


def locale_of_order(name: str | None) -> str | None:
    """Return the locale of an order's customer (EP2-13): a language and a region, or a language of two letters."""
    return _form(name, Checks.order_locale)


def locale_of_token(name: str | None) -> str | None:
    """Return the locale of a token's customer (EP1-09): as in Accept-Language, and never shorter than ``de-DE``."""
    return _form(name, Checks.token_locale)


def _form(name: str | None, rule: Callable[[Checks, str, object], None]) -> str | None:
    """Return the name as it is, or as a tag, whichever the rule takes first; None if it takes neither."""
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        return name
    forms = (name, _tag(*match.groups()))
    return next((form for form in forms if _obeys(rule, form)), None)


def _tag(language: str, script: str | None, region: str | None) -> str:
    """Return the language tag: a script has no place without a region."""
    region = region or _REGION.get((language.lower(), (script or "").lower()))
    parts = [language.lower(), (script or "").title(), region.upper()] if region else [language.lower()]
    return "-".join(filter(None, parts))


def _obeys(rule: Callable[[Checks, str, object], None], form: str | None) -> bool:
    checks = Checks()
    rule(checks, "locale", form)
    return not checks.problems
