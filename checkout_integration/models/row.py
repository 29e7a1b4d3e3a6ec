"""The base of all tables: related rows are read from the database of their row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from django.db import models
from django.db.models.base import ModelState

Model_co = TypeVar("Model_co", bound=models.Model, covariant=True)


class NearQuerySet(models.QuerySet[Model_co]):
    """A queryset that stays with the row that it starts from.

    Routers for read replicas send every read away, that of ``order.checkout`` too: a receiver that has its order from the
    database that is written to would look for the rest in a copy that lags behind.
    """

    @property
    def db(self) -> str:
        """The database chosen by ``using``, else the one that the row came from, else the router's."""
        row: models.Model | None = self._hints.get("instance")  # type: ignore[attr-defined]
        free = self._db is None and not self._for_write  # type: ignore[attr-defined]
        return (row and free and row._state.db) or super().db


class Row(models.Model):
    """A row of one of the product's tables."""

    if not TYPE_CHECKING:  # its plug-in gives each model a manager that knows the model
        objects = NearQuerySet.as_manager()

    class Meta:
        abstract = True
        base_manager_name = "objects"  # by which Django follows a foreign key, and reads a row again

    @classmethod
    def new(cls, **values: Any) -> Self:
        """Return a row that is not stored, as the constructor does, in a fifth of its time: for rows of every payment.

        Values of columns are given by the columns' names, as in ``order_id``; a related row may be given as well. Names are
        not checked, and no signals are sent.
        """
        blank, made, relations = _blank(cls)
        row = cls.__new__(cls)
        row._state = ModelState()
        columns = vars(row)
        columns |= blank
        for name, default in made.items():
            columns[name] = default()
        for name, value in values.items():
            if name in columns:
                columns[name] = value
            elif name not in relations:
                setattr(row, name, value)
            elif value is not None:
                # As Django does, which asks the routers each time whether the two may be related.
                relation, key = relations[name]
                columns[relation.attname] = getattr(value, key)
                relation.set_cached_value(row, value)
                row._state.db = row._state.db or value._state.db
        return row

    def join(self, name: str, related: models.Model) -> None:
        """Let a relation lead to a row that was read or made together with this one.

        The other row does not refer back, unlike with Django's attribute: only the garbage collector could free such a pair.
        """
        relation: Any = self._meta.get_field(name)
        relation.set_cached_value(self, related)


class _Blank(NamedTuple):
    """A new row of a model: the defaults that all rows share, those that each row gets anew, and its foreign keys.

    Each foreign key is there with the attribute of the related row that it takes.
    """

    columns: Mapping[str, Any]
    made: Mapping[str, Callable[[], Any]]
    relations: Mapping[str, tuple[models.ForeignKey[Any, Any], str]]


@cache
def _blank(model: type[models.Model]) -> _Blank:
    fields = model._meta.concrete_fields
    made = {
        field.attname: field.default for field in fields if field.has_default() and callable(field.default)
    }
    return _Blank(
        columns={field.attname: None if field.attname in made else field.get_default() for field in fields},
        made=made,
        relations={
            field.name: (field, field.target_field.attname)
            for field in fields
            if isinstance(field, models.ForeignKey)
        },
    )
