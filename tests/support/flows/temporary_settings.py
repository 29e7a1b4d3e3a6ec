"""Settings that are taken back before the test ends, for tests that change them thousands of times."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from django.conf import settings
from django.test import override_settings


class Settings:
    """The shop's settings for one run.

    Those of pytest-django are taken back at the end of the test: each change is a layer over all before, and of a thousand
    layers Python reads none.
    """

    def __init__(self, run: ExitStack) -> None:
        self._run = run

    @property
    def CHECKOUT_INTEGRATION(self) -> dict[str, Any]:  # noqa: N802 -- its name in Django's settings
        """As it is now."""
        written: dict[str, Any] = settings.CHECKOUT_INTEGRATION
        return written

    @CHECKOUT_INTEGRATION.setter
    def CHECKOUT_INTEGRATION(self, written: dict[str, Any]) -> None:  # noqa: N802
        self._run.enter_context(override_settings(CHECKOUT_INTEGRATION=written))
