"""One search box: what a text may be, looked up in indexed columns only, exactly first and then by how it begins.

What the pages mask for a viewer is not searched for them either: each hit would confirm a guess of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from django.db.models import Q, QuerySet

from checkout_integration.conf import app_settings
from checkout_integration.models import Order

if TYPE_CHECKING:
    Orders: TypeAlias = QuerySet[Order]
    Rows: TypeAlias = QuerySet[Any]

SHORTEST_PREFIX: Final = 4
LAST4: Final = re.compile(r"[0-9]{4}", re.ASCII)


def find_orders(orders: Orders, text: str, *, sees_personal_data: bool) -> Orders:
    """The orders that a text names: by order id, transaction, receipt number, customer, checkout, code, e-mail or card."""
    text = text.strip()
    if not text:
        return orders
    exact = within(orders, list(_exact(text, sees_personal_data=sees_personal_data)))
    if len(text) < SHORTEST_PREFIX or exact.exists():
        return exact
    return within(orders, list(_prefixes(text, sees_personal_data=sees_personal_data)))


def _exact(text: str, *, sees_personal_data: bool) -> Iterator[Q]:
    yield Q(order_id=text)
    yield of_our_projects(transaction=text)
    yield Q(receipt_number=text)
    yield Q(user__external_id=text)
    yield Q(checkout__reference=text)
    if not sees_personal_data:  # the last four digits are ten thousand guesses
        return
    yield Q(items__code=text)
    if "@" in text:
        yield Q(personal_data__email=text.lower())
    if LAST4.fullmatch(text):
        yield Q(personal_data__last4=text)


def _prefixes(text: str, *, sees_personal_data: bool) -> Iterator[Q]:
    yield Q(order_id__startswith=text)
    yield of_our_projects(transaction__startswith=text)
    yield Q(receipt_number__startswith=text)
    yield Q(user__external_id__startswith=text)
    yield Q(checkout__reference__startswith=text)
    if sees_personal_data:
        yield Q(items__code__startswith=text)
        yield Q(personal_data__email__startswith=text.lower())


def of_our_projects(**condition: Any) -> Q:
    """A look-up whose index begins with the project: that of every project is asked for."""
    return Q(project__in=list(app_settings().projects), **condition)


def within(rows: Rows, conditions: Sequence[Q]) -> Rows:
    """A union of indexed look-ups; an OR over several tables would read all rows."""
    found = [rows.model._default_manager.filter(each).order_by().values("pk") for each in conditions]
    return rows.filter(pk__in=found[0].union(*found[1:]))
