"""Lists of large tables: pages without counting all rows, search without scanning them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.paginator import Page, Paginator
from django.db.models import Field, Q, QuerySet

COUNTED: Final = 5_000
"""Rows beyond this many are not counted: search and filters lead to them."""
ORDER_DOCUMENTS: Final = ("order__document", "order__facts", "order__stamps", "order__conflicts")
"""The large columns of an order, as a list of rows that belong to orders names them: it does not read them."""


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # it cannot be subscripted at run time
    """A paginator of up to `COUNTED` rows. One statement finds the keys of all of them, another reads the rows of a page."""

    @cached_property
    def count(self) -> int:
        """The number of rows, `COUNTED` at most."""
        return len(self._keys)

    def page(self, number: Any) -> Page[Any]:
        """Return a page, whose rows are read by their keys: so nothing is joined to rows of other pages."""
        assert isinstance(self.object_list, QuerySet)
        number = self.validate_number(number)
        first = (number - 1) * self.per_page
        keys = self._keys[first : first + self.per_page]
        return Page(self.object_list.filter(pk__in=keys), number, self)

    @cached_property
    def _keys(self) -> list[Any]:
        """The keys in the sequence of the list: without it, PostgreSQL may read the whole table."""
        assert isinstance(self.object_list, QuerySet)
        return list(self.object_list.values_list("pk", flat=True)[:COUNTED])

    @property
    def reached_bound(self) -> bool:
        """Whether there may be more rows than were counted."""
        return self.count >= COUNTED


def within(rows: QuerySet[Any], conditions: Sequence[Q]) -> QuerySet[Any]:
    """Return the rows that meet a condition: a union of indexed look-ups. An OR over several tables would read all rows."""
    return rows.filter(pk__in=keys_of(rows, conditions))


def keys_of(rows: QuerySet[Any], conditions: Sequence[Q]) -> list[Any] | QuerySet[Any]:
    """Return the keys of the rows that meet a condition; the query of them if they are more than `COUNTED`.

    They are read first: a planner that expects many rows of a union joins them by reading the whole table.
    """
    keys = [rows.model._default_manager.filter(condition).order_by().values("pk") for condition in conditions]
    found = keys[0].union(*keys[1:])
    few = list(found.values_list("pk", flat=True)[: COUNTED + 1])
    return few if len(few) <= COUNTED else found


def of_account(text: str, *relations: str) -> list[Q]:
    """Return conditions that a row belongs to the account with this login name; none where no account has it.

    The account is looked up first: by a join, a planner would expect as many rows as an account has on average.
    """
    name = get_user_model().USERNAME_FIELD
    field = get_user_model()._meta.get_field(name)
    assert isinstance(field, Field)
    try:
        value = field.to_python(text)
    except ValidationError:  # a shop may name its accounts by numbers
        return []
    accounts = list(get_user_model()._base_manager.filter(**{name: value}).values_list("pk", flat=True))
    return [Q((f"{relation}__in", accounts)) for relation in relations] if accounts else []
