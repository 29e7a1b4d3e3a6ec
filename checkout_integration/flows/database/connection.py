"""Which database state lives in, how its transactions read, and how rows are locked."""

from __future__ import annotations

import hashlib
from typing import TypeVar

from django.db import connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper

from checkout_integration.models import Installation, Order

KEY_LENGTH = 32

Row = TypeVar("Row", bound=models.Model)


def state_database() -> str:
    """Alias of the database that is written to. Everything that decides reads from it too: a replica may lag."""
    return router.db_for_write(Order)


def acquire_write_lock() -> None:
    """Makes the open transaction a writing one where the database has no row locks. Call it before anything is read.

    On SQLite a transaction that has read and then wants to write is refused at once when another has written meanwhile,
    unless all transactions begin as writing ones (``transaction_mode`` IMMEDIATE).
    """
    read_committed()
    if not connections[state_database()].features.has_select_for_update:
        Installation.objects.using(state_database()).filter(project="").update(
            project=""
        )  # there is no such row


def keeps_old_snapshots(connection: BaseDatabaseWrapper) -> bool:
    """Whether transactions here go on reading rows as they were before a lock was waited for (A.39).

    So MySQL and MariaDB do at REPEATABLE READ, their own default; Django's default is READ COMMITTED.
    """
    level = connection.settings_dict["OPTIONS"].get("isolation_level", "read committed")
    return connection.vendor == "mysql" and (level or "").lower() != "read committed"


def use_read_committed_next() -> None:
    """Lets the next transaction read what others have committed, whatever level the host has set. Not inside of one."""
    connection = connections[state_database()]
    if keeps_old_snapshots(connection):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")


def read_committed() -> None:
    """Lets the open transaction read what others have committed. Call it before anything else in a transaction of our own.

    That is for PostgreSQL, where `use_read_committed_next` would come too early. At a higher level it ends a transaction that
    wants to change what others have changed, but not one that asks for a row which others have inserted.
    """
    connection = connections[state_database()]
    if connection.vendor != "postgresql" or len(connection.atomic_blocks) > 1:
        return
    if connection.isolation_level.name != "READ_COMMITTED":  # type: ignore[attr-defined]  # PostgreSQL's own
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")


def digest_of(*parts: object) -> str:
    """Return a fixed-length key over several texts, so that identifiers of any length compare exactly: SHA-256 in hex."""
    text = "\x1f".join(str(part) for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def key_of(*parts: object) -> str:
    """Return the first half of `digest_of`: 128 bits are enough for what the service or the shop names."""
    return digest_of(*parts)[:KEY_LENGTH]


def locked(queryset: models.QuerySet[Row], *tables: str, wait: bool = True) -> models.QuerySet[Row]:
    """The rows of these tables, else of the queryset's own, locked until the transaction ends, in this order.

    Not to ``wait`` leaves out what others have locked.

    Nobody changes their keys, so PostgreSQL lets others refer to them meanwhile: foreign keys are checked at the commit, in
    whatever order. Databases without ``FOR UPDATE OF`` lock every table that is joined; SQLite is locked as a whole.
    """
    features = connections[queryset.db].features
    of = (tables or ("self",)) if features.has_select_for_update_of else ()
    no_key = features.has_select_for_no_key_update
    return queryset.select_for_update(skip_locked=not wait, of=of, no_key=no_key)
