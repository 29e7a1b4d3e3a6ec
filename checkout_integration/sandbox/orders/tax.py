"""Taxes by country, roughly as they are: VAT of the EU and Russia, a sales tax for the USA (ORD-26)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Final

from checkout_integration.protocol.vocabulary import VatPayer
from checkout_integration.sandbox.merchant.currencies import round_money
from checkout_integration.sandbox.orders.order import Order

_PERCENT: Final = {
    "AT": 20, "BE": 21, "BG": 20, "CY": 19, "CZ": 21, "DE": 19, "DK": 25, "EE": 24, "ES": 21, "FI": 25, "FR": 20,
    "GR": 24, "HR": 25, "HU": 27, "IE": 23, "IT": 22, "LT": 21, "LU": 17, "LV": 21, "MT": 18, "NL": 21, "PL": 23,
    "PT": 23, "RO": 21, "RU": 20, "SE": 25, "SI": 22, "SK": 23, "US": 8,
}  # fmt: skip
COUNTRIES: Final = {
    "AT": "Austria", "BE": "Belgium", "BR": "Brazil", "CA": "Canada", "CH": "Switzerland", "DE": "Germany",
    "DK": "Denmark", "ES": "Spain", "FI": "Finland", "FR": "France", "GB": "United Kingdom", "GR": "Greece",
    "HU": "Hungary", "IE": "Ireland", "IT": "Italy", "JP": "Japan", "NL": "Netherlands", "PL": "Poland",
    "PT": "Portugal", "RU": "Russia", "SE": "Sweden", "UA": "Ukraine", "US": "United States",
}  # fmt: skip


def with_tax(order: Order, country: str) -> Order:
    """Return the order taxed for a customer in `country`; "" or an untaxed country means no tax.

    A customer's VAT is added to `amount`; a seller's VAT is a part of it (ORD-41). The charged amount
    follows in the currency of the customer's card (ORD-39, ORD-40).
    """
    percent = 0 if order.vat_payer == VatPayer.NOBODY else _PERCENT.get(country, 0)
    rate = Decimal(percent) / 100
    original = order.original_amount
    if order.vat_payer == VatPayer.BUYER:
        tax = round_money(original * rate, order.currency)
        amount = original + tax
    else:
        tax = round_money(original - original / (1 + rate), order.currency)
        amount = original
    charged_in = order.charge_currency or order.currency
    word = ("sales_tax" if country == "US" else "vat") if rate else ""
    return replace(
        order,
        amount=amount,
        tax_type=word,
        tax_rate=rate,
        tax_amount=tax,
        charge_amount=round_money(amount * order.charge_rate, charged_in),
        charge_currency=charged_in,
    )
