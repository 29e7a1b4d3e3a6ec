"""Settings that the type checker loads: those of the tests, and the example's shop, whose models it has to know too."""

from __future__ import annotations

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "example_project.shop"]
