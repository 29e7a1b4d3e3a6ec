"""Lists of large tables: pages without counting all rows, search without scanning them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from django.core.paginator import Paginator
from django.db.models import Q, QuerySet

COUNTED: Final = 5_000
"""Rows beyond this many are not counted: search and filters lead to them."""
ORDER_DOCUMENTS: Final = ("order__document", "order__facts", "order__stamps", "order__conflicts")
"""The large columns of an order, as a list of rows that belong to orders names them: it does not read them."""

if TYPE_CHECKING:
    RowPaginator = Paginator[Any]
    Rows: TypeAlias = QuerySet[Any]
else:
    RowPaginator = Paginator


class BoundedPaginator(RowPaginator):
    """A paginator that counts up to `COUNTED` rows, in the database, and pages through those."""

    @cached_property
    def count(self) -> int:
        """The number of rows, `COUNTED` at most."""
        assert isinstance(self.object_list, QuerySet)
        # In the sequence of the list, so that an index ends the count; without it PostgreSQL may read the whole table.
        return self.object_list.values("pk")[:COUNTED].count()

    @property
    def reached_bound(self) -> bool:
        """Whether there may be more rows than were counted."""
        return self.count >= COUNTED


def within(rows: Rows, conditions: Sequence[Q]) -> Rows:
    """Return the rows that meet a condition: a union of indexed look-ups. An OR over several tables would read all rows."""
    keys = [rows.model._default_manager.filter(condition).order_by().values("pk") for condition in conditions]
    return rows.filter(pk__in=keys[0].union(*keys[1:]))
