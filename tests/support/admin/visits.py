"""Every address of the admin's screens, from the registered site: a new screen is among them without being named here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.urls import URLPattern

APP = "/admin/checkout_integration/"
REFUSED = ("add", "delete")
"""Pages of Django that nobody may open: rows come from the service, and stay."""
FILES = ("csv", "evidence")
"""Addresses that send a file."""


def screens() -> dict[str, ModelAdmin[Any]]:
    """Every screen of the app, by the name of its model."""
    return {
        str(model._meta.model_name): screen
        for model, screen in sorted(admin.site._registry.items(), key=lambda item: item[0].__name__)
        if model._meta.app_label == "checkout_integration"
    }


def pages_of(screen: str) -> Iterator[tuple[str, bool]]:
    """The pages of a screen, by name, and whether each is of a row. Files are left out, and what is refused."""
    begin = f"checkout_integration_{screen}_"
    for address in screens()[screen].get_urls():
        assert isinstance(address, URLPattern)
        name = (address.name or "").removeprefix(begin)
        if address.name and name not in (*REFUSED, *FILES):
            yield name, "object_id" in str(address.pattern)


def address_of(screen: str, page: str, key: object = None) -> str:
    """The address of a page of a screen; of a row's page with its key."""
    if page == "changelist":
        return f"{APP}{screen}/"
    return f"{APP}{screen}/{key}/{page}/"
