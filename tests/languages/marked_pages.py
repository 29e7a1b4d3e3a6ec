"""Pages in the language that marks translated texts, and the data that they may have outside the marks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.contrib.auth.models import User
from django.db.models import Model
from django.test import Client

from checkout_integration.flows.sync import LANES
from checkout_integration.protocol.vocabulary import Event
from checkout_integration.signals import SIGNALS
from tests.languages.pseudo import marked_texts, unmarked_words

ADMIN = "/admin/checkout_integration/"
CODES = {*SIGNALS, *Event, *LANES, "default", "checkout_reference", "UTC", "…"}
"""Words of programs, which no language translates, and the mark of a text that was cut."""
OF_DJANGO = {"Search"}
"""What Django's own templates do not translate: the name of an image."""
STORED = {"the notification has no id"}
"""Reasons that are stored with a notification, as a log has them (docs/languages.md)."""


def unmarked_on(client: Client, address: str, posted: dict[str, Any] | None = None) -> list[str]:
    """Return the words of a page, or of the one that a form leads to, that are neither translated nor data."""
    with marked_texts():
        response = client.get(address) if posted is None else client.post(address, posted, follow=True)
    assert response.status_code == 200, address
    return unmarked_in(response.content.decode())


def unmarked_in(html: str) -> list[str]:
    """Return the words of a page that are neither translated nor data."""
    return unmarked_words(html, {*_texts_of_rows(), *CODES, *OF_DJANGO, *STORED})


def _texts_of_rows() -> Iterator[str]:
    """Yield the texts of all rows; not their states, which are shown by labels."""
    models: list[type[Model]] = [*apps.get_app_config("checkout_integration").get_models(), User]
    for model in models:
        for row in model._default_manager.all():
            yield str(row)
            for field in row._meta.concrete_fields:
                if not field.choices:
                    yield from _texts_in(getattr(row, field.attname))


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from _texts_in(each)
    elif isinstance(value, str) and value:
        yield value
