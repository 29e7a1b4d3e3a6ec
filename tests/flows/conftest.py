"""Fixtures of the shop, for every test below this folder and for those of views, commands and tasks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections

from checkout_integration.flows.database import installation
from checkout_integration.flows.monitoring import webhook as refusals
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
def _nothing_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget refused requests that this process has counted; those of the next minute are only counted in memory."""
    monkeypatch.setattr(refusals.ThisProcess, "counts", Counter())
    monkeypatch.setattr(refusals.ThisProcess, "written_at", time.monotonic())


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
