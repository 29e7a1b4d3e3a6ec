"""The currencies the sandbox sells in: the active codes of ISO 4217, with their number of decimals (ORD-23)."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Final

_HUNDREDTHS: Final = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU"
    " CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES"
    " KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR"
    " NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP"
    " TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG"
)
_WHOLE: Final = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
_THOUSANDTHS: Final = "BHD IQD JOD KWD LYD OMR TND"
_TEN_THOUSANDTHS: Final = "CLF UYW"
# Metals, units of account, testing: ISO 4217 gives them no minor unit, so the two decimals of ORD-22 stand.
_WITHOUT_UNIT: Final = "XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX"
_SMALLEST: Final = {
    code: unit
    for codes, unit in (
        (_WHOLE, Decimal(1)),
        (_HUNDREDTHS, Decimal("0.01")),
        (_THOUSANDTHS, Decimal("0.001")),
        (_TEN_THOUSANDTHS, Decimal("0.0001")),
        (_WITHOUT_UNIT, Decimal("0.01")),
    )
    for code in codes.split()
}
_SIGNS: Final = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}
_EXACT: Final = Context(prec=60, rounding=ROUND_HALF_EVEN)


def is_currency(code: str) -> bool:
    """Return whether the sandbox knows the currency; codes are uppercase (ORD-23)."""
    return code in _SMALLEST


def smallest_unit(currency: str) -> Decimal:
    """Return the smallest amount that can be charged in the currency."""
    return _SMALLEST.get(currency, Decimal("0.01"))


def round_money(amount: Decimal, currency: str) -> Decimal:
    """Round to the smallest amount that can be charged."""
    return amount.quantize(smallest_unit(currency), context=_EXACT)


def is_chargeable(amount: Decimal, currency: str) -> bool:
    """Return whether the amount has no more decimals than the currency."""
    return round_money(amount, currency) == amount


def display_money(amount: Decimal, currency: str) -> str:
    """Write an amount for people, with its code, for instance `$9.99 USD`."""
    number = f"{round_money(amount, currency):,}"
    return f"{_SIGNS.get(currency, '')}{number} {currency}"
