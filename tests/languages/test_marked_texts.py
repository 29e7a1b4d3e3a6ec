"""Every text that people see is translated: on pages in a language that marks translated texts, no other words are found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client

from checkout_integration.policy.quarantine import PAYMENT_EVENTS
from checkout_integration.signals import SIGNALS
from tests.languages.pseudo import marked_texts, unmarked_words
from tests.support.admin.screens import SCREENS, make_row, page_address

CODES = {
    *SIGNALS,
    *PAYMENT_EVENTS,
    "user.validate",
    "checkout_reference",
    "recent",
    "open",
    "reversals",
    "all",
    "default",
    "CSV",
    "ISO",
}
"""Words of programs, which no language translates."""
OF_DJANGO = {"Search"}
"""What Django's own templates do not translate: the name of an image."""
ADMIN = "/admin/checkout_integration/"


def texts_of_rows() -> Iterator[str]:
    """The texts of all rows: data, and no text of the app."""
    for model in [*apps.get_app_config("checkout_integration").get_models(), User]:
        for row in model._default_manager.all():
            yield str(row)
            for field in row._meta.concrete_fields:
                if not field.choices:  # a state is shown by its label
                    yield from _texts_in(getattr(row, field.attname))


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from _texts_in(each)
    elif isinstance(value, str) and value:
        yield value


def unmarked_on(client: Client, address: str) -> list[str]:
    """The words of a page that are neither translated nor data."""
    with marked_texts():
        response = client.get(address)
    assert response.status_code == 200
    return unmarked_words(response.content.decode(), [*texts_of_rows(), *CODES, *OF_DJANGO])


@pytest.mark.django_db
@pytest.mark.parametrize("screen", SCREENS)
def test_lists_have_translated_texts_only(admin_client: Client, screen: str) -> None:
    """Headings, filters, states, search help and the number of rows of each list."""
    make_row(screen)
    assert unmarked_on(admin_client, f"{ADMIN}{screen}/") == []


@pytest.mark.django_db
@pytest.mark.parametrize("screen", SCREENS)
def test_pages_of_rows_have_translated_texts_only(admin_client: Client, screen: str) -> None:
    """Labels, states, sentences and buttons on the page of each kind of row."""
    assert unmarked_on(admin_client, page_address(screen, make_row(screen))) == []
