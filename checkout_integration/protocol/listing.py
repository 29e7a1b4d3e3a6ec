"""The two ways of listing: the transaction list with its offset, and the generic lists with cursors."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

from checkout_integration.protocol.array_split import UNREAD, Element, member_text, split_array, text_bytes
from checkout_integration.protocol.exact_names import problem_of, unclear_name
from checkout_integration.protocol.order import Order, parse_order
from checkout_integration.protocol.responses import MalformedResponse
from checkout_integration.protocol.strict_json import (
    MAX_VALUES,
    StrictJsonError,
    loads,
    unread_in,
)
from checkout_integration.protocol.values import Document, format_moment, parse_moment
from checkout_integration.protocol.vocabulary import CURSOR_LIMIT_MAX, CURSOR_LIMIT_MIN

ArrayStyle: TypeAlias = Literal["brackets", "plain"]

END_PARAMETER: Final = "project_date_to"
"""The end of the period. EP3-08 prints the name of the start again; deployed services use this one."""

_LONGEST_STEM: Final = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class TransactionFilter:
    """The query of the transaction list (EP3-03 to EP3-11). None and empty mean "no filter".

    Both ends of the period are inclusive and compared with ``created_at``. Without ``projects`` the response
    covers all projects of the merchant.
    """

    id: str | None = None
    projects: Sequence[str] = ()
    statuses: Sequence[str] = ()
    account: str | None = field(default=None, repr=False)
    date_from: datetime | None = None
    date_to: datetime | None = None
    invoice_id: str | None = None
    limit: int | None = None
    offset: int | None = None


@dataclass(frozen=True, kw_only=True)
class TransactionRow:
    """A row of the transaction list, read when its order is needed.

    Attributes:
        id: identifier of the row, "" where it has none. One that cannot be read has a stand-in of its own (`_id_of`).
        text: the JSON text of the row, as it was sent; ``content`` has the bytes.
        outline: the row as the standard library reads it, numbers as text: for what is needed of every row.

    """

    id: str
    text: str = field(repr=False)
    outline: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def content(self) -> bytes:
        """The bytes of the row, as they were sent."""
        return text_bytes(self.text)

    @property
    def created_at(self) -> datetime | None:
        """When the row was created; None where it has no time, or one that cannot be read."""
        try:
            return parse_moment(self.outline.get("created_at"))
        except ValueError:
            return None

    @cached_property
    def order(self) -> Order:
        """The row as an Order. Raises MalformedResponse for a row beyond our limits, or with a name that cannot be read."""
        # Read as deep in the page as it was sent: databases limit the depth of what they store.
        try:
            page = loads(b'{"items":[%s]}' % self.content, tolerant=True)
        except StrictJsonError as error:
            raise MalformedResponse(f"a row of the answer was not read: {error}") from None
        (document,) = _rows(_object(page)["items"], "items")
        if name := unclear_name(document):
            raise MalformedResponse(f"a row of the answer was not read: {problem_of(name)}")
        return parse_order(document)


@dataclass(frozen=True, kw_only=True, slots=True)
class TransactionPage:
    """One page (EP3-12).

    Attributes:
        count: how many rows the service says it has found, None when it is unreadable.
        rows: the rows, each read when it is needed.
        date: the service's clock at the time of the response, from its Date header.

    """

    count: int | None
    rows: tuple[TransactionRow, ...] = field(repr=False)
    date: datetime | None = None

    @property
    def items(self) -> tuple[Order, ...]:
        """The rows as Orders. Raises MalformedResponse where a row is JSON beyond our limits."""
        return tuple(row.order for row in self.rows)

    @property
    def ids(self) -> tuple[str, ...]:
        """Identifiers of the rows, "" where a row has none."""
        return tuple(row.id for row in self.rows)


@dataclass(frozen=True, kw_only=True, slots=True)
class CursorPage:
    """One page of a generic list (LST-01 to LST-05, EP4-04).

    Attributes:
        data: the elements, as they were sent.
        has_more: whether there are elements after this page.
        has_before: whether there are elements before this page.
        total_count: the number of all elements; None if the service sends no number. The specification lists a boolean, but
            describes a number.

    """

    data: tuple[Document, ...] = field(repr=False)
    has_more: bool
    has_before: bool
    total_count: int | None


def query_pairs(
    query: TransactionFilter, *, end_parameter: str = END_PARAMETER, array_style: ArrayStyle = "brackets"
) -> list[tuple[str, str]]:
    """Return the query string of the transaction list, as pairs.

    Deployed services silently ignore ``status=`` and expect ``status[]=`` (EP3-05): that is the style "brackets".
    Raises ValueError for a limit below 1, an offset below 0 or a moment without a zone.
    """
    suffix = "[]" if array_style == "brackets" else ""
    pairs: list[tuple[str, object]] = [("id", query.id)]
    pairs += [(f"project{suffix}", project) for project in query.projects]
    pairs += [(f"status{suffix}", status) for status in query.statuses]
    pairs += [
        ("account", query.account),
        ("project_date_from", _moment(query.date_from)),
        (end_parameter, _moment(query.date_to)),
        ("invoice_id", query.invoice_id),
        ("limit", _at_least(1, query.limit, "limit")),
        ("offset", _at_least(0, query.offset, "offset")),
    ]
    return [(name, str(value)) for name, value in pairs if value is not None]


def cursor_pairs(
    *, limit: int | None = None, starting_after: str | None = None, ending_before: str | None = None
) -> list[tuple[str, str]]:
    """Return the query string of a generic list (EP4-01, EP4-02, EP4-03).

    Raises:
        ValueError: the limit is not from 1 to 100, or there are two cursors: the specification does not say which counts.

    """
    if limit is not None and not CURSOR_LIMIT_MIN <= limit <= CURSOR_LIMIT_MAX:
        raise ValueError(f"the limit must be between {CURSOR_LIMIT_MIN} and {CURSOR_LIMIT_MAX}")
    if starting_after is not None and ending_before is not None:
        raise ValueError("give one of starting_after and ending_before")
    pairs = [("limit", limit), ("starting_after", starting_after), ("ending_before", ending_before)]
    return [(name, str(value)) for name, value in pairs if value is not None]


def parse_transaction_page(
    body: bytes, *, date: datetime | None = None, most_values: int = MAX_VALUES
) -> TransactionPage:
    """Read a response of the transaction list (EP3-12).

    ``items`` null is an empty page. A response without ``items`` is malformed: taking it for an empty page
    would end a sync early and hide its loss.

    Raises:
        MalformedResponse: the response is no page.
        StrictJsonError: it is no JSON, or beyond our limits; the rows are not checked for that.

    """
    document, elements = split_array(body, "items", most_values=most_values)
    answer = _object(document)
    if "items" not in answer:
        raise MalformedResponse("the answer has no items")
    _rows(answer["items"], "items")
    _rows([{} if element.value is UNREAD else element.value for element in elements], "items")
    count = answer.get("count")
    return TransactionPage(
        count=count if type(count) is int and count >= 0 else None,
        rows=tuple(_row_of(element) for element in elements),
        date=date,
    )


def parse_cursor_page(document: object) -> CursorPage:
    """Read the envelope of a generic list (LST-01 to LST-05).

    Raises MalformedResponse, also for an element whose id has characters that cannot be read: it would be no cursor, and two
    elements would be one.
    """
    answer = _object(document)
    total, elements = answer.get("total_count"), _rows(answer.get("data"), "data")
    for position, element in enumerate(elements, start=1):
        if "id" in unread_in(element):
            raise MalformedResponse(problem_of(f"the id of element {position} of the page"))
    return CursorPage(
        data=elements,
        has_more=_flag(answer, "has_more"),
        has_before=_flag(answer, "has_before"),
        total_count=total if type(total) is int else None,
    )


def _row_of(element: Element) -> TransactionRow:
    if element.value is UNREAD:
        return TransactionRow(id=_stand_in(element.text), text=element.text)
    is_clear = "id" not in unread_in(element.value)
    identifier = _id_of(element.value) if is_clear else _stand_in(element.text)
    return TransactionRow(id=identifier, text=element.text, outline=element.value)


def _stand_in(row: str) -> str:
    """Return the identifier of a row that cannot be read; if that cannot be read either, one that no other row has."""
    sent = text_bytes(member_text(row, "id"))
    try:
        document = _object(loads(b'{"id":%s}' % sent, tolerant=True))
    except StrictJsonError:
        document = {}
    identifier = _id_of(document)
    if identifier and not unclear_name(document):
        return identifier
    digest = hashlib.sha256(sent or text_bytes(row)).hexdigest()
    return f"{identifier[:_LONGEST_STEM] or 'row'}~{digest[:8]}"


def _id_of(row: Mapping[str, Any]) -> str:
    identifier = row.get("id")
    return identifier if isinstance(identifier, str) else ""


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else format_moment(moment)


def _at_least(smallest: int, value: int | None, name: str) -> int | None:
    if value is not None and value < smallest:
        raise ValueError(f"the {name} must be at least {smallest}")
    return value


def _object(document: object) -> Mapping[str, Any]:
    if not isinstance(document, Mapping):
        raise MalformedResponse("the answer is not a JSON object")
    return document


def _rows(value: object, name: str) -> tuple[Document, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise MalformedResponse(f"the {name} of the answer are not an array of objects")
    return tuple(value)


def _flag(answer: Mapping[str, Any], name: str) -> bool:
    value = answer.get(name)
    if not isinstance(value, bool):
        raise MalformedResponse(f"the answer has no {name}")
    return value
