"""What docs/upgrading.md promises of migrations: old processes read and write on, and nobody waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

BEFORE_ANY_RELEASE = {"0001_initial", "0002_append_only"}


def broken(operations: Sequence[Operation]) -> Iterator[str]:
    """Yield what breaks the promise: what an old process would miss, and what makes others wait."""
    new_tables = {
        operation.name_lower for operation in operations if isinstance(operation, migrations.CreateModel)
    }
    for operation in operations:
        on_new_table = getattr(operation, "model_name_lower", None) in new_tables
        match operation:
            case migrations.RemoveField() | migrations.DeleteModel():
                yield f"{operation.describe()}: an older release reads it"
            case migrations.RenameField() | migrations.RenameModel() | migrations.AlterModelTable():
                yield f"{operation.describe()}: an older release knows the old name"
            case migrations.AlterField() if not on_new_table:
                yield f"{operation.describe()}: the table may be written again"
            case migrations.AddField(field=field) if not on_new_table:
                if not (field.null or field.has_db_default() or field.many_to_many):
                    yield f"{operation.describe()}: an older release writes rows without it"
            case migrations.AddIndex() | migrations.AddConstraint() if not on_new_table:
                # The subclass of django.contrib.postgres makes it without a lock.
                if type(operation) in {migrations.AddIndex, migrations.AddConstraint}:
                    yield f"{operation.describe()}: writers wait while it is made"
            case migrations.RunPython():
                yield f"{operation.describe()}: it may walk through the rows of a table"


def test_every_migration_of_a_release_meets_the_promise() -> None:
    """But those from before the first release, which make everything."""
    loader = MigrationLoader(None, ignore_no_migrations=True)
    ours = {
        name: list(broken(migration.operations))
        for (label, name), migration in loader.disk_migrations.items()
        if label == "checkout_integration" and name not in BEFORE_ANY_RELEASE
    }
    assert {name: faults for name, faults in ours.items() if faults} == {}


TEXT = models.CharField(max_length=9)
INDEX = models.Index(fields=["name"], name="ci_name")


@pytest.mark.parametrize(
    "operation",
    [
        migrations.RemoveField("order", "status"),
        migrations.RenameField("order", "status", "state"),
        migrations.DeleteModel("Order"),
        migrations.RenameModel("Order", "Sale"),
        migrations.AlterModelTable("Order", "orders"),
        migrations.AlterField("order", "status", TEXT),
        migrations.AddField("order", "name", TEXT),
        migrations.AddField("order", "name", models.CharField(max_length=9, default="")),
        migrations.AddIndex("order", INDEX),
        migrations.AddConstraint("order", models.UniqueConstraint(fields=["name"], name="ci_name")),
        migrations.RunPython(migrations.RunPython.noop),
    ],
    ids=lambda operation: operation.describe(),
)
def test_what_would_break_it_is_found(operation: Operation) -> None:
    """One at a time."""
    assert list(broken([operation]))


@pytest.mark.parametrize(
    "operations",
    [
        [migrations.AddField("order", "name", models.CharField(max_length=9, null=True))],
        [migrations.AddField("order", "name", models.CharField(max_length=9, db_default=""))],
        [
            migrations.CreateModel("Sale", fields=[("name", TEXT)]),
            migrations.AddField("sale", "other", TEXT),
            migrations.AddIndex("sale", INDEX),
        ],
    ],
    ids=["an empty column", "a value of the database", "a new table"],
)
def test_what_keeps_it_is_not(operations: list[Operation]) -> None:
    """A column that may be empty, or has a value of the database's; whatever is on a new table."""
    assert list(broken(operations)) == []


def test_an_index_without_a_lock_keeps_it() -> None:
    """As Django makes one on PostgreSQL."""
    pytest.importorskip("psycopg")
    from django.contrib.postgres.operations import AddIndexConcurrently

    assert list(broken([AddIndexConcurrently("order", INDEX)])) == []
