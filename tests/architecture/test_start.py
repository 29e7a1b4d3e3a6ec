"""What starts with every command of a shop is small: a process that calls nobody has no HTTP client."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("requests", "urllib3", "celery", "werkzeug", "jinja2", "yaml", "factory", "rest_framework")
STARTED = f"""
import sys
import types
import django
from django.conf import settings
from django.urls import include, path
addresses = types.ModuleType("addresses")
settings.configure(
    INSTALLED_APPS=[
        "django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions", "django.contrib.messages",
        "django.contrib.admin", "checkout_integration",
    ],
    DATABASES={{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}}},
    ROOT_URLCONF=addresses,
)
django.setup()
from django.contrib import admin
addresses.urlpatterns = [path("admin/", admin.site.urls), path("checkout/", include("checkout_integration.urls"))]
from django.core.checks import run_checks
run_checks()
print(sorted(set(sys.modules) & set({HEAVY!r})))
"""


def test_a_check_imports_nothing_that_only_calls_need() -> None:
    """With the addresses and the admin loaded, as in a web process before its first call."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", STARTED], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stdout + done.stderr
