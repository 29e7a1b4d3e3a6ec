"""Sums of money: of payments, refunds and chargebacks, in each currency, for accountants and owners.

`period` has the days of the books, `sums` what is summed, `reading` the statements. Nothing is written, and two currencies
are never added. docs/money.md says what each sum means.
"""

from checkout_integration.flows.accounting.period import MOST_DAYS as MOST_DAYS
from checkout_integration.flows.accounting.period import Period
from checkout_integration.flows.accounting.reading import MoneyQuery, TooManyRows, money_rows
from checkout_integration.flows.accounting.sums import Dimension, Mode, MoneyRow, Sums, totals_of, usual_mode

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
