"""What both runners of tests change around a test: the settings, and the clock that waits follow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import TestCase

from django.conf import settings
from django.test import override_settings

from checkout_integration.flows.database import DatabaseClock


class CaseSettings:
    """The settings as pytest-django's fixture gives them, for a `TestCase`: they are as before after the test."""

    def __init__(self, case: TestCase) -> None:
        self._case = case

    @property
    def CHECKOUT_INTEGRATION(self) -> dict[str, Any]:  # noqa: N802  # the setting's own name
        """The app's settings."""
        written: dict[str, Any] = settings.CHECKOUT_INTEGRATION
        return written

    @CHECKOUT_INTEGRATION.setter
    def CHECKOUT_INTEGRATION(self, written: dict[str, Any]) -> None:  # noqa: N802
        self._case.enterContext(override_settings(CHECKOUT_INTEGRATION=written))


@contextmanager
def following_host() -> Iterator[None]:
    """Let all waits follow the clock of this process, so that a test that travels in time moves them."""
    before, DatabaseClock.follows_host = DatabaseClock.follows_host, True
    try:
        yield
    finally:
        DatabaseClock.follows_host = before
