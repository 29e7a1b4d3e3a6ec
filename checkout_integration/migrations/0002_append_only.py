"""Let the database refuse changes of transitions: docs/reconciliation.md says what each one refuses.

An update may empty what erasing and deleted rows empty (reason, staff, notification, sync_run), and nothing else. PostgreSQL
also refuses to delete a transition whose order stays, at the commit, so that an order can be deleted with its history.

A database account that may not create triggers migrates all the same, and the log says what to do.
"""

import logging
from collections.abc import Iterable
from typing import Any

from django.db import DatabaseError, migrations, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

logger = logging.getLogger("checkout_integration.migrations")

TABLE, ORDERS = "checkout_integration_transition", "checkout_integration_order"
MESSAGE = "A transition of an order is never changed or deleted"
FIXED = ("id", "order_id", "from_status", "to_status", "source", "act", "system_user", "recorded_at")
EMPTIED = ("staff_id", "notification_id", "sync_run_id")
NOT_CREATED = (
    "The triggers that keep the history of orders from being changed could not be created: %s. Everything else works. Let the "
    "database account create triggers (on MySQL and MariaDB with a binary log: log_bin_trust_function_creators=1), then run "
    "manage.py migrate checkout_integration 0001 and manage.py migrate checkout_integration."
)


def changed(unequal: str) -> str:
    """Return the condition of a change that is refused; ``unequal`` compares two values, null among them."""
    fixed = [unequal.format(f"NEW.{column}", f"OLD.{column}") for column in FIXED]
    emptied = [f"(NEW.{column} IS NOT NULL AND {unequal.format(f'NEW.{column}', f'OLD.{column}')})" for column in EMPTIED]
    return " OR ".join([*fixed, *emptied, "(NEW.reason <> '' AND NEW.reason <> OLD.reason)"])


POSTGRESQL = [
    f"""CREATE OR REPLACE FUNCTION ci_transition_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE stays boolean := true;
    BEGIN
        IF TG_OP = 'DELETE' THEN
            EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I.%I WHERE id = $1)', TG_TABLE_SCHEMA, '{ORDERS}')
            INTO stays USING OLD.order_id;
        END IF;
        IF stays THEN
            RAISE EXCEPTION '{MESSAGE}' USING ERRCODE = 'insufficient_privilege';
        END IF;
        RETURN NULL;
    END $$""",
    f"""CREATE TRIGGER ci_transition_update BEFORE UPDATE ON {TABLE} FOR EACH ROW
    WHEN ({changed("{} IS DISTINCT FROM {}")}) EXECUTE FUNCTION ci_transition_refuse()""",
    f"""CREATE CONSTRAINT TRIGGER ci_transition_delete AFTER DELETE ON {TABLE} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION ci_transition_refuse()""",
]
# InnoDB's own ON DELETE SET NULL would not call a trigger; Django's is an UPDATE.
MYSQL = [
    f"""CREATE TRIGGER ci_transition_update BEFORE UPDATE ON {TABLE} FOR EACH ROW BEGIN
    IF {changed("NOT ({} <=> {})")} THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{MESSAGE}';
    END IF; END""",
]
SQLITE = [
    f"""CREATE TRIGGER ci_transition_update BEFORE UPDATE ON {TABLE} FOR EACH ROW
    WHEN {changed("{} IS NOT {}")} BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END""",
]
CREATE = {"postgresql": POSTGRESQL, "mysql": MYSQL, "sqlite": SQLITE}
DROP = {
    "postgresql": [
        f"DROP TRIGGER IF EXISTS ci_transition_delete ON {TABLE}",
        f"DROP TRIGGER IF EXISTS ci_transition_update ON {TABLE}",
        "DROP FUNCTION IF EXISTS ci_transition_refuse()",
    ],
    "mysql": ["DROP TRIGGER IF EXISTS ci_transition_update"],
    "sqlite": ["DROP TRIGGER IF EXISTS ci_transition_update"],
}


def execute(schema_editor: BaseDatabaseSchemaEditor, statements: Iterable[str]) -> None:
    with schema_editor.connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def create(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Create the triggers; in a savepoint where the database can take them back."""
    connection = schema_editor.connection
    statements = CREATE.get(connection.vendor, [])
    try:
        if connection.features.can_rollback_ddl:
            with transaction.atomic(using=connection.alias):
                execute(schema_editor, statements)
        else:
            execute(schema_editor, statements)
    except DatabaseError as error:
        logger.warning(NOT_CREATED, error)


def drop(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    execute(schema_editor, DROP.get(schema_editor.connection.vendor, []))


class Migration(migrations.Migration):

    dependencies = [('checkout_integration', '0001_initial')]

    operations = [migrations.RunPython(create, drop, hints={'model_name': 'transition'})]
