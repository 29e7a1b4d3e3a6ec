"""The triggers that let the database refuse changes of the history: which of them are not there."""

from __future__ import annotations

from typing import Final, NamedTuple

from django.db import connections

from checkout_integration.flows.database.transactions import state_database
from checkout_integration.models import Transition


class _Triggers(NamedTuple):
    """What the migration 0002_append_only creates in one kind of database, and how to list it."""

    names: frozenset[str]
    sql: str


# A table that does not exist is an error on PostgreSQL, and has no triggers elsewhere.
_OF: Final = {
    "postgresql": _Triggers(
        frozenset({"ci_transition_update", "ci_transition_delete"}),
        "SELECT tgname FROM pg_trigger WHERE tgrelid = CAST(%s AS regclass) AND tgenabled <> 'D'",
    ),
    "mysql": _Triggers(
        frozenset({"ci_transition_update"}),
        "SELECT trigger_name FROM information_schema.triggers "
        "WHERE event_object_schema = DATABASE() AND event_object_table = %s",
    ),
    "sqlite": _Triggers(
        frozenset({"ci_transition_update"}),
        "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s",
    ),
}


def missing_triggers() -> list[str]:
    """Return the names of the triggers that this database lacks, sorted; [] for a database that has none of ours.

    On MariaDB and MySQL an account sees no triggers without the privilege TRIGGER. Raises DatabaseError.
    """
    connection = connections[state_database()]
    triggers = _OF.get(connection.vendor)
    if triggers is None:
        return []
    with connection.cursor() as cursor:
        cursor.execute(triggers.sql, [Transition._meta.db_table])
        return sorted(triggers.names - {name for (name,) in cursor.fetchall()})
