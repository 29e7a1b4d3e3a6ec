"""The page about money, in the place of a list, and its rows as a CSV file.

`flows.accounting` sums; docs/money.md says what each sum is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponseBadRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.utils.formats import date_format
from django.utils.timezone import get_default_timezone_name
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from checkout_integration.admin.site.downloads import CsvAdmin, csv_response
from checkout_integration.admin.site.fields import Viewer
from checkout_integration.admin.site.labels import Text
from checkout_integration.admin.site.read_only import ReportAdmin
from checkout_integration.admin.site.values import NOTHING, visible
from checkout_integration.conf import app_settings
from checkout_integration.display import amount_text, shown_day, shown_number, shown_part
from checkout_integration.flows.accounting import (
    AMOUNTS,
    MOST_DAYS,
    Dimension,
    Mode,
    MoneyQuery,
    MoneyRow,
    Period,
    TooManyRows,
    money_rows,
    totals_of,
    usual_mode,
)
from checkout_integration.models import Money, Order, Refund
from checkout_integration.protocol.vocabulary import OrderStatus, VatPayer

USUAL_DAYS: Final = 30
DAY: Final = timedelta(days=1)
DIMENSIONS: Final = {
    Dimension.DAY: gettext_lazy("day"),
    Dimension.MONTH: gettext_lazy("month"),
    Dimension.METHOD: gettext_lazy("payment method"),
    Dimension.COUNTRY: gettext_lazy("country"),
    Dimension.PRODUCT: gettext_lazy("product"),
    Dimension.ORIGIN: gettext_lazy("origin"),
    Dimension.VAT: gettext_lazy("rate and payer of VAT"),
}
MODES: Final = {
    Mode.LIVE: gettext_lazy("live"),
    Mode.TEST: gettext_lazy("test"),
    Mode.UNKNOWN: gettext_lazy("mode unknown"),
}
TITLES: Final = {
    Mode.LIVE: gettext_lazy("Money"),
    Mode.TEST: gettext_lazy("Money of tests: no real money"),
    Mode.UNKNOWN: gettext_lazy("Money, mode unknown"),
}
ON_PAYMENT_DAY: Final = "payment"
REVERSALS: Final = {
    "": gettext_lazy("the day on which they happened"),
    ON_PAYMENT_DAY: gettext_lazy("the day of their payment"),
}


class DateInput(forms.DateInput):
    """A field of a day, as browsers know it."""

    input_type = "date"

    def __init__(self) -> None:
        """Write the day in the form that browsers read, whatever the language."""
        super().__init__(format="%Y-%m-%d")


class MoneyForm(forms.Form):
    """What to sum. Without any filter: the live money of the last 30 days, by day."""

    first = forms.DateField(label=gettext_lazy("First day"), widget=DateInput(), required=False)
    last = forms.DateField(label=gettext_lazy("Last day"), widget=DateInput(), required=False)
    currency = forms.CharField(label=gettext_lazy("Currency"), max_length=8, required=False)
    project = forms.ChoiceField(label=gettext_lazy("Project"), required=False)
    mode = forms.ChoiceField(label=gettext_lazy("Mode"), choices=MODES.items, required=False)
    reversals = forms.ChoiceField(
        label=gettext_lazy("Refunds and chargebacks count on"), choices=REVERSALS.items, required=False
    )
    by = forms.MultipleChoiceField(
        label=gettext_lazy("A row for each"),
        choices=DIMENSIONS.items,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, data: Any) -> None:
        """Fill in what the address leaves out."""
        days = Period.last_days(USUAL_DAYS)
        usual = {"first": days.first, "last": days.last, "mode": usual_mode()}
        given = {name: data[name] for name in self.base_fields if data.get(name) and name != "by"}
        by = data.getlist("by") or ([] if data else [Dimension.DAY.value])
        super().__init__({**usual, **given, "by": by})
        aliases = list(app_settings().projects)
        field = self.fields["project"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", _("all projects")), *((alias, alias) for alias in aliases)]
        if len(aliases) < 2:
            field.widget = forms.HiddenInput()

    def clean(self) -> dict[str, Any]:
        """Check that there is such a period."""
        values = dict(self.cleaned_data)
        first, last = values.get("first"), values.get("last")
        if first and last:
            try:
                values["period"] = Period(first=first, last=last)
            except ValueError:
                raise forms.ValidationError(
                    _("The last day must not be before the first, nor more than %(n)d days after it.")
                    % {"n": MOST_DAYS - 1}
                ) from None
        return values

    @property
    def query(self) -> MoneyQuery:
        """What was chosen; of a valid form."""
        values = self.cleaned_data
        return MoneyQuery(
            period=values["period"],
            by=[dimension for dimension in Dimension if dimension in values["by"]],
            project=values["project"],
            mode=Mode(values["mode"]),
            on_payment_day=values["reversals"] == ON_PAYMENT_DAY,
        )


MOST_SHOWN: Final = 1_000
"""Rows of a currency that the page shows; the file has all of them."""
SUMS: Final[Mapping[str, Text]] = {
    "payments": gettext_lazy("payments"),
    "in_review": gettext_lazy("of them in review"),
    "gross": gettext_lazy("gross"),
    "charged": gettext_lazy("charged"),
    "tax": gettext_lazy("tax"),
    "fee": gettext_lazy("fee"),
    "net": gettext_lazy("net"),
    "refunds": gettext_lazy("payments refunded"),
    "refunded": gettext_lazy("refunds"),
    "chargebacks": gettext_lazy("payments charged back"),
    "charged_back": gettext_lazy("chargebacks"),
    "refund_rate": gettext_lazy("refund rate, %"),
    "chargeback_rate": gettext_lazy("chargeback rate, %"),
}
HEADINGS: Final[Mapping[str, Text]] = {
    "day": gettext_lazy("day"),
    "month": gettext_lazy("month"),
    "method_type": gettext_lazy("payment method"),
    "country": gettext_lazy("country"),
    "product": gettext_lazy("product"),
    "utm_source": gettext_lazy("source"),
    "referrer_host": gettext_lazy("host"),
    "tax_rate": gettext_lazy("rate of VAT"),
    "vat_payer": gettext_lazy("VAT paid by"),
    **SUMS,
}
VAT_PAYERS: Final[Mapping[str, Text]] = {
    VatPayer.BUYER: gettext_lazy("the customer"),
    VatPayer.SELLER: gettext_lazy("the shop"),
    VatPayer.NOBODY: gettext_lazy("nobody"),
}
ALWAYS: Final = ("payments", "gross", "fee", "net")
"""The sums that the page shows without anything in them, too."""
LEADS: Final = {
    "payments": (Order, {"paid": "yes"}),
    "in_review": (Order, {"paid": "yes", "queue": "review"}),
    "refunds": (Refund, {"status": OrderStatus.REFUNDED.value}),
    "chargebacks": (Refund, {"status": OrderStatus.CHARGEBACK.value}),
    "net": (Order, {"paid": "yes", "net": "unknown"}),
}
"""The numbers that lead to their rows: the list, and the filters that only it has. Of the net: those that lack it."""


def sections(
    rows: Sequence[MoneyRow], columns: Sequence[str], address_of: Callable[[MoneyRow, str], str]
) -> Iterator[dict[str, Any]]:
    """Yield what the page shows of each currency; ``left_out`` is how many rows are in the file alone.

    A column in which no row has anything is left out, unless it is unknown: that has to be seen. So is what was charged where
    it is the price everywhere. ``address_of`` returns the address of the rows of a number.
    """
    for total in totals_of(rows):
        own = [row for row in rows if row.currency == total.currency]
        always = (*ALWAYS, "tax") if "tax_rate" in columns else ALWAYS
        shown = (
            name for name in SUMS if name in always or getattr(total.sums, name) or total.sums.unstated[name]
        )
        is_price = all(row.sums.charged == row.sums.gross for row in own)
        names = [*columns, *(name for name in shown if not (is_price and name == "charged"))]
        yield {
            "currency": visible(total.currency) or NOTHING,
            "columns": [(HEADINGS[name], name in SUMS) for name in names],
            "is_whole": len(names) == len(columns) + len(SUMS),
            "rows": [_cells(row, names, address_of) for row in own[:MOST_SHOWN]],
            "total": _cells(total, names[len(columns) :], address_of),
            "left_out": max(len(own) - MOST_SHOWN, 0),
            "sums": own,
        }


def _cells(
    row: MoneyRow, names: Sequence[str], address_of: Callable[[MoneyRow, str], str]
) -> list[dict[str, Any]]:
    """Return the cells of a row, without its currency: each with its text, and where it leads.

    ``of``: of how many payments it is the sum, if that is not complete: "2 of 3". ``address``: of the rows that a number
    counts; of a sum that is not complete, of those that are not in it.
    """
    values = _values(row)
    return [
        {
            "heading": HEADINGS[name],
            "text": _in_words(name, values[name]),
            "of": shown_part(row.sums.stated[name], row.sums.unstated[name]),
            "is_number": name in SUMS,
            "address": address_of(row, name) if name in LEADS and _has_rows(row, name) else "",
        }
        for name in names
    ]


def _has_rows(row: MoneyRow, name: str) -> bool:
    return bool(row.sums.unstated[name] if name in AMOUNTS else getattr(row.sums, name))


def _values(row: MoneyRow) -> dict[str, Any]:
    """Return the values by column: rates without the zeros that theirs adds, amounts with the places of their currency."""
    values = {
        name: Decimal(amount_text(of)) if isinstance(of, Decimal) else of for name, of in row.by.items()
    }
    for name in SUMS:
        of = getattr(row.sums, name)
        values[name] = of if name not in AMOUNTS or of is None else Decimal(amount_text(of, row.currency))
    return values


def _in_words(name: str, value: Any) -> str:
    """Return a value of this column as people write it in the active language."""
    if name == "month":
        return date_format(value, "YEAR_MONTH_FORMAT")
    if name == "vat_payer" and value in VAT_PAYERS:
        return str(VAT_PAYERS[value])
    if value is None or value == "":
        return NOTHING
    if isinstance(value, date):
        return shown_day(value)
    return shown_number(value) if isinstance(value, Decimal | int) else visible(value)


@admin.register(Money)
class MoneyAdmin(ReportAdmin, CsvAdmin):
    """The entry "Money" of the index: no list of rows and no page of one, but sums of them, and a file."""

    template = "money.html"

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return the sums."""
        form = MoneyForm(request.GET)
        rows = _rows_of(form)
        columns = form.query.columns if form.is_valid() else []
        presets = list(_presets(form))
        return {
            "title": TITLES[form.query.mode if form.is_valid() else Mode.LIVE],
            "form": form,
            "presets": presets,
            "is_preset": any(preset["is_chosen"] for preset in presets),
            "sections": list(sections(rows, columns, partial(_rows_of_number, self.viewer(request), form))),
            "is_complete": all(row.sums.is_complete for row in rows),
            "contradicted": sum(row.sums.contradicted for row in rows),
            "columns": columns,
            "time_zone": get_default_timezone_name(),
            "csv": f"csv/?{request.GET.urlencode()}",
        }

    @method_decorator(require_safe)
    def csv_view(self, request: HttpRequest) -> HttpResponseBase:
        """Send the rows of the page."""
        form = MoneyForm(request.GET)
        rows = _rows_of(form)
        if form.errors:  # an empty file would say that there is no money
            return HttpResponseBadRequest(form.errors.as_text(), content_type="text/plain; charset=utf-8")
        query = form.query
        name = f"money-{query.mode.value}-{query.period.first}-{query.period.last}"
        return csv_response(request, name, _lines(rows, query))


def _rows_of(form: MoneyForm) -> list[MoneyRow]:
    """Return the rows that the form asks for; none, and an error of the form, where it cannot be met."""
    if not form.is_valid():
        return []
    currency = form.cleaned_data["currency"].strip().upper()
    try:
        rows = money_rows(form.query)
    except TooManyRows:
        form.add_error(None, _("These are too many rows: take fewer days, or fewer rows for each."))
        return []
    sequence = [total.currency for total in totals_of(rows) if currency in ("", total.currency)]
    if not form.query.by or set(form.query.by) & {Dimension.DAY, Dimension.MONTH}:
        return [row for name in sequence for row in rows if row.currency == name]
    # "What sells best" is the question, where it is not "when".
    most = sorted(rows, key=lambda row: -(row.sums.gross or 0))
    return [row for name in sequence for row in most if row.currency == name]


ALONE: Final = {"month": "", "day": "", "method_type": "method", "country": "country", "product": "product"}
"""Of each column of the sums, the parameter of the list of orders; days and months have two of their own."""


def _rows_of_number(viewer: Viewer, form: MoneyForm, row: MoneyRow, name: str) -> str:
    """Return the address of the payments or refunds of a number; "" where their list has no such filter."""
    (model, own), query = LEADS[name], form.query
    if not row.currency or not all(key in ALONE and value for key, value in row.by.items()):
        return ""
    if model is Refund and (query.on_payment_day or row.by.keys() - {"month", "day"}):
        return ""
    first, last = query.period.first, query.period.last
    if "month" in row.by:
        first, last = max(first, row.by["month"]), min(last, _end_of_month(row.by["month"]))
    if "day" in row.by:
        first = last = row.by["day"]
    parameters = {
        **own,
        "mode": query.mode.value,
        "project": query.project,
        "currency": row.currency,
        "from_day": first,
        "to_day": last,
        **{ALONE[name]: value for name, value in row.by.items()},
    }
    given = urlencode({key: value for key, value in parameters.items() if key and value})
    may_view = viewer.may(f"view_{model._meta.model_name}")
    return f"{viewer.address(model, 'changelist')}?{given}" if may_view else ""


def _presets(form: MoneyForm) -> Iterator[dict[str, Any]]:
    """Yield the periods that accountants ask for, as links: around today, in the zone of the books.

    Those longer than a month are month by month.
    """
    today = Period.last_days(1).first
    month, quarter, year = (
        today.replace(day=1),
        today.replace(day=1, month=(today.month - 1) // 3 * 3 + 1),
        today.replace(day=1, month=1),
    )
    periods = (
        (_("last 30 days"), Period.last_days(USUAL_DAYS).first, today),
        (_("this month"), month, _end_of_month(month)),
        (_("last month"), (month - DAY).replace(day=1), month - DAY),
        (_("this quarter"), quarter, _end_of_month(quarter + 63 * DAY)),
        (_("last quarter"), (quarter - 63 * DAY).replace(day=1), quarter - DAY),
        (_("this year"), year, _end_of_month(year.replace(month=12))),
        (_("last year"), year.replace(year=year.year - 1), year - DAY),
    )
    others = {name: form.data.get(name) for name in ("currency", "project", "mode", "reversals")}
    for name, first, last in periods:
        by = [(Dimension.DAY if last - first < 31 * DAY else Dimension.MONTH).value]
        chosen = {"first": first, "last": last, "by": by}
        parameters = {**chosen, **{key: value for key, value in others.items() if value}}
        is_chosen = form.is_valid() and (first, last, by) == (
            form.cleaned_data["first"],
            form.cleaned_data["last"],
            form.cleaned_data["by"],
        )
        yield {"name": name, "query": urlencode(parameters, doseq=True), "is_chosen": is_chosen}


def _end_of_month(day: date) -> date:
    return (day.replace(day=28) + 4 * DAY).replace(day=1) - DAY


def _lines(rows: Sequence[MoneyRow], query: MoneyQuery) -> Iterator[Sequence[Any]]:
    """Yield the rows of the file below their stable names. Amounts have the places of their currency."""
    unstated = [f"{name}_unstated" for name in AMOUNTS]
    yield ["currency", *query.columns, *SUMS, "mode", "contradicted", *unstated]
    for row in rows:
        values = _values(row)
        yield [
            row.currency,
            *(values.get(name) for name in (*query.columns, *SUMS)),
            query.mode.value,
            row.sums.contradicted,
            *(row.sums.unstated[name] for name in AMOUNTS),
        ]
