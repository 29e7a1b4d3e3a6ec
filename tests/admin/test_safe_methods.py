"""A link can be put anywhere, and sends no CSRF token: nothing is done but by POST."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from checkout_integration.signals import checkout_paid
from tests.support.admin.requests import request_for
from tests.support.admin.rights import RIGHTS, Right
from tests.support.flows.shop import Listening
from tests.support.tables import rows_of_all_tables

pytestmark = pytest.mark.django_db
TYPED = "?reason=by+phone&text=note&confirmed=yes&index=0&action=check_selected&_selected_action=1"
PAGES = [right for right in RIGHTS if right.method == "GET"]
ACTS = [right for right in RIGHTS if right.method == "POST" and right.cells["stranger"] == "log-in"]
DOWNLOADS = ("order_csv", "order_evidence")
"""They have personal data, and are entries of Django's log."""


@pytest.fixture(autouse=True)
def _everything_included(settings: Any) -> Iterator[None]:
    """The shop's addresses, and a receiver for what is paid: without one the address of health says 503."""
    settings.ROOT_URLCONF = "tests.admin.urls"
    listening = Listening()
    listening(checkout_paid)
    yield
    listening.end()


@pytest.fixture
def owner() -> User:
    """Somebody who may do everything."""
    return User.objects.create_superuser("owner")


def tables(right: Right) -> dict[str, list[str]]:
    """All rows but those that a log-in changes, and the acts of staff where a download is one."""
    left_out = {
        "django_session",
        "auth_user",
        *(["checkout_integration_staffact"] if right.name in DOWNLOADS else []),
    }
    return {name: found for name, found in rows_of_all_tables().items() if name not in left_out}


@pytest.mark.parametrize("query", ["", TYPED], ids=["plain", "typed"])
@pytest.mark.parametrize("right", PAGES, ids=str)
def test_no_address_changes_anything_but_by_post(owner: User, right: Right, query: str) -> None:
    """Every page, button, file, view and operation, for somebody who may do everything, with any query string and body."""
    request = request_for(right, owner)
    before = tables(right)
    for method in ("GET", "HEAD", "OPTIONS", "PUT", "DELETE"):
        response = request.send(method, owner, query=query)
        assert response.status_code < 500, method
        list(response.streaming_content if response.streaming else [])
        assert tables(right) == before, method


@pytest.mark.parametrize("right", ACTS, ids=str)
def test_nothing_is_done_without_the_token(owner: User, right: Right) -> None:
    """A form on another site can send a POST, and not the token: neither a button nor an action of a list acts."""
    request = request_for(right, owner)
    before = tables(right)
    response = request.send("POST", owner, client=Client(enforce_csrf_checks=True))
    assert (response.status_code, tables(right)) == (403, before)
