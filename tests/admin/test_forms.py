"""No form is inside another: a browser drops the inner one, so its button would do something else."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.admin.test_reconciliation import make_difference
from tests.support.admin import rows
from tests.support.admin.nested import nested_forms
from tests.support.admin.offered import OFFERED
from tests.support.admin.screens import SCREENS, make_row
from tests.support.admin.visits import APP, address_of, pages_of, screens

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(admin_client: Client) -> Client:
    """A member of staff who may do everything."""
    return admin_client


def nested(desk: Client, address: str) -> list[str]:
    """The forms of a page that are inside others."""
    response = desk.get(address, follow=True)
    assert response.status_code == 200
    return nested_forms(response.content.decode())


@pytest.mark.parametrize("screen", screens())
def test_a_list_has_no_form_in_its_form(desk: Client, screen: str) -> None:
    """Empty, with rows, and with nothing found."""
    address = address_of(screen, "changelist")
    assert nested(desk, address) == []
    if screen in SCREENS:
        make_row(screen)
    make_difference("order-1")
    for query in ("", "?q=nothing-like-this"):
        assert nested(desk, address + query) == []


PAGES = [(screen, page) for screen in screens() for page, is_of_row in pages_of(screen) if is_of_row]


@pytest.mark.parametrize(("screen", "page"), PAGES)
def test_a_page_of_a_row_has_no_form_in_a_form(desk: Client, screen: str, page: str) -> None:
    """Its page, its history, and each confirmation."""
    row = OFFERED[screen, page]()[0] if (screen, page) in OFFERED else make_row(screen)
    assert nested(desk, address_of(screen, page, row.pk)) == []


def test_other_pages_have_no_form_in_a_form(desk: Client) -> None:
    """The indexes, and what failed."""
    rows.make_run(rows.make_order(), state="failed")
    for address in ("/admin/", APP, f"{APP}failures/"):
        assert nested(desk, address) == []
