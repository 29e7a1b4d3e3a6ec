"""Moments, money and secrets: the value types that the documents of the specification are made of."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache
from typing import Any, Final, NoReturn, TypeAlias

Document: TypeAlias = Mapping[str, Any]
"""A JSON object as it was read, unknown fields included."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_TEXT: Final = "1970-01-01T00:00:00"
_LAST: Final = datetime(9999, 12, 30, 23, 59, 59, 999999, tzinfo=UTC)
"""The day after it overflows wherever it is shown in a zone east of UTC."""
_ZERO_YEARS: Final = ("0000-", "0001-")
# Narrower than datetime.fromisoformat, which also reads week dates and bare dates.
_MOMENT: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)
_MONEY: Final = re.compile(r"-?\d{1,20}(?:\.\d{1,20})?", re.ASCII)
_MONEY_MAGNITUDE: Final = 40
_MONEY_BOUND: Final = 10**_MONEY_MAGNITUDE
_ZERO: Final = Decimal(0)
_EXACT: Final = Context(prec=100)


def parse_moment(value: object) -> datetime | None:
    """Return a moment in UTC, or None for every way in which documents say "no time".

    Reads RFC 3339 text (up to nine fraction digits, cut to microseconds; no offset means UTC) and the older
    ``{"seconds": n, "nanos": n}``. No time: null, "", year 1, the Unix epoch. Raises ValueError otherwise.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return _moment_of_text(value)
    if isinstance(value, Mapping):
        return _moment_of_seconds(value)
    raise ValueError("not a moment")


def _moment_of_text(text: str) -> datetime | None:
    if _MOMENT.fullmatch(text) is None:
        raise ValueError("not a moment")
    # Before any arithmetic: the zero time of year 1 overflows in zones west of UTC.
    if text.startswith(_ZERO_YEARS) or text.upper().startswith(_EPOCH_TEXT):
        return None
    local = datetime.fromisoformat(text.upper())
    try:
        return _unless_zero(local.astimezone(UTC) if local.tzinfo else local.replace(tzinfo=UTC))
    except OverflowError:
        raise ValueError("not a moment") from None


def _moment_of_seconds(value: Mapping[str, Any]) -> datetime | None:
    seconds, nanos = value.get("seconds", 0), value.get("nanos", 0)
    if type(seconds) is not int or type(nanos) is not int:
        raise ValueError("not a moment")
    try:
        return _unless_zero(_EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000))
    except OverflowError:
        raise ValueError("not a moment") from None


def _unless_zero(moment: datetime) -> datetime | None:
    if moment > _LAST:
        raise ValueError("not a moment")
    return None if moment.year <= 1 or moment == _EPOCH else moment


def format_moment(moment: datetime) -> str:
    """Return ``YYYY-MM-DDThh:mm:ss`` in UTC, as the filters of the transaction list require it (EP3-07, EP3-08)."""
    if moment.tzinfo is None:
        raise ValueError("a moment without a zone cannot be sent")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def parse_money(value: object) -> Decimal | None:
    """Return an amount as an exact Decimal in plain notation, or None for null and "".

    Reads JSON numbers (int, Decimal) and, from older messages, numeric text such as "9.99". Raises ValueError
    for anything else, floats and booleans included.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str) and _MONEY.fullmatch(value):
        return Decimal(value)
    if type(value) is int and abs(value) < _MONEY_BOUND:
        return Decimal(value)
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < _MONEY_MAGNITUDE:
        return _EXACT.add(value, _ZERO)  # 1E+2 becomes 100
    raise ValueError("not an amount of money")


def minor_units(currency: str) -> int | None:
    """Return decimal places of an active ISO 4217 code; None when the code is unknown or has no minor unit."""
    return _PLACES.get(currency)


def is_currency(code: str) -> bool:
    """Return whether this is an active code of ISO 4217, with a minor unit or without."""
    return code in _PLACES or code in _WITHOUT_MINOR_UNIT


def amount_text(amount: Decimal, currency: str = "") -> str:
    """Return the amount in plain digits, with as many decimal places as its currency has, and more only where it has more.

    Without a known currency there are no zeros at the end.
    """
    places = minor_units(currency) or 0
    exact = amount.normalize(_EXACT)
    return format(exact, f".{max(-int(exact.as_tuple().exponent), places, 0)}f")


def is_stated(amount: Decimal | None, currency: str | None) -> bool:
    """Return whether the amount is known. Services send a zero without a currency where there is none."""
    return amount is not None and bool(amount or currency)


def same_money(first: Decimal | None, second: Decimal | None, currency: str) -> bool:
    """Return whether two amounts are equal to the last place that the currency has; unknown amounts never are."""
    if first is None or second is None:
        return False
    places = minor_units(currency)
    if places is None:
        return first == second
    return rounded(first, places) == rounded(second, places)


def fits_places(amount: Decimal, currency: str | None) -> bool:
    """Return whether the amount has no more decimal places than its currency; true for an unknown currency."""
    places = minor_units(currency or "")
    return places is None or has_places(amount, places)


def has_places(amount: Decimal, places: int) -> bool:
    """Return whether the amount can be written with so many decimal places, whatever the caller's decimal precision."""
    return amount == rounded(amount, places)


def rounded(amount: Decimal, places: int) -> Decimal:
    """Return the amount with so many decimal places, half of the last one rounded up, away from zero: the only rounding."""
    return amount.quantize(smallest(places), rounding=ROUND_HALF_UP, context=_EXACT)


@cache
def smallest(places: int) -> Decimal:
    """Return the smallest amount that has so many decimal places."""
    return Decimal(1).scaleb(-places)


class Secret:  # noqa: PLW1641 -- not hashable on purpose
    """A project's Secret key. It shows itself only through `reveal`, and cannot be pickled or hashed."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError("a secret is text")
        self._text = text

    def reveal(self) -> str:
        """Return the secret itself, for a header or a hash, never for a log or a message."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(\N{HORIZONTAL ELLIPSIS})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(_bytes(self._text), _bytes(other._text))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written to a queue, a cache or a file")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# ISO 4217, active codes by the number of places of their minor unit.
_CODES: Final = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    2: (
        "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF "
        "CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD "
        "GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL "
        "MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR "
        "PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP "
        "TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG"
    ),
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
_WITHOUT_MINOR_UNIT: Final = frozenset("XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX".split())
_PLACES: Final = {code: places for places, codes in _CODES.items() for code in codes.split()}
