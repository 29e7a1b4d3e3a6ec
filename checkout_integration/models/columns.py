"""Column types: identifiers that compare case-exactly, money, instants, and JSON documents with exact numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models
from django.utils.timezone import get_default_timezone, is_aware, make_aware

from checkout_integration.policy.amounts import MONEY_DIGITS, MONEY_PLACES, column_amount
from checkout_integration.protocol.strict_json import DocumentDecoder, DocumentEncoder

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper

    TextColumn = models.CharField[str, str]
    AmountColumn = models.DecimalField[Decimal | str | None, Decimal | None]
    TimeColumn = models.DateTimeField[datetime | None, datetime | None]
else:  # Django's fields cannot be subscripted at run time
    TextColumn, AmountColumn, TimeColumn = models.CharField, models.DecimalField, models.DateTimeField

LONGEST_IDENTIFIER = 255


class IdentifierField(TextColumn):
    """Text that names a thing, of the service or of the shop: compared exactly on every database.

    MariaDB and MySQL compare text without regard to case and accents unless told otherwise, and most of their collations
    without regard to spaces at the end, which would merge two orders.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", LONGEST_IDENTIFIER)
        super().__init__(*args, **kwargs)

    def db_parameters(self, connection: BaseDatabaseWrapper) -> dict[str, Any]:
        """The column's type, with an exact collation where the database's own is not one."""
        parameters = super().db_parameters(connection)
        if connection.vendor == "mysql":
            is_mariadb = connection.display_name == "MariaDB"
            parameters["collation"] = "utf8mb4_nopad_bin" if is_mariadb else "utf8mb4_0900_bin"
        return parameters


class MoneyField(AmountColumn):
    """An amount beside its own currency; null when unknown. Fixed point, never float."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("max_digits", MONEY_DIGITS)
        kwargs.setdefault("decimal_places", MONEY_PLACES)
        kwargs.setdefault("null", True)
        kwargs.setdefault("blank", True)
        super().__init__(*args, **kwargs)


class CurrencyField(TextColumn):
    """An ISO 4217 code, "" when unknown; as sent, hence room for more than three letters."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", 8)
        kwargs.setdefault("blank", True)
        kwargs.setdefault("default", "")
        super().__init__(*args, **kwargs)


class UtcField(TimeColumn):
    """A moment: an aware time in UTC, whatever the project's USE_TZ and TIME_ZONE are.

    Without USE_TZ Django knows naive local times only, of which the hour at the end of summer time comes twice. Here the
    column holds UTC all the same, so that leases, waits and the order of events stand. A naive value is taken for local time.
    """

    def deconstruct(self) -> Any:
        """As Django's own field, whose column it is: migrations do not differ."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.DateTimeField", args, kwargs

    def to_python(self, value: Any) -> Any:
        """An aware time."""
        told = super().to_python(value)
        return told if told is None or is_aware(told) else make_aware(told, get_default_timezone())

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Now, where the column tells when the row was written."""
        if self.auto_now or (self.auto_now_add and add):
            setattr(model_instance, self.attname, datetime.now(UTC))
        return getattr(model_instance, self.attname)

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        """As Django with USE_TZ: naive times in UTC where the database has no zones."""
        zones = connection.features.supports_timezones
        if zones and isinstance(value, datetime) and is_aware(value):
            return value  # as Django would, and in a tenth of the time
        if settings.USE_TZ or zones:
            return super().get_db_prep_value(value, connection, prepared)
        told = value if prepared else self.get_prep_value(value)
        naive = told.astimezone(UTC).replace(tzinfo=None) if isinstance(told, datetime) else told
        return connection.ops.adapt_datetimefield_value(naive)

    def from_db_value(
        self, value: datetime | None, expression: Any, connection: BaseDatabaseWrapper
    ) -> datetime | None:
        """An aware time. Without USE_TZ a database that has zones gives its session's local time, and ``fold``."""
        if value is None or is_aware(value):
            return value
        stored_in = get_default_timezone() if connection.features.supports_timezones else UTC
        return make_aware(value, stored_in).astimezone(UTC)


if TYPE_CHECKING:
    InstantField = models.DateTimeField  # for the type checker, whose plug-in reads ``null`` of Django's own
else:
    InstantField = UtcField


class DocumentField(models.JSONField):
    """A JSON document whose numbers come back as `Decimal` with the digits that were stored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("encoder", DocumentEncoder)
        kwargs.setdefault("decoder", DocumentDecoder)
        kwargs.setdefault("default", dict)
        kwargs.setdefault("blank", True)
        super().__init__(*args, **kwargs)


def as_column_money(amount: Decimal | None, currency: str | None = None) -> Decimal | None:
    """Return the amount for a `MoneyField`, rounded where it cannot hold it: the exact value stays in the document."""
    return column_amount(amount, currency)


def as_column_text(value: str | None, length: int = 255) -> str:
    """Text for a column of this length: what is longer is cut; the whole value stays in the document."""
    return (value or "")[:length]
