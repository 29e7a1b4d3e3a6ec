"""Sums of money: of payments, refunds and chargebacks, in each currency, for accountants and owners.

`period` has the days of the books, `sums` what is summed and the statements. Nothing is written, and two currencies are never
added. docs/money.md says what each sum means.
"""

from checkout_integration.flows.accounting.period import MOST_DAYS, Period
from checkout_integration.flows.accounting.sums import (
    AMOUNTS,
    Dimension,
    Mode,
    MoneyQuery,
    MoneyRow,
    Sums,
    TooManyRows,
    money_rows,
    totals_of,
    usual_mode,
)

__all__ = [
    "Dimension",
    "Mode",
    "MoneyQuery",
    "MoneyRow",
    "Period",
    "Sums",
    "TooManyRows",
    "money_rows",
    "totals_of",
    "usual_mode",
]
