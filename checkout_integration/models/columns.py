"""Column types: identifiers that compare case-exactly, money, and JSON documents with exact numbers."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db import models

from checkout_integration.protocol.strict_json import DocumentDecoder, DocumentEncoder

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper

    TextColumn = models.CharField[str, str]
    AmountColumn = models.DecimalField[Decimal | str | None, Decimal | None]
else:  # Django's fields cannot be subscripted at run time
    TextColumn, AmountColumn = models.CharField, models.DecimalField

MONEY_DIGITS = 19
MONEY_PLACES = 4
"""No ISO 4217 currency has more than four decimal places."""


class IdentifierField(TextColumn):
    """Text that names a thing, of the service or of the shop: compared exactly on every database.

    MariaDB and MySQL compare text without regard to case and accents unless told otherwise, and most of their collations
    without regard to spaces at the end, which would merge two orders.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", 255)
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


class DocumentField(models.JSONField):
    """A JSON document whose numbers come back as `Decimal` with the digits that were stored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("encoder", DocumentEncoder)
        kwargs.setdefault("decoder", DocumentDecoder)
        kwargs.setdefault("default", dict)
        kwargs.setdefault("blank", True)
        super().__init__(*args, **kwargs)


def as_column_money(amount: Decimal | None) -> Decimal | None:
    """The amount if a `MoneyField` holds it exactly, else None: the exact value stays in the document."""
    if amount is None or not amount.is_finite():
        return None
    bound = Decimal(10) ** (MONEY_DIGITS - MONEY_PLACES)
    if abs(amount) >= bound or amount != amount.quantize(Decimal(1).scaleb(-MONEY_PLACES)):
        return None
    return amount


def as_column_text(value: str | None, length: int = 255) -> str:
    """Text for a column of this length: what is longer is cut; the whole value stays in the document."""
    return (value or "")[:length]
