"""Personal data cannot be guessed without the permission: no address, sort, filter or completion confirms a guess."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.db.models import Field, Model
from django.test import Client

from checkout_integration.admin.site.downloads import CsvAdmin
from checkout_integration.admin.site.read_only import ReadOnlyAdmin
from checkout_integration.models import Order, OrderItem
from tests.support.admin import rows
from tests.support.admin.rights import MASKED
from tests.support.admin.screens import SCREENS, make_row

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
GUESSES = ["ada@buyers.example", "ada@", "4242", "CODE-1234-ABCD", "CODE-"]
DEEPEST = 1


def screen_of(name: str) -> ReadOnlyAdmin:
    """The screen of a table."""
    screen = admin.site._registry[apps.get_model("checkout_integration", name)]
    assert isinstance(screen, ReadOnlyAdmin)
    return screen


def paths(model: type[Model], depth: int = DEEPEST) -> Iterator[str]:
    """The columns that a lookup of a list could name: its own, and those of related rows."""
    for field in model._meta.get_fields():
        related = field.related_model
        if isinstance(field, Field) and not field.is_relation:
            yield field.name
        elif isinstance(related, type) and depth:
            yield from (f"{field.name}__{path}" for path in paths(related, depth - 1))


def masked(client: Client, *more: str) -> Client:
    """A client of support that sees no personal data."""
    client.force_login(rows.make_staff(*MASKED, *more, name="masked"))
    return client


@pytest.mark.parametrize("screen", SCREENS)
def test_a_lookup_in_the_address_is_refused(client: Client, screen: str) -> None:
    """Every column that a list reaches but those that its filters name: on the page and in the file."""
    shown = screen_of(screen)
    chosen: Any = shown.list_filter
    filters = {each[0] if isinstance(each, tuple) else each.parameter_name for each in chosen}
    typed = {name for each in chosen for name, *_ in getattr(each, "inputs", ())}
    masked(client, f"view_{screen}")
    lookups = {path for path in paths(shown.model) if path.partition("__")[0] not in filters}
    assert lookups
    for path in sorted(lookups):
        for page, lookup in (("", f"{path}__startswith"), ("csv/", path)):
            if page and (path in typed or not isinstance(shown, CsvAdmin)):
                continue
            address = f"/admin/checkout_integration/{screen}/{page}"
            assert client.get(address, {lookup: "a"}).status_code == 400, lookup


@pytest.mark.parametrize("screen", SCREENS)
def test_a_list_is_sorted_by_nothing_personal(client: Client, screen: str) -> None:
    """Whatever number of a column is typed: its sequence would tell what stands in it."""
    make_row(screen)
    masked(client, f"view_{screen}")
    shown = screen_of(screen)
    allowed = {"pk", "-pk"} | {
        sign + name for name in (*shown.sortable.values(), "received_at", "recorded_at") for sign in ("", "-")
    }
    for place in (*range(1, 8), -1, -4):
        response = client.get(f"/admin/checkout_integration/{screen}/", {"o": str(place)})
        assert set(response.context["cl"].queryset.query.order_by) <= allowed


@pytest.mark.parametrize("text", GUESSES)
@pytest.mark.parametrize("screen", SCREENS)
def test_no_file_and_no_list_confirms_a_guess(client: Client, screen: str, text: str) -> None:
    """Neither the whole text nor its beginning."""
    make_row(screen)
    masked(client, f"view_{screen}")
    address = f"/admin/checkout_integration/{screen}/"
    assert list(client.get(address, {"q": text}).context["cl"].result_list) == []
    if not isinstance(screen_of(screen), CsvAdmin):
        return
    file = b"".join(client.get(f"{address}csv/", {"q": text}).streaming_content)  # type: ignore[attr-defined]
    assert file.count(b"\n") == 1, "nothing but the header"


def completions() -> Iterator[tuple[str, str]]:
    """The relations whose rows Django's completion can search: those to a screen with a search box."""
    for model in admin.site._registry:
        for field in model._meta.fields:
            if field.related_model in admin.site._registry and field.related_model is not None:
                target = field.related_model._meta
                is_ours = target.app_label == "checkout_integration" and target.model_name in SCREENS
                if is_ours and screen_of(str(target.model_name)).search_fields:
                    yield str(model._meta.model_name), field.name


@pytest.mark.parametrize(("model", "field"), sorted(set(completions())))
def test_no_completion_confirms_a_guess(client: Client, model: str, field: str) -> None:
    """Django's view for it asks the search of the screen, which knows its viewer."""
    order = rows.make_order("order-1", user=rows.make_customer())
    OrderItem.objects.create(order=order, position=0, code="CODE-1234-ABCD")
    requested = {"app_label": "checkout_integration", "model_name": model, "field_name": field}
    masked(client)
    for text in [*GUESSES, "a\0"]:
        response = client.get("/admin/autocomplete/", {**requested, "term": text})
        assert response.status_code == 403 or response.json()["results"] == []
    client.force_login(rows.make_staff(name="staff"))
    assert client.get("/admin/autocomplete/", {**requested, "term": "order-1"}).status_code == 403
    assert Order.objects.count() == 1
