"""The rule for the value of each setting, with a hint for values that break it. `problems` checks the other rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from checkout_integration.protocol.address import is_secure, split
from checkout_integration.protocol.signature import Encoding

HOUR: Final = 3600
WEEK: Final = 7 * 24 * HOUR
MOST_HOURS: Final = 30 * 24
"""The longest ABANDONED_AFTER: after 30 days the sync does not look at an unpaid order any more."""
TOKENS_ONLY: Final = "tokens"
"""DYNAMIC_URLS: the service takes return addresses in tokens (EP1-13), and not in orders (EP2-09, EP2-10)."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """``is_valid`` takes any object and raises nothing; ``hint`` completes "Set NAME to …"."""

    is_valid: Callable[[object], bool]
    hint: str


def _one_of(*words: str) -> Rule:
    return Rule(
        is_valid=lambda value: isinstance(value, str) and value in words,
        hint=f"one of: {', '.join(map(repr, words))}",
    )


def _whole(least: int, most: int, hint: str) -> Rule:
    return Rule(is_valid=lambda value: type(value) is int and least <= value <= most, hint=hint)


def _text(pattern: str, hint: str) -> Rule:
    form = re.compile(pattern, re.ASCII)
    return Rule(is_valid=lambda value: isinstance(value, str) and bool(form.fullmatch(value)), hint=hint)


def _list_of(is_right: Callable[[object], bool], hint: str, *, least: int = 0) -> Rule:
    return Rule(
        is_valid=lambda value: (
            isinstance(value, (list, tuple)) and len(value) >= least and all(map(is_right, value))
        ),
        hint=hint,
    )


def _is_duration(value: object, most: int) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= most


def _seconds(most: int) -> Rule:
    hint = f"a number of seconds, more than 0 and at most {most}"
    return Rule(is_valid=lambda value: _is_duration(value, most), hint=hint)


def _nothing_or_up_to(most: int, hint: str) -> Rule:
    return Rule(
        is_valid=lambda value: value is not False and (value == 0 or _is_duration(value, most)), hint=hint
    )


_HOST: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", re.ASCII)


PRUNABLE: Final = ("notification_bodies", "validation_decisions", "outbox_messages", "sync_runs")
FEWEST_DAYS, MOST_DAYS = 7, 3650
"""The service sends a notification again for two days, and each lane of the list is read once a week."""


def _is_retention(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        kind in PRUNABLE and type(days) is int and FEWEST_DAYS <= days <= MOST_DAYS
        for kind, days in value.items()
    )


def _is_web_address_or_empty(value: object) -> bool:
    parts = split(value)
    return value == "" or (
        parts is not None and parts.scheme in {"https", "http"} and str(value).isprintable()
    )


def _is_order_page(value: object) -> bool:
    """Return whether it is a web address with a place for the id of an order, or empty."""
    parts = str(value).partition("{order_id}")
    has_place = parts[1] and not set("{}") & set(parts[0] + parts[2])
    return value == "" or (
        isinstance(value, str)
        and bool(has_place)
        and is_secure(value.replace("{order_id}", "1"), loopback=True)
    )


def _is_page(value: object) -> bool:
    """Return whether a link may lead there: a path of this site, or a web address."""
    if not isinstance(value, str) or not value or not value.isprintable() or "\\" in value:
        return False
    return (value[0] == "/" and value[:2] != "//") or _is_web_address_or_empty(value)


_ON_OR_OFF: Final = Rule(is_valid=lambda value: isinstance(value, bool), hint="True or False (not to text)")
_MARGIN: Final = _whole(0, WEEK, f"a whole number of seconds from 0 to {WEEK}")
_PARAMETER: Final = _text(r"[\w.\[\]-]{1,64}", "the name of a query parameter: letters, digits, _ . - [ ]")

RULES: Final[Mapping[str, Rule]] = {
    "RECEIVER_DEADLINE": _seconds(24 * HOUR),
    "RECEIVER_LIMIT": _seconds(24 * HOUR),
    "RETENTION": Rule(
        is_valid=_is_retention,
        hint=f"a dict of whole days from {FEWEST_DAYS} to {MOST_DAYS}, with one or more of: "
        f"{', '.join(map(repr, PRUNABLE))}",
    ),
    "GOODS": _one_of("receivers", "pull"),
    "RUNNER": _one_of("request", "celery", "worker"),
    "REQUEST_BUDGET": _nothing_or_up_to(60, "a number of seconds from 0 to 60"),
    "LOG_EXCEPTION_MESSAGES": _ON_OR_OFF,
    "UNBOUND_ORDERS": _one_of("review", "accept"),
    "LIST_ARRAY_STYLE": _one_of("brackets", "plain"),
    "SIGNATURE_ENCODINGS": _list_of(
        tuple(Encoding).__contains__,
        f"a list with one or more of: {', '.join(map(repr, map(str, Encoding)))}",
        least=1,
    ),
    "CREDENTIAL_CODES": _list_of(
        lambda each: isinstance(each, str) and each != "", 'a list of codes, such as ["fm000048"]'
    ),
    "LIST_INVOICE_ID": _one_of("reference", ""),
    "VALIDATE_REFUSE_STATUS": _whole(400, 499, "a whole number from 400 to 499"),
    "VALIDATE_BUDGET": _seconds(60),
    "VALIDATE_WHEN_LATE": _one_of("refuse", "approve"),
    "LIST_PAGE_SIZE": _whole(2, 1000, "a whole number from 2 to 1000 (chained paging needs two rows a page)"),
    "RETRY_INTERVAL": _MARGIN,
    "LIST_MARGIN": _MARGIN,
    "HISTORIC_MARGIN": _MARGIN,
    "DOUBLE_CLICK_SECONDS": _MARGIN,
    "ABANDONED_AFTER": _nothing_or_up_to(MOST_HOURS, f"a number of hours from 0 (never) to {MOST_HOURS}"),
    "TIMEOUT": _seconds(HOUR),
    "ACCEPT_TEST_PAYMENTS": _ON_OR_OFF,
    "DYNAMIC_URLS": Rule(
        is_valid=lambda value: isinstance(value, bool) or value == TOKENS_ONLY,
        hint=f'True, False or "{TOKENS_ONLY}"',
    ),
    "ALLOW_HTTP_LOOPBACK": _ON_OR_OFF,
    "ALLOW_HTTP_HOSTS": _list_of(
        lambda each: isinstance(each, str) and bool(_HOST.fullmatch(each)),
        'a list of names of hosts in small letters, such as ["sandbox"]',
    ),
    "LIST_END_PARAMETER": _PARAMETER,
    "CLIENT_CLASS": _text(r"[A-Za-z_$][\w$.]*", "the name of a JavaScript class"),
    "VERSION_HEADER": _text(r"[!#$%&'*+.^`|~\w-]+", "the name of a header"),
    "API_VERSION": _text(r"[!-~]+", 'a version as text, such as "1.0"'),
    "REFERENCE_KEY": _text(r"[ -~]{1,255}", "text of 1 to 255 printable characters"),
    "ORDER_URL": Rule(is_valid=_is_order_page, hint='an https address with {order_id} in it once, or to ""'),
    "RETURN_CONTINUE_URL": Rule(is_valid=_is_page, hint='a path of this site, such as "/", or a web address'),
    "RETURN_URL": Rule(is_valid=_is_web_address_or_empty, hint='a complete web address, or to ""'),
}
