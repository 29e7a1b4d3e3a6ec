"""Files: a filtered list as CSV that no spreadsheet takes for formulas, sent piece by piece whatever server runs the shop."""

from __future__ import annotations

import csv
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from io import StringIO
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import get_fields_from_path
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.core.handlers.asgi import ASGIRequest
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBadRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern
from django.utils.decorators import method_decorator
from django.utils.timezone import is_aware, localtime
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from checkout_integration.admin.site.read_only import ReadOnlyAdmin
from checkout_integration.admin.site.values import INVISIBLE
from checkout_integration.models import StaffAct
from checkout_integration.models.columns import as_column_text, exact_value


def sent_in_pieces(request: HttpRequest, response: StreamingHttpResponse) -> StreamingHttpResponse:
    """Return the response as the server of this request sends it piece by piece.

    An ASGI server would read all of a plain iterator before it sends any.
    """
    if isinstance(request, ASGIRequest):
        response.streaming_content = _in_threads(iter(response))
    return response


async def _in_threads(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the pieces, each of which is made in a thread: that reads the database."""
    # A piece may be empty; None comes after the last one.
    while (piece := await sync_to_async(partial(next, pieces, None))()) is not None:
        yield piece


FORMULA: Final = re.compile(
    rf"(^|[;\t\r\n])(?=[\s{INVISIBLE}]*[=+\-@\uff1d\uff0b\uff0d\uff20])|^(?=[\t\r\n])"
)
"""The place before a text that a spreadsheet evaluates, also in full width, or behind characters that nobody sees.

It is where a cell begins: a spreadsheet of another language may end one at a semicolon, tab or line break.
"""
DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
CHUNK: Final = 2_000
BYTE_ORDER_MARK: Final = "\ufeff"
"""By which Excel knows that the file is UTF-8."""


def csv_response(request: HttpRequest, name: str, rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """Return a file of rows, the first of which is the header. One row is in memory at a time."""
    response = StreamingHttpResponse(_lines(rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    response["Cache-Control"] = "no-store, private"
    return sent_in_pieces(request, response)


def csv_text(rows: Iterable[Sequence[Any]]) -> bytes:
    """Return the same file as bytes: for few rows."""
    return "".join(_lines(rows)).encode()


def rows_in_chunks(rows: QuerySet[Any], columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield these columns of all rows, newest first. Chunk by chunk: some drivers read whole results into memory."""
    part = rows
    while chunk := list(part.order_by("-pk").values_list("pk", *columns)[:CHUNK]):
        yield from (values for _key, *values in chunk)
        part = rows.filter(pk__lt=chunk[-1][0])


def cell(value: object) -> str:
    """Return a value as the text of a cell. Numbers stay numbers; an apostrophe comes before text that would be a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, datetime):
        return (localtime(value) if is_aware(value) else value).isoformat(timespec="seconds")
    return value.isoformat() if isinstance(value, date) else FORMULA.sub(r"\1'", str(value))


def _lines(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    line = StringIO()
    writer = csv.writer(line)
    yield BYTE_ORDER_MARK
    for row in rows:
        writer.writerow([cell(value) for value in row])
        yield line.getvalue()
        line.seek(0)
        line.truncate()


DAYS: Final = ("from_day", "to_day")
HIDDEN: Final = "hidden"
OF_PERSONAL_DATA: Final = "personal_data__"


class CsvAdmin(ReadOnlyAdmin):
    """A list whose filtered rows can be downloaded as CSV by those who may see it: all of them, not one page."""

    csv_columns: Sequence[str] = ()
    """The columns of the file, by their names in the database; a relation's with two underscores."""
    csv_computed: Mapping[str, tuple[Sequence[str], Callable[..., Any]]] = {}
    """Those of them that are computed: from which columns, and by which function of their values."""

    def get_urls(self) -> list[URLPattern]:
        """Return the addresses of the screen, and that of the file."""
        return [self.page("csv/", self.csv_view, "csv"), *super().get_urls()]

    @method_decorator(require_safe)
    def csv_view(self, request: HttpRequest) -> HttpResponseBase:
        """Send the rows of the list, with the filters and the search of its address. GET only: it changes nothing."""
        if "\0" in request.GET.get(SEARCH_VAR, ""):  # the list says so, and is not searched
            return HttpResponseBadRequest()
        try:
            changelist = self.get_changelist_instance(request)
        except IncorrectLookupParameters:
            return HttpResponseBadRequest()
        days = [text for name in DAYS if DAY.fullmatch(text := request.GET.get(name, ""))]
        personal = [
            name
            for name in self.csv_columns
            if name in self.personal_fields or name.startswith(OF_PERSONAL_DATA)
        ]
        masked = [] if self.viewer(request).sees_personal_data else personal
        if request.method == "GET" and not masked and personal:
            self._record_download(request, changelist, days)
        rows = self._csv_rows(changelist, masked)
        return csv_response(request, "-".join([f"{self.opts.model_name}s", *days]), rows)

    def _csv_rows(self, changelist: ChangeList, masked: Sequence[str]) -> Iterator[Sequence[Any]]:
        """Yield the rows; ``masked``: the columns that this viewer may not see."""
        yield self.csv_columns
        computed = self.csv_computed
        stored = [name for name in self.csv_columns if name not in computed]
        needed = [name for names, _function in computed.values() for name in names]
        columns = list(dict.fromkeys([*stored, *needed]))
        for values in rows_in_chunks(changelist.queryset, columns):
            row = dict(zip(columns, values, strict=True))
            of_file = {name: function(*map(row.get, names)) for name, (names, function) in computed.items()}
            of_file |= {name: self._exact(row, name) for name in stored}
            yield [HIDDEN if name in masked and of_file[name] else of_file[name] for name in self.csv_columns]

    def _exact(self, row: Mapping[str, Any], name: str) -> Any:
        """Return a value of a row as the file has it: an amount with the places of its currency."""
        if not isinstance(row[name], Decimal):
            return row[name]
        field: Any = get_fields_from_path(self.model, name)[-1]
        currency = f"{name.removesuffix(field.name)}{getattr(field, 'currency', '')}"
        return exact_value(field, row[name], row.get(currency) or "")

    def _record_download(self, request: HttpRequest, changelist: ChangeList, days: Sequence[str]) -> None:
        """Record that personal data were downloaded, and by which filters.

        Not by which values, but for days: others may be personal data, and the act belongs to no row that could be erased.
        """
        used_filters = {name: value for name, value in changelist.get_filters_params().items() if value}
        filters = [*sorted(used_filters.keys() - set(DAYS)), *([" – ".join(days)] if days else [])]
        searched = ["search"] if changelist.query else []
        used = ", ".join([*filters, *searched]) or _("no filter")
        detail = f"{self.opts.verbose_name_plural}: {used}"
        self.record(request, StaffAct.Act.DOWNLOAD, project=None, detail=as_column_text(detail))
