"""Fixtures of the shop, for every test below this folder and for those of views, commands and tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connections

from checkout_integration.flows.database import installation
from checkout_integration.flows.monitoring import refusals
from checkout_integration.flows.operations import draining
from tests.support.flows.shop import Listening, ShopHooks


@pytest.fixture
def listen() -> Iterator[Listening]:
    """Connect receivers that are disconnected at the end."""
    listening = Listening()
    yield listening
    listening.end()


@pytest.fixture
def hooks(settings: Any, monkeypatch: pytest.MonkeyPatch) -> type[ShopHooks]:
    """Give the class of the setting HOOKS; a test sets its results with ``monkeypatch`` or directly."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "HOOKS": "tests.support.flows.shop.ShopHooks",
    }
    for name in ("user", "resolve", "find"):
        monkeypatch.setattr(
            ShopHooks, name, staticmethod(getattr(ShopHooks, name))
        )  # taken back after the test
    return ShopHooks


@pytest.fixture(autouse=True)
def _not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget which projects this process has seen installed: each test has tables of its own."""
    monkeypatch.setattr(installation, "known_projects", set())


@pytest.fixture(autouse=True)
def _not_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget when this process has found that nothing was left behind."""
    monkeypatch.setattr(draining.ThisProcess, "looks_again_at", 0.0)


@pytest.fixture(autouse=True)
def _nothing_refused(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget refused requests, and failures of the cache that counts them."""
    monkeypatch.setattr(refusals.ThisProcess, "resting_until", 0.0)
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def database_away(settings: Any) -> Iterator[None]:
    """Store the state in a database that does not respond."""
    connections.databases["nowhere"] = {
        **connections.databases["default"],
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": "/nonexistent/folder/database.sqlite3",
        "OPTIONS": {},
    }
    connections["nowhere"].alias = "away"  # Django's tests let only databases of unknown names be opened
    settings.DATABASE_ROUTERS = ["tests.support.flows.shop.ToNowhere"]
    yield
    connections["nowhere"].close()
    del connections["nowhere"]
    del connections.databases["nowhere"]
