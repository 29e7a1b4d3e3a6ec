"""A copy of the database that stays as it is until it catches up on command."""

from __future__ import annotations

from typing import Any

from django.db import connections


class Lagging:
    """Sends reads of the product's tables to the copy, as routers for read replicas do; accounts stay where they are."""

    def db_for_read(self, model: type[Any], **hints: Any) -> str | None:
        """The copy."""
        return "replica" if model._meta.app_label == "checkout_integration" else None

    def db_for_write(self, model: type[Any], **hints: Any) -> str:
        """The database itself."""
        return "default"

    def allow_relation(self, *rows: Any, **hints: Any) -> bool:
        """Both databases have the same rows."""
        return True


def catch_up() -> None:
    """Copies all of the database."""
    source, copy = connections["default"], connections["replica"]
    source.ensure_connection()
    copy.ensure_connection()
    source.connection.backup(copy.connection)
