"""Pages of a list without counting a table of millions of rows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from django.core.paginator import Paginator
from django.db.models import QuerySet

COUNTED: Final = 5_000
"""Rows beyond this many are not counted: search and filters lead to them."""

if TYPE_CHECKING:
    RowPaginator = Paginator[Any]
else:
    RowPaginator = Paginator


class BoundedPaginator(RowPaginator):
    """Counts up to `COUNTED` rows, in the database, and pages through those."""

    @cached_property
    def count(self) -> int:
        """How many rows there are, `COUNTED` at most."""
        assert isinstance(self.object_list, QuerySet)
        rows = self.object_list.order_by().values("pk")
        return rows[:COUNTED].count()

    @property
    def reached_bound(self) -> bool:
        """Whether there may be more rows than were counted."""
        return self.count >= COUNTED
