"""One search box for every kind of text, looked up in indexed columns only: exactly first, then as a prefix.

Texts that a viewer may not see are not searched for that viewer: each hit would confirm a guess.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, timedelta
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Final

from django.core.exceptions import ValidationError
from django.db.models import Case, Q, QuerySet, When
from django.utils.translation import gettext as _

from checkout_integration.admin.site.filters import midnight
from checkout_integration.admin.site.large_tables import keys_of, of_account, within
from checkout_integration.admin.site.values import short
from checkout_integration.models import Order
from checkout_integration.policy.amounts import fits_column

SHORTEST_PREFIX: Final = 4
LAST4: Final = re.compile(r"[0-9]{4}", re.ASCII)
BEFORE_ID: Final = re.compile(r"TXN[\s:#]+", re.IGNORECASE)
"""What receipts and bank statements write before a transaction."""
MOST_PARTS: Final = 8
"""Parts of a pasted address that are looked up; that of a receipt has the ids of order and receipt."""


AMOUNT_AS_WRITTEN: Final = re.compile(r"[0-9][0-9.,]*", re.ASCII)
AMOUNT: Final = re.compile(r"[0-9]{1,14}(\.[0-9]{1,4})?", re.ASCII)
GROUPED: Final = re.compile(r"[0-9]{1,3}(\.[0-9]{3})+", re.ASCII)
CURRENCY: Final = re.compile(r"[A-Za-z]{3}", re.ASCII)
CURRENCY_BESIDE: Final = re.compile(r"^[A-Za-z]{3}\s|\s[A-Za-z]{3}$")
"""An amount is copied with its currency; the filter has a field for that."""
FIRST_YEAR, LAST_YEAR = 1970, 9999
"""No day of an order is outside; databases know no moments much before and after."""
DAYS: Final = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y")


def find_orders(orders: QuerySet[Order], text: str, *, sees_personal_data: bool) -> QuerySet[Order]:
    """Return the orders of a text, those first that it names in full: other texts may begin with it."""
    text = BEFORE_ID.sub("", text.strip(), count=1)
    if not text:
        return orders
    if "\0" in text:  # PostgreSQL refuses to look for it
        return orders.none()
    if sees_personal_data and (condition := _of_payment(text.split())) is not None:
        return orders.filter(condition)
    texts = _parts(text)
    exact = [each for part in texts for each in _exact(part, sees_personal_data=sees_personal_data)]
    if len(text) < SHORTEST_PREFIX or len(texts) > 1:
        return within(orders, exact)
    named = keys_of(orders, exact)
    begun = keys_of(orders, list(_prefixes(text, sees_personal_data=sees_personal_data)))
    found = orders.filter(Q(pk__in=named) | Q(pk__in=begun))
    if not named or not isinstance(named, list):
        return found
    return found.order_by(Case(When(pk__in=named, then=0), default=1), *orders.query.order_by)


def _of_payment(words: Sequence[str]) -> Q | None:
    """Return the condition of what a customer says of a payment, such as "4242 2026-11-25 9.99 USD"; None for other texts.

    It needs the card's last four digits or a day, which an index finds, and one thing more.
    """
    found: dict[str, Q] = {}
    card = _place_of_card(words)
    for place, word in enumerate(words):
        if place == card:
            found["card"] = Q(personal_data__last4=word)
        elif (day := _day(word)) is not None:
            found["day"] = Q(ordered_at__gte=midnight(day), ordered_at__lt=midnight(day + timedelta(days=1)))
        elif AMOUNT_AS_WRITTEN.fullmatch(word):
            found["amount"] = of_amount(word)
        elif CURRENCY.fullmatch(word):
            found["currency"] = Q(currency=word.upper())
        else:
            return None
    is_whole = 1 < len(found) == len(words) and not found.keys().isdisjoint({"card", "day"})
    return reduce(and_, found.values()) if is_whole else None


def _place_of_card(words: Sequence[str]) -> int | None:
    """Return which word is the card's last four digits; beside a currency they are an amount, if something else is known."""
    places = [place for place, word in enumerate(words) if LAST4.fullmatch(word)]
    currencies = {place for place, word in enumerate(words) if CURRENCY.fullmatch(word)}
    apart = [place for place in places if not currencies & {place - 1, place + 1}]
    if apart or any(map(_day, words)):
        return next(iter(apart), None)
    return next(iter(places), None)


def _day(word: str) -> date | None:
    for format_ in DAYS:
        with suppress(ValueError):
            day = date(*time.strptime(word, format_)[:3])
            return day if FIRST_YEAR <= day.year < LAST_YEAR else None
    return None


def of_amount(text: str) -> Q:
    """Return the condition of an amount as people write it: 9.99, 9,99, 1,500, 1.500,00; what may be two, is both."""
    text = CURRENCY_BESIDE.sub("", text)
    if not AMOUNT_AS_WRITTEN.fullmatch(text):
        raise ValidationError(_("“%(text)s” is no amount: write 9.99 or 9,99.") % {"text": short(text)})
    written = {text.replace(",", ""), text.replace(".", "" if "," in text else ".").replace(",", ".")}
    if GROUPED.fullmatch(text):
        written.add(text.replace(".", ""))
    amounts = [Decimal(each) for each in written if AMOUNT.fullmatch(each)]
    return Q(amount__in=[each for each in amounts if fits_column(each)])


def _parts(text: str) -> list[str]:
    """Return the ids that may be in a pasted address; any other text as it is."""
    if "://" not in text:
        return [text]
    return [text, *(each for each in re.split(r"[/?&=#]+", text)[2:] if len(each) >= SHORTEST_PREFIX)][
        :MOST_PARTS
    ]


IDS: Final = ("order_id", "transaction", "receipt_number", "user__external_id", "checkout__reference")
"""Columns of which a text may be the beginning."""


def _exact(text: str, *, sees_personal_data: bool) -> Iterator[Q]:
    yield from (Q((name, text)) for name in (*IDS, "user__user_id", "refunds__document_id"))
    if not sees_personal_data:  # the last four digits are ten thousand guesses
        return
    yield Q(items__code=text)
    yield from of_account(text, "checkout__user", "checkout__recipient")
    if "@" in text:
        yield Q(personal_data__email=text.lower())
    if LAST4.fullmatch(text):
        yield Q(personal_data__last4=text)


def _prefixes(text: str, *, sees_personal_data: bool) -> Iterator[Q]:
    yield from (Q((f"{name}__startswith", text)) for name in IDS)
    if sees_personal_data:
        yield Q(items__code__startswith=text)
        yield Q(personal_data__email__startswith=text.lower())
