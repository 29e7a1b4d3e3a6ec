"""Column types: identifiers that compare case-exactly, money, instants, JSON documents with exact numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from django.conf import settings
from django.db import models
from django.utils.timezone import get_default_timezone, is_aware, make_aware

from checkout_integration.policy.amounts import (
    MONEY_DIGITS,
    MONEY_PLACES,
    RATE_DIGITS,
    RATE_PLACES,
    column_amount,
)
from checkout_integration.protocol.strict_json import DocumentDecoder, DocumentEncoder, dumps
from checkout_integration.protocol.values import amount_text, is_stated, rounded

T = TypeVar("T")

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django_stubs_ext import StrOrPromise

    TextColumn = models.CharField[str, str]
    AmountColumn = models.DecimalField[Decimal | str | None, Decimal | None]
    TimeColumn = models.DateTimeField[datetime | None, datetime | None]
    Condition = models.Lookup[bool]
    Column: TypeAlias = models.Field[T, T]
    """A column as type checkers see it that have no plug-in for Django: what is read from it and written to it."""
else:  # Django's fields cannot be subscripted at run time
    TextColumn, AmountColumn, TimeColumn = models.CharField, models.DecimalField, models.DateTimeField
    Condition, Column = models.Lookup, models.Field

LONGEST_IDENTIFIER = 255
BEGINNINGS = "varchar_pattern_ops"
DECODER = DocumentDecoder()


class IdentifierField(TextColumn):
    """Text that names a thing, of the service or of the shop: compared exactly on every database.

    MariaDB and MySQL compare text without regard to case and accents by default, and with most collations without regard to
    trailing spaces, which would merge two orders.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", LONGEST_IDENTIFIER)
        super().__init__(*args, **kwargs)

    def db_parameters(self, connection: BaseDatabaseWrapper) -> dict[str, Any]:
        """Return the column's type, with an exact collation where the database's own is not one."""
        parameters = super().db_parameters(connection)
        if connection.vendor == "mysql":
            is_mariadb = connection.display_name == "MariaDB"
            parameters["collation"] = "utf8mb4_nopad_bin" if is_mariadb else "utf8mb4_0900_bin"
        return parameters


class MoneyField(AmountColumn):
    """An amount, and the name of the column with its currency; null when unknown. Fixed point, never float."""

    def __init__(self, *args: Any, currency: str = "", **kwargs: Any) -> None:
        self.currency = currency
        usual = {"max_digits": MONEY_DIGITS, "decimal_places": MONEY_PLACES, "null": True, "blank": True}
        super().__init__(*args, **{**usual, **kwargs})


class RateField(AmountColumn):
    """A rate of tax as the service states it, with six decimal places; null when unknown. Fixed point, never float."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        usual = {"max_digits": RATE_DIGITS, "decimal_places": RATE_PLACES, "null": True, "blank": True}
        super().__init__(*args, **{**usual, **kwargs})


class CurrencyField(TextColumn):
    """An ISO 4217 code, "" when unknown; as sent, so there is room for more than three letters."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"max_length": 8, "blank": True, "default": "", **kwargs})


class UtcField(TimeColumn):
    """A moment: an aware time in UTC, whatever the project's USE_TZ and TIME_ZONE are.

    Without USE_TZ Django has naive local times only, and the hour at the end of summer time comes twice. Here the column
    has UTC all the same, so that leases, waits and the order of events stay right. A naive value is treated as local time.
    """

    def deconstruct(self) -> Any:
        """Deconstruct as Django's own field with the same column: migrations do not differ."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.DateTimeField", args, kwargs

    def to_python(self, value: Any) -> Any:
        """Return an aware time."""
        moment = super().to_python(value)
        return moment if moment is None or is_aware(moment) else make_aware(moment, get_default_timezone())

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Return the present time for a column that says when the row was written."""
        if self.auto_now or (self.auto_now_add and add):
            setattr(model_instance, self.attname, datetime.now(UTC))
        return getattr(model_instance, self.attname)

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        """Return the value that Django writes with USE_TZ: naive times in UTC where the database has no zones."""
        zones = connection.features.supports_timezones
        if zones and isinstance(value, datetime) and is_aware(value):
            return value  # as Django would, and in a tenth of the time
        if settings.USE_TZ or zones:
            return super().get_db_prep_value(value, connection, prepared)
        moment = value if prepared else self.get_prep_value(value)
        naive = moment.astimezone(UTC).replace(tzinfo=None) if isinstance(moment, datetime) else moment
        return connection.ops.adapt_datetimefield_value(naive)

    def from_db_value(
        self, value: datetime | None, expression: Any, connection: BaseDatabaseWrapper
    ) -> datetime | None:
        """Return an aware time. Without USE_TZ a database that has zones gives its session's local time, and ``fold``."""
        if value is None or is_aware(value):
            return value
        stored_in = get_default_timezone() if connection.features.supports_timezones else UTC
        return make_aware(value, stored_in).astimezone(UTC)


if TYPE_CHECKING:
    InstantField = models.DateTimeField  # for the type checker, whose plug-in reads ``null`` of Django's own
else:
    InstantField = UtcField


class DocumentField(models.JSONField):
    """A JSON document that SQL can query; read here, its numbers are `Decimal` with the digits that were stored.

    SQLite and MariaDB store the text itself, PostgreSQL a ``jsonb``, whose numbers are exact, too.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("encoder", DocumentEncoder)
        kwargs.setdefault("decoder", DocumentDecoder)
        kwargs.setdefault("default", dict)
        kwargs.setdefault("blank", True)
        super().__init__(*args, **kwargs)

    def to_python(self, value: Any) -> Any:
        """Return the document of a fixture."""
        return DECODER.decode(value) if isinstance(value, str) else value

    def value_to_string(self, obj: models.Model) -> str:
        """Return the document as it stands in a fixture: in one as Django writes it, amounts would be texts."""
        return dumps(self.value_from_object(obj))


class ListField(models.JSONField):
    """A JSON list of texts. ``column__lists="text"`` finds the rows whose list has the text, on every database."""


@ListField.register_lookup
class Lists(Condition):
    """Whether a list has a text, compared exactly."""

    lookup_name = "lists"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: BaseDatabaseWrapper) -> tuple[str, tuple[Any, ...]]:
        """Return the condition; only SQLite has no function for it, and looks through the list."""
        column, parameters = self.process_lhs(compiler, connection)
        if connection.vendor == "sqlite":
            listed = f"SELECT value FROM json_each({column}) WHERE type = 'text'"  # noqa: S608  # a column, as Django quotes it
            return f"%s IN ({listed})", (self.rhs, *parameters)
        text = json.dumps([self.rhs])
        if connection.vendor == "postgresql":
            return f"{column} @> %s::jsonb", (*parameters, text)
        return f"JSON_CONTAINS({column}, %s)", (*parameters, text)


def account_column(related_name: str = "+") -> models.ForeignKey[Any, Any]:
    """Return a reference to an account of the shop, which may be deleted; it has no index of its own."""
    return optional_row(settings.AUTH_USER_MODEL, models.SET_NULL, related_name, db_index=False)


def optional_row(
    to: str | type[models.Model],
    on_delete: Callable[..., None],
    related_name: str | None = None,
    **options: Any,
) -> models.ForeignKey[Any, Any]:
    """Return a reference to a row that may be missing."""
    return models.ForeignKey(
        to, null=True, blank=True, on_delete=on_delete, related_name=related_name, **options
    )


def optional_instant(help_text: StrOrPromise = "", **options: Any) -> Column[datetime | None]:
    """Return a column for a moment that may be missing."""
    return InstantField(null=True, blank=True, help_text=help_text, **options)


def of_present(*columns: str, name: str) -> models.Index:
    """Return an index of the rows that have a value in its first column; MariaDB makes a whole one."""
    return models.Index(fields=columns, name=name, condition=models.Q(**{f"{columns[0]}__isnull": False}))


def searched(column: str, name: str) -> models.Index:
    """Return an index of texts that are looked up as a whole or by how they begin.

    PostgreSQL finds beginnings only by a class of its own, which finds whole texts as well; other databases need none.
    """
    return models.Index(fields=[column], name=name, opclasses=[BEGINNINGS])


def as_column_money(amount: Decimal | None, currency: str | None = None) -> Decimal | None:
    """Return the amount for a `MoneyField`, rounded where it cannot hold it: the exact value stays in the document.

    None for an amount that is not stated (`is_stated`): no page, file or sum takes it for zero. It has the digits of a
    stored one, since receivers may get rows that were just written.
    """
    return as_column_units(amount, currency) if is_stated(amount, currency) else None


def as_column_units(units: Decimal | None, currency: str | None = None) -> Decimal | None:
    """Return units of virtual currency as `as_column_money` returns money: they have no currency, and zero is a number."""
    fitting = column_amount(units, currency)
    return None if fitting is None else rounded(fitting, MONEY_PLACES)


def exact_value(field: models.Field[Any, Any], value: Any, currency: str) -> Any:
    """Return a value as files have it: an amount with the places of its currency, a rate without zeros at its end."""
    is_amount = isinstance(field, MoneyField | RateField) and isinstance(value, Decimal)
    return Decimal(amount_text(value, currency)) if is_amount else value


def exact_column(row: models.Model, name: str) -> Any:
    """Return the `exact_value` of a column of a row."""
    field: Any = row._meta.get_field(name)
    return exact_value(field, getattr(row, field.attname), getattr(row, getattr(field, "currency", ""), ""))


def as_column_text(value: str | None, length: int = 255) -> str:
    """Return text for a column of this length: longer text is cut; the whole value stays in the document."""
    return (value or "")[:length]
