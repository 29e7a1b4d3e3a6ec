"""Many rows by one statement: new, stored and equal rows, and their primary keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from threading import Thread
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import DataError, IntegrityError, connection, connections, models, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from checkout_integration.flows.database import statements
from checkout_integration.models import Incident, Notification, Order, OrderItem, OutboxMessage, ReceiverRun
from tests.support.flows.shop import statements as seen_statements

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 1, tzinfo=UTC)


def orders(*order_ids: str, **values: Any) -> list[Order]:
    """Return rows that are not stored."""
    return [Order(project="default", order_id=order_id, **values) for order_id in order_ids]


def notifications(*keys: str, **values: Any) -> list[Notification]:
    """Return rows that are not stored, of one body each."""
    return [
        Notification(key=key, body_hash="b", received_at=NOW, last_received_at=NOW, **values) for key in keys
    ]


def stored(field: str) -> dict[str, Any]:
    """Return a field of all orders by their ids."""
    return dict(Order.objects.values_list("order_id", field))


def unlocked() -> list[str]:
    """Return the orders that another transaction can lock now."""
    free: list[str] = []

    def look() -> None:
        with transaction.atomic():
            rows = Order.objects.select_for_update(skip_locked=True).order_by("pk")
            free.extend(rows.values_list("order_id", flat=True))
        connections.close_all()

    thread = Thread(target=look)
    thread.start()
    thread.join()
    return free


@pytest.mark.parametrize("count", [1, 100, 2000])
def test_one_statement_whatever_the_number(count: int) -> None:
    """Counted by Django and by its instrumentation. SQLite needs a second statement to read the inserted rows."""
    returned = 2 if connection.vendor == "sqlite" and count > 1 else 1
    rows = orders(*(f"order {number:04}" for number in range(count)), document={"amount": "5"})
    again = orders(*(f"order {number:04}" for number in range(count)))
    work: list[tuple[int, Callable[[], object]]] = [
        (returned, lambda: statements.insert(rows, key=("order_id",))),
        (1, lambda: statements.insert(orders("another"))),
        (1, lambda: statements.insert_missing(again, "project", "order_id")),
        (returned, lambda: statements.insert_or_lock(again, "project", "order_id")),
        (1, lambda: statements.upsert(again, "project", "order_id", update=("status",))),
        (1, lambda: statements.update(rows, ["status", "amount"])),
    ]
    for expected, write in work:
        with CaptureQueriesContext(connection) as queries, seen_statements() as seen:
            write()
        assert len(queries) == len(seen) == expected
    assert Order.objects.count() == count + 1


def test_no_rows_take_no_statement(django_assert_num_queries: Any) -> None:
    """An empty batch is no special case for the caller."""
    with django_assert_num_queries(0):
        statements.insert([], key=("order_id",))
        statements.insert_missing([], "order_id")
        statements.upsert([], "order_id", update=("status",))
        assert statements.update([], ["status"]) == 0


def test_inserted_rows_know_their_primary_keys() -> None:
    """Each its own, whatever the order of the rows; and that they are stored."""
    Order.objects.bulk_create(orders("0", "1", "2"))
    rows = orders("c", "a", "b", "Ä", "ä")
    statements.insert(rows, key=("project", "order_id"))
    assert {row.order_id: row.pk for row in rows}.items() < stored("pk").items()
    assert all(row._state.db == "default" and not row._state.adding for row in rows)


def test_a_key_may_be_null_and_need_not_be_unique_in_the_table() -> None:
    """The key must be unique among the new rows only."""
    (order,) = rows = orders("a")
    statements.insert(rows, key=("order_id",))
    for number in range(2):
        incidents = [Incident(key=f"{number} {place}", kind="kind", order=place) for place in (order, None)]
        statements.insert(incidents, key=("kind", "order"))
        assert [Incident.objects.get(pk=row.pk).key for row in incidents] == [row.key for row in incidents]


def test_rows_are_written_in_the_order_of_their_keys() -> None:
    """So that two transactions that write the same ones wait for each other in one direction only."""
    rows = orders("c", "a", "b")
    statements.insert(rows, key=("order_id",))
    statements.insert_missing(orders("y", "x"), "project", "order_id")
    statements.upsert(orders("z", "w"), "project", "order_id", update=("status",))
    assert list(Order.objects.order_by("pk").values_list("order_id", flat=True)) == list("abcxywz")


def test_rows_are_written_in_their_own_order() -> None:
    """On request; the primary keys show the order."""
    statements.insert(orders("c", "a", "b"), key=("order_id",), in_order=True)
    statements.insert_missing(orders("y", "x"), "project", "order_id", in_order=True)
    assert list(Order.objects.order_by("pk").values_list("order_id", flat=True)) == list("cabyx")


def test_rows_of_an_insert_differ_by_its_key() -> None:
    """Otherwise primary keys could not be matched to rows."""
    with pytest.raises(ValueError, match="Two rows have the same project"):
        statements.insert(orders("a", "b"), key=("project",))
    assert not Order.objects.exists()


def test_a_row_refers_to_one_that_was_inserted_after_it_was_assigned() -> None:
    """As with Django's own means; and one that was never inserted is refused."""
    (order,) = rows = orders("a")
    items = [OrderItem(order=order, position=place) for place in (0, 1)]
    with pytest.raises(ValueError, match="order must be inserted first"):
        statements.insert(items, key=("order", "position"))
    statements.insert(rows, key=("order_id",))
    statements.insert(items, key=("order", "position"))
    assert list(order.items.values_list("pk", flat=True)) == [item.pk for item in items]


def test_expressions_are_refused() -> None:
    """Some drivers would store their text."""
    with pytest.raises(TypeError, match="not with expressions"):
        statements.insert(orders("a", amount=F("fee_amount") + 1))


def test_insert_refuses_what_is_stored() -> None:
    """In that case no row is inserted."""
    statements.insert(orders("b"))
    with pytest.raises(IntegrityError), transaction.atomic():
        statements.insert(orders("a", "b", "c"), key=("order_id",))
    assert list(stored("pk")) == ["b"]


@pytest.mark.django_db(transaction=True)
def test_insert_without_a_transaction_is_all_or_nothing() -> None:
    """On SQLite too, where rows are written one by one."""
    statements.insert(orders("b"))
    with pytest.raises(IntegrityError):
        statements.insert(orders("a", "b", "c"))
    assert list(stored("pk")) == ["b"]


def test_failed_statement_breaks_the_transaction() -> None:
    """On every database: some of its rows could be written."""
    with transaction.atomic():
        with pytest.raises(IntegrityError):
            statements.insert(orders("a", "b", "a"))
        with pytest.raises(transaction.TransactionManagementError):
            Order.objects.exists()
        transaction.set_rollback(True)


def test_insert_missing_leaves_stored_rows_alone() -> None:
    """Of several with one key the first is inserted."""
    statements.insert(orders("b", status="done"))
    rows = [*orders("c", status="first"), *orders("a", "b", "c", status="created")]
    statements.insert_missing(rows, "project", "order_id")
    assert stored("status") == {"a": "created", "b": "done", "c": "first"}


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite stores text of any length")
@pytest.mark.parametrize("name", ["insert_missing", "upsert", "update"])
def test_text_that_is_too_long_is_refused(name: str) -> None:
    """A statement that passes over rows must not pass over this."""
    rows = orders("a")
    statements.insert(rows, key=("order_id",))
    rows[0].status = "x" * 17
    write: dict[str, Callable[[Sequence[models.Model]], object]] = {
        "insert_missing": lambda rows: statements.insert_missing(
            orders("b", status="x" * 17), "project", "order_id"
        ),
        "upsert": lambda rows: statements.upsert(rows, "project", "order_id", update=("status",)),
        "update": lambda rows: statements.update(rows, ["status"]),
    }
    with pytest.raises(DataError), transaction.atomic():
        write[name](rows)
    assert stored("status") == {"a": "created"}


@pytest.mark.skipif(connection.vendor == "mysql", reason="MariaDB cannot tell the keys apart")
def test_insert_missing_passes_over_its_own_key_only() -> None:
    """Another unique key is an error of the caller."""
    message = OutboxMessage.objects.create(idempotency_key="k", signal="s", project="default")
    runs = [ReceiverRun(message=message, receiver=receiver, due_at=NOW, exclusive="one") for receiver in "ab"]
    with pytest.raises(IntegrityError), transaction.atomic():
        statements.insert_missing(runs, "message", "receiver")


def test_insert_or_lock_finds_the_stored_rows() -> None:
    """And inserts the others; all primary keys are set, and nothing else is changed."""
    statements.insert(orders("b", status="done"))
    rows = orders("c", "b", "a")
    statements.insert_or_lock(rows, "project", "order_id")
    assert {row.order_id: row.pk for row in rows} == stored("pk")
    assert stored("status") == {"a": "created", "b": "done", "c": "created"}
    assert all(row._state.db == "default" and not row._state.adding for row in rows)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no locks of rows")
def test_insert_or_lock_locks_the_stored_rows() -> None:
    """No other transaction can lock them until the end of this one."""
    statements.insert(orders("a", "b"))
    with transaction.atomic():
        statements.insert_or_lock(orders("b"), "project", "order_id")
        assert unlocked() == ["a"]


def test_upsert_replaces_and_adds() -> None:
    """Fields that are not named stay, and other rows are inserted."""
    statements.insert(notifications("a", "b", receipts=2, delivery_try=1, event="first"))
    rows = notifications("b", "c", receipts=3, delivery_try=7, event="second", body=b"\0\xff")
    statements.upsert(rows, "key", "body_hash", update=("delivery_try", "body"), add=("receipts",))
    names = ("key", "receipts", "delivery_try", "event", "body")
    assert [
        (*rest, bytes(body or b""))
        for *rest, body in Notification.objects.order_by("key").values_list(*names)
    ] == [
        ("a", 2, 1, "first", b""),
        ("b", 5, 7, "first", b"\0\xff"),
        ("c", 3, 7, "second", b"\0\xff"),
    ]


def test_upsert_refuses_two_rows_of_one_key() -> None:
    """PostgreSQL would refuse them, others would not; the message names no value."""
    with pytest.raises(ValueError, match=r"^Two rows have the same key\.$"):
        statements.upsert(notifications("a", "b", "a"), "key", add=("receipts",))


def test_update_writes_each_row_its_own_values() -> None:
    """Exact values, and null; other columns stay as they are."""
    rows = orders("a", "b", "c", amount=Decimal(1), country="DE", live=True)
    statements.insert(rows, key=("order_id",))
    for place, row in enumerate(rows):
        row.amount, row.live, row.country = (
            (Decimal("12345678901.2345"), None, Decimal("0.0001"))[place],
            None,
            "X",
        )
    assert statements.update(rows, ["amount", "live"]) == 3
    assert stored("amount") == {"a": Decimal("12345678901.2345"), "b": None, "c": Decimal("0.0001")}
    assert set(stored("live").values()) == {None}
    assert set(stored("country").values()) == {"DE"}


def test_update_counts_the_rows_that_are_there() -> None:
    """Those that it leaves as they are too; others are not inserted."""
    rows = orders("a", "b")
    statements.insert(rows, key=("order_id",))
    Order.objects.filter(pk=rows[0].pk).delete()
    assert statements.update(rows, ["status"]) == 1
    assert list(stored("pk")) == ["b"]


def test_update_by_a_primary_key_of_text() -> None:
    """It is compared as the column is, whatever the connection's collation."""
    rows = [Session(session_key=f"key {place}", expire_date=NOW) for place in range(200)]
    statements.insert(rows)
    for row in rows:
        row.session_data = row.session_key
    assert statements.update(rows, ["session_data"]) == 200
    assert not Session.objects.exclude(session_data=F("session_key")).exists()


def test_update_sets_the_time_of_change() -> None:
    """Where the field is named; the row has it as well."""
    rows = orders("a")
    statements.insert(rows, key=("order_id",))
    before = rows[0].changed_at
    statements.update(rows, ["changed_at"])
    assert before < rows[0].changed_at == Order.objects.get().changed_at


def test_update_does_not_set_the_time_of_insertion() -> None:
    """Though the field is named."""
    rows = orders("a")
    statements.insert(rows, key=("order_id",))
    rows[0].recorded_at = NOW
    statements.update(rows, ["recorded_at"])
    assert NOW == rows[0].recorded_at == Order.objects.get().recorded_at


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no locks of rows")
@pytest.mark.parametrize("count", [1, 2])
def test_update_locks_no_other_rows(count: int) -> None:
    """A small table is not read as a whole."""
    rows = orders("a", "b", "c", "d")
    statements.insert(rows, key=("order_id",))
    with transaction.atomic():
        statements.update(rows[:count], ["status", "changed_at"])
        assert unlocked() == list("abcd")[count:]


def test_update_needs_different_primary_keys() -> None:
    """Which of two rows were written would depend on the database."""
    (row,) = rows = orders("a")
    with pytest.raises(ValueError, match="without a primary key"):
        statements.update(rows, ["status"])
    statements.insert(rows, key=("order_id",))
    with pytest.raises(ValueError, match="Two rows have the same id"):
        statements.update([row, row], ["status"])


@pytest.mark.parametrize("debug", [True, False])
def test_debugging_changes_nothing(debug: bool, settings: Any) -> None:
    """Django's record of statements is made from the same cursor."""
    settings.DEBUG = debug
    rows = orders("100 %", "%s", document={"%s": ["'", '"', "\\"]})
    statements.insert(rows, key=("order_id",))
    statements.update(rows, ["document"])
    assert {row.order_id: row.pk for row in rows} == stored("pk")
    assert all(row.document == {"%s": ["'", '"', "\\"]} for row in Order.objects.all())


@pytest.mark.mariadb
def test_primary_keys_where_an_insert_returns_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """MySQL is not among the test databases: MariaDB stands for it here, which numbers rows in the same way."""
    statements.insert(orders("first"))
    monkeypatch.setattr(type(connection.features), "can_return_rows_from_bulk_insert", False)
    statements._insert_statement.cache_clear()
    rows = orders("c", "a", "b")
    statements.insert(rows, key=("order_id",))
    more = orders("d", "first", "b")
    statements.insert_or_lock(more, "project", "order_id")
    statements._insert_statement.cache_clear()
    assert {row.order_id: row.pk for row in [*rows, *more]} == stored("pk")
