"""Which receivers of ``checkout_paid`` were begun and completed, as it stands on their grants."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from django.db.models import F, Func, JSONField, Value

from checkout_integration.flows.database.connection import locked, state_database
from checkout_integration.models import Grant


class _Appended(Func):
    """A JSON list with a text added to its end, by the database: two processes may add to one list at the same time."""

    output_field = JSONField()

    def __init__(self, column: str, text: str) -> None:
        super().__init__(F(column), Value(json.dumps([text])))

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        """Concatenate two lists."""
        return self.as_sql(compiler, connection, template="%(expressions)s::jsonb", arg_joiner=" || ", **more)

    def as_mysql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        """Concatenate two lists, keeping what stands in both."""
        return self.as_sql(compiler, connection, function="JSON_MERGE_PRESERVE", **more)

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        """Insert the text behind the last place of the list."""
        joiner, template = ", '$[#]', json_extract(", "json_insert(%(expressions)s, '$[0]'))"
        return self.as_sql(compiler, connection, template=template, arg_joiner=joiner, **more)


def note_begun(grants: Collection[int], receiver: str) -> set[int]:
    """Note a receiver of ``checkout_paid`` as begun for those of these grants that are open. Inside a transaction.

    Returns the grants that could be looked at: one that the ledger has locked, and may be closing, is left out without
    waiting. A closed one is looked at and gets no note: its run ends as superseded, and leaves nothing to undo.
    """
    table = Grant.objects.using(state_database())
    rows = list(locked(table.filter(pk__in=grants).only("state", "begun"), wait=False).order_by("pk"))
    begins = [row.pk for row in rows if row.state == Grant.State.OPEN and receiver not in row.begun]
    if begins:
        table.filter(pk__in=begins).update(begun=_Appended("begun", receiver))
    return {row.pk for row in rows}


def note_completed(grant: int, receiver: str) -> None:
    """Note a receiver of ``checkout_paid`` as completed, in the transaction of its own writes. Each completes once."""
    Grant.objects.using(state_database()).filter(pk=grant).update(completed=_Appended("completed", receiver))


def complete_by_staff(grant: int, receiver: str) -> bool:
    """Note a receiver as completed, if the grant is open; False where it is not. Inside a transaction.

    RACE: the ledger may be closing the grant. Under its lock it is either open, and the reversal finds what is noted here,
    or closed, and nothing is noted.
    """
    row = locked(Grant.objects.using(state_database()).filter(pk=grant).only("state")).get()
    if row.state == Grant.State.OPEN:
        note_completed(grant, receiver)
    return row.state == Grant.State.OPEN
