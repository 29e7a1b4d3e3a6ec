"""Every cell of every table, as stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.db import connection


def cells() -> Iterator[tuple[str, bytes]]:
    """``table.column`` and its content, of all rows of all tables that are not empty."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            names = [column[0] for column in cursor.description]
            for row in cursor.fetchall():
                for name, value in zip(names, row, strict=True):
                    yield f"{table}.{name}", _as_bytes(value)


def columns_with(words: Iterable[str]) -> set[str]:
    """The columns that contain one of these words in any spelling, also escaped as in JSON."""
    spellings = [each for word in words for each in _spellings(word)]
    return {name for name, content in cells() if any(each in content.lower() for each in spellings)}


def rows_of_all_tables() -> dict[str, list[str]]:
    """The rows of each table, as text and sorted."""
    contents: dict[str, list[str]] = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            contents[table] = sorted(repr(row) for row in cursor.fetchall())
    return contents


def _as_bytes(value: object) -> bytes:
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else str(value).encode()


def _spellings(word: str) -> set[bytes]:
    lower = word.lower()
    return {lower.encode(), lower.encode("unicode_escape"), lower.replace("@", "\\u0040").encode()}
