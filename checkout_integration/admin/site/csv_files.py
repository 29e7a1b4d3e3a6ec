"""Rows as a CSV file that is sent while it is read, and that no spreadsheet takes for formulas."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from io import StringIO
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.timezone import is_aware, localtime

FORMULAS: Final = ("=", "+", "-", "@")
"""What a cell begins with that a spreadsheet evaluates; blanks before it do not help."""
CHUNK: Final = 2_000
BYTE_ORDER_MARK: Final = "\ufeff"
"""By which Excel knows that the file is UTF-8."""


def csv_response(request: HttpRequest, name: str, rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """Return a file of rows, the first of which is the header. One row is in memory at a time."""
    lines = _lines(rows)
    content = _in_threads(lines) if isinstance(request, ASGIRequest) else lines
    response = StreamingHttpResponse(content, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    response["Cache-Control"] = "no-store, private"
    return response


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
    is_formula = text.lstrip().startswith(FORMULAS) or text.startswith(("\t", "\r", "\n"))
    return f"'{text}" if is_formula else text


def _lines(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    line = StringIO()
    writer = csv.writer(line)
    yield BYTE_ORDER_MARK
    for row in rows:
        writer.writerow([cell(value) for value in row])
        yield line.getvalue()
        line.seek(0)
        line.truncate()


async def _in_threads(lines: Iterator[str]) -> AsyncIterator[str]:
    """Yield the lines to an ASGI server, which would read all of a plain iterator before it sends any."""
    while line := await sync_to_async(_next_of)(lines):
        yield line


def _next_of(lines: Iterator[str]) -> str:
    """Return the next line; "" after the last one."""
    return next(lines, "")
