"""Export of a customer: everything that is stored about them, as one JSON document, written piece by piece.

Columns have their own names, as in docs/reference/models.md; amounts have the places of their currency. Left out are keys,
hashes and marks of our own, which say nothing of a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final

from django.db import models

from checkout_integration.flows.database import with_retries
from checkout_integration.flows.privacy.erasing import (
    PrivacyRequest,
    acts_about,
    preview_erasure,
    record_act,
)
from checkout_integration.flows.privacy.person import Person
from checkout_integration.models import Notification, Order, StaffAct
from checkout_integration.models.columns import exact_column
from checkout_integration.protocol import strict_json

FORMAT: Final = "checkout_integration.customer.1"
CHUNK: Final = 100
OF_OURS: Final = frozenset(
    "key identity body_hash request_hash facts stamps conflicts fence due_at tries begun completed recipient".split()
)
"""Columns that say nothing of a person: keys, hashes, and marks of the app's own work. The recipient is another person."""
GIFT: Final = ("reference", "status", "type", "description", "products", "virtual_currency_amount", "paid_at")
"""What the export of a recipient has of a gift: nothing of the account that has bought it, and no price."""
CHILDREN: Final = ("items", "refunds", "transitions", "grants", "incidents")

Row = Mapping[str, Any]
Rows = Iterable[Row]


def export_customer(persons: Sequence[Person], request: PrivacyRequest) -> Iterator[str]:
    """Record the export of a customer's data, and return its JSON, to be written piece by piece.

    ``persons``: the customer in each project, as `find_persons` returns them. Memory does not grow with their number of
    orders. Each row is as it is when its piece is made.
    """
    for person in persons:
        counts = asdict(preview_erasure(person))
        with_retries(partial(record_act, person, StaffAct.Act.EXPORT, request, counts))
    return _document(persons)


def _document(persons: Sequence[Person]) -> Iterator[str]:
    exported_at = strict_json.dumps(datetime.now(UTC).isoformat(timespec="seconds"))
    yield f'{{"format": "{FORMAT}", "exported_at": {exported_at}, "projects": ['
    for position, person in enumerate(persons):
        yield ", " if position else ""
        yield f'{{"project": {strict_json.dumps(person.project)}'
        for name, rows in _sections(person).items():
            yield f', "{name}": '
            yield from _array(rows)
        yield "}"
    yield "]}\n"


def _array(rows: Rows) -> Iterator[str]:
    separator = "["
    for row in rows:
        yield f"{separator}\n{strict_json.dumps(row)}"
        separator = ","
    yield "]" if separator == "," else "[]"


def _sections(person: Person) -> Mapping[str, Rows]:
    return {
        "customers": map(_columns, _in_chunks(person.customers)),
        "orders": map(_order, _in_chunks(person.orders, "personal_data", *CHILDREN)),
        "checkouts": map(_columns, _in_chunks(person.checkouts)),
        "gifts": map(_gift, _in_chunks(person.gifts)),
        "notifications": _notifications(person),
        "validation_decisions": map(_columns, _in_chunks(person.decisions)),
        "staff_acts": map(_columns, _in_chunks(acts_about(person))),
    }


def _in_chunks(rows: models.QuerySet[Any], *related: str) -> Iterator[Any]:
    """Return rows and their related rows: a statement for each table and chunk."""
    return rows.order_by("pk").prefetch_related(*related).iterator(chunk_size=CHUNK)


def _columns(row: models.Model) -> dict[str, Any]:
    fields = [field for field in row._meta.concrete_fields if field.name not in OF_OURS]
    return {field.name: _value(exact_column(row, field.name)) for field in fields}


def _gift(row: models.Model) -> dict[str, Any]:
    return {name: _value(exact_column(row, name)) for name in GIFT}


def _value(value: Any) -> Any:
    """Return a value that JSON has; a key of an account may be of any type."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float):
        return Decimal(repr(value))
    plain = value is None or isinstance(value, (str, int, Decimal, Mapping, list))
    return value if plain else str(value)


def _order(order: Order) -> Row:
    children = {name: [_columns(row) for row in getattr(order, name).all()] for name in CHILDREN}
    personal = getattr(order, "personal_data", None)
    receipts = personal.refund_receipts if personal else {}
    return {**_columns(order), "document": order.whole_document, "refund_receipts": receipts, **children}


def _notifications(person: Person) -> Iterator[Row]:
    """Yield every notification that names the customer, with the body as it was received."""
    requests = person.validation_requests.values_list("pk", flat=True)
    of_orders = person.notifications.values_list("pk", flat=True)
    keys = sorted({*of_orders, *requests, *person.named_notifications})
    for begin in range(0, len(keys), CHUNK):
        some = keys[begin : begin + CHUNK]
        rows = Notification.primary.filter(pk__in=some).order_by("pk")
        yield from ({**_columns(row), "body": _body(row.body)} for row in rows)


def _body(body: bytes | None) -> Any:
    """Return a body as a document; as text where our limits refuse it."""
    try:
        return strict_json.loads(bytes(body)) if body else None
    except strict_json.StrictJsonError:
        return bytes(body or b"").decode("utf-8", "replace")
