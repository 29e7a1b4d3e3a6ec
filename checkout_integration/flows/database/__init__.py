"""Transactions, their retries, and differences of databases.

`transactions` surrounds every write; `queries` are statements written by hand, `statements` write many rows at once,
`composed` and `dialects` in the form of each database; `triggers` keep the history from being changed; `installation` is the
time since when this app watches a project.
"""

from checkout_integration.flows.database.installation import ensure_installed, installed_at
from checkout_integration.flows.database.queries import Command, Query, count_by_index, instant_of
from checkout_integration.flows.database.statements import (
    Together,
    insert,
    insert_missing,
    insert_or_lock,
    update,
    upsert,
    upsert_plain,
)
from checkout_integration.flows.database.transactions import (
    KEY_LENGTH,
    LONGEST_PAUSE,
    MOST_DEADLOCKS,
    TRANSIENT_DATABASE_ERRORS,
    Unavailable,
    acquire_write_lock,
    is_deadlock,
    keeps_old_snapshots,
    key_of,
    locked,
    read_committed,
    state_database,
    use_read_committed_next,
    with_retries,
    write_transaction,
)
from checkout_integration.flows.database.triggers import missing_triggers

__all__ = [
    "KEY_LENGTH",
    "LONGEST_PAUSE",
    "MOST_DEADLOCKS",
    "TRANSIENT_DATABASE_ERRORS",
    "Command",
    "Query",
    "Together",
    "Unavailable",
    "acquire_write_lock",
    "count_by_index",
    "ensure_installed",
    "insert",
    "insert_missing",
    "insert_or_lock",
    "installed_at",
    "instant_of",
    "is_deadlock",
    "keeps_old_snapshots",
    "key_of",
    "locked",
    "missing_triggers",
    "read_committed",
    "state_database",
    "update",
    "upsert",
    "upsert_plain",
    "use_read_committed_next",
    "with_retries",
    "write_transaction",
]
