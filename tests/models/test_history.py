"""The history of orders is added to, and never changed: by the models, and by the database."""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import pytest
from django.contrib.auth.models import User
from django.core.checks import CheckMessage, run_checks
from django.db import DatabaseError, connection, models, transaction
from django.utils import timezone

from checkout_integration.models import Notification, Order, PersonalData, SyncRun, Transition
from checkout_integration.models.row import NearQuerySet
from tests.support.flows.forging import tear_out

pytestmark = pytest.mark.django_db
REFUSED: Final = "never changed or deleted"
MIGRATION: Final = importlib.import_module("checkout_integration.migrations.0002_append_only")


def transition() -> Transition:
    """One with everything that may be emptied."""
    now = timezone.now()
    order = Order.objects.create(project="default", order_id=f"order-{Order.objects.count()}")
    notification = Notification.objects.create(key=order.order_id, received_at=now, last_received_at=now)
    made: Transition = Transition.objects.create(
        order=order,
        from_status="created",
        to_status="processed",
        source="notification",
        act="accept",
        system_user="deploy",
        reason="the customer called",
        notification=notification,
        sync_run=SyncRun.objects.create(project="default", lane="recent", started_at=now),
        staff=User.objects.create_user(f"grace-{order.pk}"),
    )
    return made


def columns_of(row: Transition) -> dict[str, Any]:
    """What the database has."""
    return dict(Transition.objects.values().get(pk=row.pk))


def by_sql(row: Transition, **columns: Any) -> int:
    """Change a row past the models, as somebody with a console does."""
    rows: models.QuerySet[Transition] = NearQuerySet(Transition).filter(pk=row.pk)
    with transaction.atomic():
        return rows.update(**columns)


OTHERS: Final[dict[str, Callable[[], Any]]] = {
    "id": lambda: 10**6,
    "order": lambda: Order.objects.create(project="default", order_id="other"),
    "from_status": lambda: "",
    "to_status": lambda: "refunded",
    "source": lambda: "staff",
    "act": lambda: "",
    "system_user": lambda: "eve",
    "recorded_at": lambda: timezone.now() - timedelta(days=1),
    "reason": lambda: "another reason",
    "staff": lambda: User.objects.create_user("eve"),
    "notification": lambda: transition().notification,
    "sync_run": lambda: transition().sync_run,
}


def test_every_column_is_covered_here() -> None:
    """One that is added later is tested, and guarded, too."""
    assert {each.name for each in Transition._meta.concrete_fields} == set(OTHERS)


@pytest.mark.parametrize("column", OTHERS)
@pytest.mark.parametrize(
    "change", [by_sql, lambda row, **columns: Transition.objects.filter(pk=row.pk).update(**columns)]
)
def test_no_column_takes_another_value(column: str, change: Callable[..., int]) -> None:
    """The models refuse it with a sentence, and the database for those who go past them."""
    row, value = transition(), OTHERS[column]()
    before = columns_of(row)
    with pytest.raises((TypeError, DatabaseError), match=REFUSED):
        change(row, **{column: value})
    assert columns_of(row) == before


def test_models_refuse_to_save_or_delete() -> None:
    """One by one and many at once; asking for a deletion of all included."""
    row = transition()
    row.reason = ""
    acts: list[Callable[[], object]] = [
        row.save,
        lambda: row.save(update_fields=["reason"]),
        row.delete,
        Transition.objects.all().delete,
        lambda: Transition.objects.bulk_update([row], ["reason"]),
    ]
    for act in acts:
        with pytest.raises(TypeError, match=REFUSED), transaction.atomic():
            act()
    assert columns_of(row)["reason"] == "the customer called"


def test_what_erasing_empties_may_be_emptied() -> None:
    """The reason may name a person; and it stays possible to say the same again."""
    row = transition()
    Transition.objects.filter(pk=row.pk).update(reason="", notification=None, sync_run=None, staff=None)
    assert by_sql(row, to_status="processed", reason="") == 1
    found = columns_of(row)
    emptied = ("reason", "notification_id", "sync_run_id", "staff_id")
    assert [found[name] for name in emptied] == ["", None, None, None]
    assert found["to_status"] == "processed"


def test_what_a_transition_refers_to_can_be_deleted() -> None:
    """An account that left, a pruned notification and a pruned pass leave the row behind, without them."""
    row = transition()
    assert row.staff and row.notification and row.sync_run
    row.staff.delete()
    row.notification.delete()
    row.sync_run.delete()
    found = columns_of(row)
    assert (found["staff_id"], found["notification_id"], found["sync_run_id"]) == (None, None, None)
    assert found["reason"] == "the customer called"


@pytest.mark.django_db(transaction=True)
def test_an_order_is_deleted_with_its_history() -> None:
    """In one transaction; and the tables can be flushed, as after this test."""
    row, other = transition(), transition()
    PersonalData.objects.create(order=row.order)
    row.order.delete()
    assert list(Transition.objects.all()) == [other]


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="only PostgreSQL has constraint triggers")
def test_postgresql_refuses_to_delete_the_history_of_an_order_that_stays() -> None:
    """At the commit."""
    row = transition()
    with pytest.raises(DatabaseError, match=REFUSED), transaction.atomic():
        tear_out(row)
    assert Transition.objects.filter(pk=row.pk).exists()


class Statements:
    """A schema editor whose connection refuses to create triggers, as one without the privilege does."""

    def __init__(self) -> None:
        self.connection = connection


def test_an_account_that_may_not_create_triggers_migrates_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The log says what is missing, and how to mend it; nothing is broken."""

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "TRIGGER" in sql:
            raise DatabaseError("You do not have the SUPER privilege")
        return execute(sql, params, many, context)

    with caplog.at_level(logging.WARNING), connection.execute_wrapper(refuse):
        MIGRATION.create(None, Statements())
    assert "SUPER privilege" in caplog.text
    assert "log_bin_trust_function_creators=1" in caplog.text
    assert Order.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_the_triggers_of_the_migration_are_missed_when_they_are_gone() -> None:
    """By the check W015, each by its name, until the migration is done again as the hint says."""
    created = re.findall(
        r"CREATE (?:CONSTRAINT )?TRIGGER (\w+)", "".join(MIGRATION.CREATE[connection.vendor])
    )
    assert lost_triggers() == []
    try:
        with connection.schema_editor() as editor:
            MIGRATION.drop(None, editor)
        messages = lost_triggers()
    finally:
        with connection.schema_editor() as editor:
            MIGRATION.create(None, editor)
    assert [each.msg.split()[-3] for each in messages] == sorted(created)
    assert all("migrate checkout_integration 0001" in (each.hint or "") for each in messages)
    assert lost_triggers() == []


def test_a_database_without_tables_lacks_nothing(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    """Before the first `migrate`, which runs this check too: a warning would name a migration that was never made."""
    monkeypatch.setattr(Transition._meta, "db_table", "checkout_integration_not_made")
    assert lost_triggers() == []


def lost_triggers() -> list[CheckMessage]:
    """Return what ``check --database`` says about them."""
    found = run_checks(databases=["default"])
    return [each for each in found if each.id == "checkout_integration.W015"]
