"""One search box for every kind of text, looked up in indexed columns only: exactly first, then as a prefix.

Texts that a viewer may not see are not searched for that viewer: each hit would confirm a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from django.db.models import Q, QuerySet

from checkout_integration.admin.site.large_tables import of_account, within
from checkout_integration.models import Order

SHORTEST_PREFIX: Final = 4
LAST4: Final = re.compile(r"[0-9]{4}", re.ASCII)


def find_orders(orders: QuerySet[Order], text: str, *, sees_personal_data: bool) -> QuerySet[Order]:
    """Return the orders of a text: an id, receipt number, customer, account, checkout, code, e-mail or card."""
    text = text.strip()
    if not text:
        return orders
    if "\0" in text:  # PostgreSQL refuses to look for it
        return orders.none()
    exact = within(orders, list(_exact(text, sees_personal_data=sees_personal_data)))
    if len(text) < SHORTEST_PREFIX or exact.exists():
        return exact
    return within(orders, list(_prefixes(text, sees_personal_data=sees_personal_data)))


def _exact(text: str, *, sees_personal_data: bool) -> Iterator[Q]:
    yield Q(order_id=text)
    yield Q(transaction=text)
    yield Q(receipt_number=text)
    yield Q(user__external_id=text)
    yield Q(user__user_id=text)
    yield Q(checkout__reference=text)
    if not sees_personal_data:  # the last four digits are ten thousand guesses
        return
    yield Q(items__code=text)
    yield from of_account("checkout__user", text)
    if "@" in text:
        yield Q(personal_data__email=text.lower())
    if LAST4.fullmatch(text):
        yield Q(personal_data__last4=text)


def _prefixes(text: str, *, sees_personal_data: bool) -> Iterator[Q]:
    yield Q(order_id__startswith=text)
    yield Q(transaction__startswith=text)
    yield Q(receipt_number__startswith=text)
    yield Q(user__external_id__startswith=text)
    yield Q(checkout__reference__startswith=text)
    if sees_personal_data:
        yield Q(items__code__startswith=text)
        yield Q(personal_data__email__startswith=text.lower())
