"""The base of all tables: related rows are read from the database of their row."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from django.db import models, router

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


class PrimaryManager(models.Manager[Model_co]):
    """Rows as the database that is written to has them: decisions read them there, since a replica may lag."""

    def get_queryset(self) -> models.QuerySet[Model_co]:
        """Return all rows, from the database that the router writes to."""
        return super().get_queryset().using(router.db_for_write(self.model))


class Row(models.Model):
    """A row of one of the product's tables."""

    if TYPE_CHECKING:  # its plug-in gives each model ``objects``, a manager that knows the model
        primary: ClassVar[models.Manager[Self]]
    else:
        objects = NearQuerySet.as_manager()
        primary = PrimaryManager.from_queryset(NearQuerySet)()

    class Meta:
        abstract = True
        base_manager_name = "objects"  # by which Django follows a foreign key, and reads a row again
