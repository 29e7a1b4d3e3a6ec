"""Set-based statements over rows of one model: one statement, whatever the number of rows."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import models

from checkout_integration.flows.database.connection import insert_once, state_database


def insert(rows: Sequence[models.Model], *, key: tuple[str, ...] = ()) -> None:
    """Insert rows and set their primary keys; ``key`` names columns by which they are told apart."""
    if rows:
        type(rows[0])._default_manager.using(state_database()).bulk_create(rows)


def insert_missing(rows: Sequence[models.Model], *key: str) -> None:
    """Insert the rows whose unique ``key`` is not there yet; the others stay as they are."""
    insert_once(rows, *key)


def upsert(rows: Sequence[models.Model], *key: str, update: Sequence[str]) -> None:
    """Insert rows; of those whose unique ``key`` is there, the fields ``update`` are written."""
    insert_once(rows, *key, update_fields=update)


def update(rows: Sequence[models.Model], fields: Sequence[str]) -> None:
    """Write these fields of known rows, each with its own values."""
    if rows:
        type(rows[0])._default_manager.using(state_database()).bulk_update(rows, list(fields))
