"""The plug-in for django-health-check: red where health is failing, with sentences that say what to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any

import pytest
from django.template.response import TemplateResponse
from django.test import RequestFactory
from django.urls import resolve

from checkout_integration.flows.operations import health
from tests.flows.conftest import _not_installed, _nothing_refused, database_away
from tests.support.admin import rows
from tests.support.documents import block

__all__ = ["_not_installed", "_nothing_refused", "database_away"]
pytestmark = pytest.mark.django_db


def urls() -> ModuleType:
    """The addresses of the page, as a module of a host."""
    module = ModuleType("urls_of_the_host")
    exec(block("docs/health.md", "# mysite/urls.py, django-health-check"), vars(module))
    return module


async def ask(address: str, accept: str = "text/plain") -> tuple[int, str]:
    """Ask for a page of django-health-check, as text if nothing else is said."""
    request = RequestFactory().get(address, headers={"Accept": accept})
    found = resolve(address, urls())  # type: ignore[arg-type]  # Django takes a module, too
    response = await found.func(request, *found.args, **found.kwargs)
    if isinstance(response, TemplateResponse):
        response.render()
    return response.status_code, response.content.decode()


@pytest.fixture
def checked() -> Any:
    """Give a function that asks, from outside a loop, as a server under WSGI does."""
    from asgiref.sync import async_to_sync

    return async_to_sync(ask)


def test_all_is_well(checked: Any) -> None:
    """200."""
    assert checked("/health/") == (200, "CheckoutHealth(project=None, fail_on='failing'): OK\n")


@pytest.mark.parametrize("accept", ["*/*", "text/html", "application/json"])
def test_all_is_well_for_whatever_asks(checked: Any, settings: Any, accept: str) -> None:
    """A browser, curl, a load balancer, a program: with the page's settings each is answered."""
    host = {"INSTALLED_APPS": [*settings.INSTALLED_APPS]}
    exec(block("docs/health.md", "# mysite/settings.py, django-health-check: the pages have templates"), host)
    settings.INSTALLED_APPS = host["INSTALLED_APPS"]
    assert checked("/health/", accept)[0] == 200


def test_a_warning_is_none_unless_the_host_says_so(checked: Any) -> None:
    """Two addresses of the page."""
    rows.make_incident(None)
    assert checked("/health/")[0] == 200
    status, text = checked("/health/strict/")
    assert (status, "incidents: Open incidents: 1." in text) == (500, True)


def test_what_is_failing_is_named(checked: Any) -> None:
    """With what to do, as health says it."""
    run = rows.make_run(
        rows.make_order(), state="failed", due_at=datetime.now(UTC) - timedelta(minutes=9, seconds=30)
    )
    status, text = checked("/health/")
    (finding,) = [each for each in health().findings if each.name == "receivers_given_up"]
    assert (status, finding.text in text) == (500, True)
    run.delete()
    assert checked("/health/")[0] == 200


def test_a_database_that_is_away_is_named(checked: Any, database_away: None) -> None:
    """And nothing of its error's message."""
    status, text = checked("/health/")
    assert (status, "The database does not respond (OperationalError)" in text) == (500, True)
    assert "nonexistent" not in text
