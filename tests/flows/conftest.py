"""Fixtures of the shop, for every test below this folder and for those of views, commands and tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections

from checkout_integration.flows import installation
from tests.flows.shop import Listening, ShopHooks


@pytest.fixture
def listen() -> Iterator[Listening]:
    """Connect receivers that are disconnected at the end."""
    listening = Listening()
    yield listening
    listening.end()


@pytest.fixture
def hooks(settings: Any, monkeypatch: pytest.MonkeyPatch) -> type[ShopHooks]:
    """Give the class that the setting HOOKS names; a test replaces its answers with ``monkeypatch`` or plainly."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "HOOKS": "tests.flows.shop.ShopHooks",
    }
    for name in ("user", "resolve", "find"):
        monkeypatch.setattr(
            ShopHooks, name, staticmethod(getattr(ShopHooks, name))
        )  # taken back after the test
    return ShopHooks


@pytest.fixture(autouse=True)
def _not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget which projects this process has seen installed: each test has tables of its own."""
    monkeypatch.setattr(installation, "_known", set())


@pytest.fixture
def database_away(settings: Any) -> Iterator[None]:
    """State lives in a database that does not answer."""
    connections.databases["nowhere"] = {
        **connections.databases["default"],
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": "/nonexistent/folder/database.sqlite3",
        "OPTIONS": {},
    }
    connections["nowhere"].alias = "away"  # Django's tests let only databases of unknown names be opened
    settings.DATABASE_ROUTERS = ["tests.flows.shop.ToNowhere"]
    yield
    connections["nowhere"].close()
    del connections["nowhere"]
    del connections.databases["nowhere"]
