"""The addresses of the admin: each list, filter, search and page of a row, found from what the screens declare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from django.contrib import admin
from django.test import RequestFactory
from django.urls import NoReverseMatch, reverse
from django.utils.timezone import get_default_timezone

from benchmarks.many_rows import copied_models
from checkout_integration.admin.site.read_only import ReadOnlyAdmin
from checkout_integration.models import Order

PERIODS: Final = {"month": 30, "quarter": 91, "year": 364}
"""Days of the page about money, by the names of their figures."""
NOTHING: Final = "no-such-text"
TYPED: Final = {
    "origin": ("newsletter", "spring", "rare.example.com", "shop.example.com", NOTHING),
    "person": ("deploy", NOTHING),
}
"""What staff type into fields that look into several columns."""
OF_ORDERS: Final = (
    *("order_id", "transaction", "receipt_number", "user__external_id", "checkout__reference"),
    *("personal_data__email", "personal_data__last4"),
)
"""What the search box of orders finds."""
BEGINNING: Final = 12
"""Characters of the beginning of a text that is searched for."""
COPIED: Final = 200
"""The place of a row that is none of the first ones."""


def pages(viewer: Any) -> dict[str, list[str]]:
    """Return the addresses of each kind of page, as this user sees them."""
    found: dict[str, list[str]] = {"lists": [], "filters": [], "searches": [], "rows": []}
    for model in copied_models():
        if not admin.site.is_registered(model):
            continue
        screen = admin.site.get_model_admin(model)
        assert isinstance(screen, ReadOnlyAdmin)
        address = reverse(f"admin:checkout_integration_{model._meta.model_name}_changelist")
        found["lists"] += [address, *([f"{address}?p=10"] if _has_ten_pages(screen) else [])]
        found["filters"] += [address + query for query in _filters(screen, address, viewer)]
        found["searches"] += [f"{address}?q={text}" for text in _texts(screen)]
        found["rows"] += _some_rows(screen)
    return found


def money(days: int, by: str = "day") -> str:
    """Return the address of the page about money, of so many days until today, in rows of this kind."""
    address = reverse("admin:checkout_integration_money_changelist")
    today = datetime.now(get_default_timezone()).date()
    return f"{address}?first={today - timedelta(days=days)}&last={today}&by={by}"


def _filters(screen: ReadOnlyAdmin, address: str, viewer: Any) -> Iterator[str]:
    request = RequestFactory().get(address)
    request.user = viewer
    changes = screen.get_changelist_instance(request)
    for filtered in changes.filter_specs:
        given: Iterable[Any] = filtered.choices(changes)
        yield from [choice["query_string"] for choice in given if "query_string" in choice][1:]
        yield from (
            f"?{name}={text}" for name, *_ in getattr(filtered, "inputs", ()) for text in _typed(name)
        )


def _typed(name: str) -> Iterable[str]:
    """Return what staff type into a field of a filter: what a row has, and what none has."""
    if name.endswith("_day"):
        return [str(datetime.now(get_default_timezone()).date() - timedelta(days=7))]
    if name in TYPED:
        return TYPED[name]
    column = {"method": "method_type", "sku": "items__sku"}.get(name, name)
    known = Order.objects.order_by("pk").exclude(**{f"{column}__isnull": True}).values_list(column, flat=True)
    return [quote(str(known[place])) for place in (0, COPIED)] + ["0.07" if name == "amount" else "XX"]


def _texts(screen: ReadOnlyAdmin) -> Iterable[str]:
    """Return texts that the list's search box finds as a whole, by their beginnings, and not at all."""
    if not screen.search_fields:
        return []
    rows = screen.model._default_manager.order_by("pk")
    columns = OF_ORDERS if screen.model is Order else map(str, screen.search_fields)
    found = rows[COPIED:].values_list(*columns).first() or ()
    whole = [text for text in found if text]
    return [*whole, *(text[:BEGINNING] for text in whole if len(text) > BEGINNING), NOTHING]


def _has_ten_pages(screen: ReadOnlyAdmin) -> bool:
    most = 10 * screen.list_per_page
    count: int = screen.model._default_manager.all()[: most + 1].count()
    return count > most


def _some_rows(screen: ReadOnlyAdmin) -> list[str]:
    """Return the pages of the first rows, of which some are rare, and of one that was copied."""
    keys = screen.model._default_manager.order_by("pk").values_list("pk", flat=True)
    name = f"admin:checkout_integration_{screen.opts.model_name}_change"
    try:
        return [reverse(name, args=[key]) for key in [*keys[:30:6], *keys[COPIED : COPIED + 1]]]
    except NoReverseMatch:  # a screen that is a list only
        return []
