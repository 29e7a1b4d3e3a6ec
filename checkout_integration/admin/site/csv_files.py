"""Rows as a CSV file that is sent while it is read, and that no spreadsheet takes for formulas."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from io import StringIO
from typing import Any, Final

from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.timezone import is_aware, localtime

from checkout_integration.admin.site.streaming import sent_in_pieces
from checkout_integration.admin.site.values import INVISIBLE

FORMULA: Final = re.compile(
    rf"(^|[;\t\r\n])(?=[\s{INVISIBLE}]*[=+\-@\uff1d\uff0b\uff0d\uff20])|^(?=[\t\r\n])"
)
"""The place before a text that a spreadsheet evaluates, also in full width, or behind characters that nobody sees.

It is where a cell begins: a spreadsheet of another language may end one at a semicolon, tab or line break.
"""
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
    return value.isoformat() if isinstance(value, date) else _harmless(str(value))


def _harmless(text: str) -> str:
    return FORMULA.sub(r"\1'", text)


def _lines(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    line = StringIO()
    writer = csv.writer(line)
    yield BYTE_ORDER_MARK
    for row in rows:
        writer.writerow([cell(value) for value in row])
        yield line.getvalue()
        line.seek(0)
        line.truncate()
