"""The currencies the sandbox sells in, by ISO 4217, with their number of decimals."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

_CODES: Final = frozenset(
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF"
    " CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD"
    " HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD"
    " MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN"
    " PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY"
    " TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG".split()
)
_WHOLE: Final = frozenset("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF".split())
_SIGNS: Final = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}


def is_currency(code: str) -> bool:
    """Whether the sandbox knows the currency; codes are uppercase (ORD-23)."""
    return code in _CODES


def smallest_unit(currency: str) -> Decimal:
    """Return the least that can be charged: two decimals (ORD-22), none where the currency has none."""
    return Decimal(1) if currency in _WHOLE else Decimal("0.01")


def round_money(amount: Decimal, currency: str) -> Decimal:
    """Round to what can be charged."""
    return amount.quantize(smallest_unit(currency))


def display_money(amount: Decimal, currency: str) -> str:
    """Write an amount for people, with its code, for instance `$9.99 USD`."""
    number = f"{round_money(amount, currency):,}"
    return f"{_SIGNS.get(currency, '')}{number} {currency}"
