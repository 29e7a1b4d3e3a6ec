"""Transactions, their retries, and differences of databases.

`transactions` surrounds every write; `queries` are statements written by hand, `statements` write many rows at once in the
form of each database; `server` has its clock, limits and triggers, and says whether anything can be stored; `incidents` are
opened and end; `staff_acts` records what staff did; `installation` is the time since when this app watches a project.
"""

from checkout_integration.flows.database.incidents import (
    about_order,
    end_incidents,
    key_about_order,
    open_incidents,
    resolve_incidents,
)
from checkout_integration.flows.database.installation import ensure_installed, installed_at
from checkout_integration.flows.database.queries import (
    Command,
    Query,
    instant_of,
    keys_by_index,
)
from checkout_integration.flows.database.server import (
    DatabaseClock,
    database_now,
    is_read_only,
    limit_struck,
    limits_raised,
    missing_triggers,
    note_clock,
)
from checkout_integration.flows.database.staff_acts import acting_from, record_staff_act
from checkout_integration.flows.database.statements import (
    insert,
    insert_missing,
    insert_or_lock,
    update,
    upsert,
)
from checkout_integration.flows.database.transactions import (
    KEY_LENGTH,
    LONGEST_PAUSE,
    MOST_DEADLOCKS,
    TRANSIENT_DATABASE_ERRORS,
    Unavailable,
    close_stranded,
    in_halves,
    in_transaction,
    is_deadlock,
    keeps_old_snapshots,
    key_of,
    locked,
    own_transaction,
    read_committed,
    refusal_of,
    state_database,
    use_read_committed_next,
    with_retries,
    write_transaction,
)
