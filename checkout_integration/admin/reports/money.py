"""The page about money, in the place of a list, and its rows as a CSV file.

`flows.accounting` sums; docs/money.md says what each sum is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.timezone import get_default_timezone_name
from django.utils.translation import gettext as _

from checkout_integration.admin.reports.money_filters import MoneyForm
from checkout_integration.admin.reports.money_table import header, sections, values_of
from checkout_integration.admin.site import ReadOnlyAdmin, csv_response
from checkout_integration.flows.accounting import MoneyRow, TooManyRows, money_rows
from checkout_integration.models import Money


@admin.register(Money)
class MoneyAdmin(ReadOnlyAdmin):
    """The entry "Money" of the index: no list of rows and no page of one, but sums of them, and a file."""

    def get_urls(self) -> list[URLPattern]:
        """Return the addresses of the page, which has the name of a list, and of the file."""
        return [url for url in super().get_urls() if str(url.name).endswith(("_changelist", "_csv"))]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the page."""
        if refusal := self._refusal(request):
            return refusal
        form = MoneyForm(request.GET)
        rows = _rows_of(form)
        columns = form.query.columns if form.is_valid() else []
        context = {
            **self.admin_site.each_context(request),
            **(extra_context or {}),
            "opts": self.opts,
            "media": self.media,
            "title": _("Money"),
            "form": form,
            "sections": list(sections(rows, columns)),
            "unstated": sum(row.sums.unstated for row in rows),
            "columns": columns,
            "time_zone": get_default_timezone_name(),
            "csv": f"csv/?{request.GET.urlencode()}",
        }
        return TemplateResponse(request, "admin/checkout_integration/money.html", context)

    def csv_view(self, request: HttpRequest) -> HttpResponseBase:
        """Send the rows of the page."""
        if refusal := self._refusal(request):
            return refusal
        form = MoneyForm(request.GET)
        rows = _rows_of(form)
        if form.errors:  # an empty file would say that there is no money
            return HttpResponseBadRequest(form.errors.as_text(), content_type="text/plain; charset=utf-8")
        return csv_response(request, "money", _lines(rows, form.query.columns))

    def _refusal(self, request: HttpRequest) -> HttpResponse | None:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return None if request.method in {"GET", "HEAD"} else HttpResponseNotAllowed(["GET", "HEAD"])


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
    return [row for row in rows if row.currency == currency] if currency else rows


def _lines(rows: Sequence[MoneyRow], columns: Sequence[str]) -> Iterator[Sequence[Any]]:
    yield header(columns)
    yield from (values_of(row, columns) for row in rows)
