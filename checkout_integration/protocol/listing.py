"""The two ways of listing: the transaction list with its offset, and the generic lists with cursors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from checkout_integration.protocol.answers import MalformedAnswer
from checkout_integration.protocol.order import Order, parse_order
from checkout_integration.protocol.values import Document, format_moment
from checkout_integration.protocol.vocabulary import CURSOR_LIMIT_MAX, CURSOR_LIMIT_MIN

ArrayStyle: TypeAlias = Literal["brackets", "plain"]

END_PARAMETER: Final = "project_date_to"
"""The end of the period. EP3-08 prints the name of the start again; deployed services use this one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TransactionFilter:
    """The query of the transaction list (EP3-03 to EP3-11). None and empty mean "not asked".

    Both ends of the period are inclusive and compared with ``created_at``. Without ``projects`` the answer
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


@dataclass(frozen=True, kw_only=True, slots=True)
class TransactionPage:
    """One page (EP3-12). ``count`` is the service's word on all found rows, None when it is unreadable.

    ``date`` is the service's clock at the time of the answer, from its Date header.
    """

    count: int | None
    items: tuple[Order, ...] = field(repr=False)
    date: datetime | None = None

    @property
    def documents(self) -> tuple[Document, ...]:
        """The rows as they were sent."""
        return tuple(order.document for order in self.items)

    @property
    def ids(self) -> tuple[str, ...]:
        """Identifiers of the rows, "" where a row has none."""
        return tuple(order.id or "" for order in self.items)


@dataclass(frozen=True, kw_only=True, slots=True)
class CursorPage:
    """One page of a generic list (LST-01 to LST-05, EP4-04).

    Attributes:
        data: the elements, as they were sent.
        has_more: whether there are elements after this page.
        has_before: whether there are elements before this page.
        total_count: how many elements there are in all; None where the service sends no number. The specification lists it
            as a boolean and describes a number.

    """

    data: tuple[Document, ...] = field(repr=False)
    has_more: bool
    has_before: bool
    total_count: int | None


def query_pairs(
    query: TransactionFilter, *, end_parameter: str = END_PARAMETER, array_style: ArrayStyle = "brackets"
) -> list[tuple[str, str]]:
    """The query string of the transaction list, as pairs.

    Deployed services silently ignore ``status=`` and want ``status[]=``, hence the style "brackets".
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
    """The query string of a generic list (EP4-01 to EP4-03). Raises ValueError for a limit beyond 1 to 100 or two cursors."""
    if limit is not None and not CURSOR_LIMIT_MIN <= limit <= CURSOR_LIMIT_MAX:
        raise ValueError(f"the limit must be between {CURSOR_LIMIT_MIN} and {CURSOR_LIMIT_MAX}")
    if starting_after is not None and ending_before is not None:
        raise ValueError("give one of starting_after and ending_before")
    pairs = [("limit", limit), ("starting_after", starting_after), ("ending_before", ending_before)]
    return [(name, str(value)) for name, value in pairs if value is not None]


def parse_transaction_page(document: object, *, date: datetime | None = None) -> TransactionPage:
    """Read an answer of the transaction list (EP3-12). Raises MalformedAnswer.

    ``items`` null is an empty page. An answer without ``items`` is malformed: taking it for an empty page
    would end a sync early and hide its loss.
    """
    answer = _object(document)
    if "items" not in answer:
        raise MalformedAnswer("the answer has no items")
    count = answer.get("count")
    return TransactionPage(
        count=count if type(count) is int and count >= 0 else None,
        items=tuple(parse_order(row) for row in _rows(answer["items"], "items")),
        date=date,
    )


def parse_cursor_page(document: object) -> CursorPage:
    """Read the envelope of a generic list (LST-01 to LST-05). Raises MalformedAnswer."""
    answer = _object(document)
    total = answer.get("total_count")
    return CursorPage(
        data=_rows(answer.get("data"), "data"),
        has_more=_flag(answer, "has_more"),
        has_before=_flag(answer, "has_before"),
        total_count=total if type(total) is int else None,
    )


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else format_moment(moment)


def _at_least(smallest: int, value: int | None, name: str) -> int | None:
    if value is not None and value < smallest:
        raise ValueError(f"the {name} must be at least {smallest}")
    return value


def _object(document: object) -> Mapping[str, Any]:
    if not isinstance(document, Mapping):
        raise MalformedAnswer("the answer is not a JSON object")
    return document


def _rows(value: object, name: str) -> tuple[Document, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise MalformedAnswer(f"the {name} of the answer are not an array of objects")
    return tuple(value)


def _flag(answer: Mapping[str, Any], name: str) -> bool:
    value = answer.get(name)
    if not isinstance(value, bool):
        raise MalformedAnswer(f"the answer has no {name}")
    return value
