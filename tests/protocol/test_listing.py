"""The transaction list and the generic lists."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from checkout_integration.protocol.listing import (
    ArrayStyle,
    TransactionFilter,
    cursor_pairs,
    parse_cursor_page,
    parse_transaction_page,
    query_pairs,
)
from checkout_integration.protocol.responses import MalformedResponse
from tests.support.protocol.vectors import vector, vector_bytes

FULL = TransactionFilter(
    id="order-1",
    projects=["proj-1", "proj-2"],
    statuses=["processed", "refunded"],
    account="player-42",
    date_from=datetime(2024, 5, 1, 2, 0, tzinfo=timezone(timedelta(hours=2))),
    date_to=datetime(2024, 5, 2, tzinfo=UTC),
    invoice_id="ref-0001",
    limit=50,
    offset=0,
)


@pytest.mark.spec("EP3-04")
@pytest.mark.parametrize(("style", "name"), [("brackets", "project[]"), ("plain", "project")])
@pytest.mark.parametrize("projects", [(), ("p-1",), ("p-2", "p-1", "p-3")])
def test_the_projects_are_those_of_the_filter(
    style: ArrayStyle, name: str, projects: tuple[str, ...]
) -> None:
    """Each has a parameter, in their sequence; without any there is none, so that all are searched."""
    pairs = query_pairs(TransactionFilter(projects=projects, account="player-1"), array_style=style)
    assert pairs == [*((name, project) for project in projects), ("account", "player-1")]


@pytest.mark.spec("EP3-03", "EP3-04", "EP3-05", "EP3-06", "EP3-07", "EP3-08", "EP3-09", "EP3-10", "EP3-11")
def test_every_filter_has_its_parameter() -> None:
    """Arrays with brackets, moments in UTC, the end under the name that the field uses."""
    assert query_pairs(FULL) == [
        ("id", "order-1"),
        ("project[]", "proj-1"),
        ("project[]", "proj-2"),
        ("status[]", "processed"),
        ("status[]", "refunded"),
        ("account", "player-42"),
        ("project_date_from", "2024-05-01T00:00:00"),
        ("project_date_to", "2024-05-02T00:00:00"),
        ("invoice_id", "ref-0001"),
        ("limit", "50"),
        ("offset", "0"),
    ]


@pytest.mark.spec("EP3-11")
@pytest.mark.parametrize("limit", [None, 1, 50, 1000])
@pytest.mark.parametrize("offset", [0, 1, 49, 50, 75, 100_000])
def test_the_offset_counts_items(offset: int, limit: int | None) -> None:
    """It is no number of a page, whatever the limit is; the first position is sent too."""
    pairs = query_pairs(TransactionFilter(limit=limit, offset=offset))
    assert [value for name, value in pairs if name == "offset"] == [str(offset)]


@pytest.mark.spec("EP3-07", "EP3-08")
@pytest.mark.parametrize(
    ("hours", "start", "end"), [(0, "00:30", "23:30"), (5, "19:30", "18:30"), (-3, "03:30", "02:30")]
)
def test_both_ends_of_the_period_are_sent_in_utc(hours: int, start: str, end: str) -> None:
    """Whatever zone they have; fractions of a second are not sent."""
    zone = timezone(timedelta(hours=hours))
    query = TransactionFilter(
        date_from=datetime(2024, 5, 2, 0, 30, 7, 999999, tzinfo=zone),
        date_to=datetime(2024, 5, 2, 23, 30, 7, 999999, tzinfo=zone),
    )
    begins, ends = query_pairs(query)
    assert begins == ("project_date_from", f"2024-05-{1 if hours > 0 else 2:02}T{start}:07")
    assert ends == ("project_date_to", f"2024-05-{3 if hours < 0 else 2:02}T{end}:07")


@pytest.mark.spec("EP3-04", "EP3-05", "EP3-08")
def test_what_the_specification_leaves_open_can_be_set() -> None:
    """The style of arrays, and the name of the end, which is printed as that of the start."""
    pairs = query_pairs(FULL, array_style="plain", end_parameter="project_date_from")
    assert [value for name, value in pairs if name == "status"] == ["processed", "refunded"]
    assert [value for name, value in pairs if name == "project_date_from"] == [
        "2024-05-01T00:00:00",
        "2024-05-02T00:00:00",
    ]


@pytest.mark.spec("EP3-10", "LIM-02")
def test_an_empty_filter_sends_no_parameters() -> None:
    """All parameters are optional: without a limit the service's default applies."""
    assert query_pairs(TransactionFilter()) == []


NO_ZONE = datetime(2024, 5, 1)  # noqa: DTZ001 -- the point of the test


@pytest.mark.spec("EP3-07", "EP3-10", "EP3-11")
@pytest.mark.parametrize("change", [{"limit": 0}, {"limit": -1}, {"offset": -1}, {"date_from": NO_ZONE}])
def test_a_senseless_filter_is_refused(change: dict[str, Any]) -> None:
    """Before it is sent."""
    with pytest.raises(ValueError, match=r"must be|without a zone"):
        query_pairs(TransactionFilter(**change))


@pytest.mark.spec("EP3-12", "EP4-04")
@pytest.mark.parametrize(
    ("body", "count", "ids"),
    [
        (b'{"count":7,"items":[{"id":"a"},{"id":"b"}]}', 7, ("a", "b")),
        (b'{"count":0,"items":null}', 0, ()),
        (b'{"count":3,"items":null}', 3, ()),
        (b'{"items":[],"count":12}', 12, ()),
    ],
)
def test_the_count_is_of_all_that_was_found(body: bytes, count: int, ids: tuple[str, ...]) -> None:
    """Not of the page; null is a page without rows."""
    page = parse_transaction_page(body)
    assert (page.count, page.ids) == (count, ids)


@pytest.mark.spec("EP3-12", "SVC-04")
def test_a_page_has_a_count_and_orders() -> None:
    """The rows are Order snapshots; fields that a list leaves out are None."""
    date = datetime(2024, 5, 1, tzinfo=UTC)
    page = parse_transaction_page(vector_bytes("transactions"), date=date)
    assert (page.count, page.ids, page.date) == (2, ("order-1", "order-2"), date)
    assert page.items[0].user is not None and page.items[0].user.id is None
    assert page.items[1].document["status"] == "refunded"
    assert page.items[1].problems == ()


@pytest.mark.spec("EP3-12")
@pytest.mark.parametrize(
    ("created_at", "expected"),
    [
        ('"2024-05-01T10:00:00+02:00"', datetime(2024, 5, 1, 8, tzinfo=UTC)),
        ('"0001-01-01T00:00:00Z"', None),
        ('"yesterday"', None),
        ("7", None),
    ],
)
def test_the_time_of_a_row_needs_no_parsing_of_its_order(created_at: str, expected: datetime | None) -> None:
    """It is needed of every row, and most rows have not changed."""
    page = parse_transaction_page(b'{"items":[{"id":"a","created_at":%s}]}' % created_at.encode())
    assert page.rows[0].created_at == expected


@pytest.mark.spec("EP3-12")
def test_null_items_are_an_empty_page() -> None:
    """A service without rows may send this."""
    page = parse_transaction_page(b'{"count": 0, "items": null}')
    assert (page.count, page.items) == (0, ())


@pytest.mark.spec("EP3-12")
@pytest.mark.parametrize("count", [None, -1, "2", True, {}])
def test_an_unreadable_count_is_none(count: Any) -> None:
    """The count is only informative; the rows matter."""
    assert parse_transaction_page(json.dumps({"count": count, "items": []}).encode()).count is None


@pytest.mark.spec("EP3-12")
@pytest.mark.parametrize(
    "document", [None, [], {}, {"count": 0}, {"items": {}}, {"items": [1]}, {"items": "none"}]
)
def test_an_answer_without_rows_is_malformed(document: Any) -> None:
    """Taking it for an empty page would end a sync early and hide the loss."""
    with pytest.raises(MalformedResponse):
        parse_transaction_page(json.dumps(document).encode())


@pytest.mark.spec("EP3-12")
@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (b'{"id":"bad","id":"bad"}', "two equal keys"),
        (b'{"id":"bad","amount":NaN}', "NaN"),
        (b'{"id":"bad","x":' + b"[" * 40 + b"]" * 40 + b"}", "nested deeper"),
    ],
)
def test_a_row_that_cannot_be_read_costs_itself_only(row: bytes, problem: str) -> None:
    """The other rows are read; reading this one raises its error."""
    page = parse_transaction_page(b'{"count":2,"items":[' + row + b',{"id":"good","amount":9.99}]}')
    bad, good = page.rows
    assert (bad.id, good.order.id, page.ids) == ("bad", "good", ("bad", "good"))
    with pytest.raises(MalformedResponse, match=problem):
        _ = bad.order
    with pytest.raises(MalformedResponse):
        _ = page.items


@pytest.mark.spec("LST-01", "LST-02", "LST-03", "LST-04", "LST-05", "EP4-04")
def test_the_envelope_of_a_generic_list() -> None:
    """Its elements, whether there are more in either direction, and the count."""
    page = parse_cursor_page(vector("list"))
    assert [element["id"] for element in page.data] == ["a", "b"]
    assert (page.has_more, page.has_before, page.total_count) == (True, False, 5)


@pytest.mark.spec("LST-05")
def test_a_total_count_that_is_a_boolean_is_no_number() -> None:
    """The specification lists it as boolean and describes a number."""
    assert parse_cursor_page({**vector("list"), "total_count": True}).total_count is None


@pytest.mark.parametrize(
    "change", [{"has_more": None}, {"has_more": "no"}, {"has_before": 0}, {"data": {}}, {"data": [1]}]
)
@pytest.mark.spec("LST-03", "LST-04")
def test_a_broken_envelope_is_malformed(change: dict[str, Any]) -> None:
    """Without has_more the end of the list is unknown."""
    with pytest.raises(MalformedResponse):
        parse_cursor_page({**vector("list"), **change})


@pytest.mark.spec("EP4-01", "EP4-02", "EP4-03", "LIM-01")
def test_cursor_parameters() -> None:
    """A limit between 1 and 100, and an identifier to continue at."""
    assert cursor_pairs() == []
    assert cursor_pairs(limit=100, starting_after="b") == [("limit", "100"), ("starting_after", "b")]
    assert cursor_pairs(limit=1, ending_before="c") == [("limit", "1"), ("ending_before", "c")]


@pytest.mark.parametrize("limit", [0, 101, -5])
@pytest.mark.spec("EP4-01", "LIM-01")
def test_a_cursor_limit_outside_1_to_100_is_refused(limit: int) -> None:
    """Before it is sent."""
    with pytest.raises(ValueError, match="between 1 and 100"):
        cursor_pairs(limit=limit)
