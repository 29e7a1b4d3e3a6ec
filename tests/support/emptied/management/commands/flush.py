"""Empty the tables after a test, in place of Django's command."""

from __future__ import annotations

from typing import Any, Final

from django.core.management.commands import flush
from django.db import connections

CONSTANT: Final = {"django_content_type", "auth_permission"}


class Command(flush.Command):
    """Delete all rows but content types and permissions: to make them again would take most of the time of a test."""

    def handle(self, **options: Any) -> None:
        """Empty all other tables."""
        connection = connections[options["database"]]
        existing = connection.introspection.django_table_names(only_existing=True, include_views=False)
        tables = [table for table in existing if table not in CONSTANT]
        statements = connection.ops.sql_flush(
            self.style,
            tables,
            reset_sequences=options.get("reset_sequences", True),
            allow_cascade=options.get("allow_cascade", False),
        )
        connection.ops.execute_sql_flush(statements)
