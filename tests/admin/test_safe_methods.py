"""A link can be put anywhere, and sends no CSRF token: nothing is done but by POST."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext

from checkout_integration.admin.site.button_views import ButtonAdmin
from checkout_integration.models import Order
from tests.admin.test_buttons import address, verdict_of
from tests.admin.test_buttons import in_review as in_review  # noqa: PLC0414  # a fixture
from tests.support.admin import rows
from tests.support.admin.screens import SCREENS, make_row, page_address

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "OPTIONS"])
def test_a_button_acts_on_post_alone(admin_client: Client, in_review: Order, method: str) -> None:
    """With any query string, a GET asks, the payment stays in review, and nothing is logged."""
    typed = "reason=paid+by+phone&confirm=on&x=1"
    admin_client.generic(method, f"{address(in_review, 'accept')}?{typed}", typed)
    assert verdict_of(in_review) == "review"
    assert not LogEntry.objects.exists()


TYPED = "reason=by+phone&confirm=on&x=1&action=apply&_selected_action=1"
OFFERED: dict[tuple[str, str], Callable[[], Model]] = {
    ("order", "accept"): lambda: rows.make_order(verdict="review", verdict_reason="unbound"),
    ("order", "bind"): lambda: rows.make_order(verdict="review", verdict_reason="unbound"),
    ("order", "check"): rows.make_order,
    ("order", "note"): rows.make_order,
    ("order", "run"): lambda: rows.make_run(rows.make_order(), state="failed").order or rows.make_order(),
    ("order", "mark-granted"): lambda: rows.make_granting_run(rows.make_order()).order or rows.make_order(),
    ("order", "apply"): lambda: rows.make_order(rows.make_waiting_notification().object_id),
    ("order", "link-account"): lambda: rows.make_order(user=rows.make_customer()),
    ("order", "restore"): lambda: rows.make_order(status="refunded"),
    ("order", "export"): lambda: rows.make_order(user=rows.make_customer()),
    ("order", "erase"): lambda: rows.make_order(user=rows.make_customer()),
    ("checkoutuser", "link-account"): rows.make_customer,
    ("checkoutuser", "export"): rows.make_customer,
    ("checkoutuser", "erase"): rows.make_customer,
    ("incident", "resolve"): lambda: rows.make_incident(rows.make_order()),
    ("notification", "apply"): rows.make_waiting_notification,
    ("receiverrun", "run-again"): lambda: rows.make_run(rows.make_order(), state="failed"),
}
"""A row for each button, in a state in which it is offered."""


def buttons() -> Iterator[tuple[str, str]]:
    """Every button of every screen."""
    for model, screen in admin.site._registry.items():
        if isinstance(screen, ButtonAdmin):
            yield from ((str(model._meta.model_name), each.name) for each in screen.buttons)


def writes(captured: CaptureQueriesContext) -> list[str]:
    """The statements that change anything, but for the session."""
    statements = (query["sql"] for query in captured.captured_queries)
    changing = (
        each for each in statements if each.lstrip("( ").upper().startswith(("INSERT", "UPDATE", "DELETE"))
    )
    return [each for each in changing if "django_session" not in each]


def test_every_button_is_tried_here() -> None:
    """A button that is added later is tried too."""
    assert sorted(buttons()) == sorted(OFFERED)


@pytest.mark.parametrize(("screen", "button"), sorted(OFFERED))
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "OPTIONS"])
def test_no_button_changes_anything_but_by_post(
    admin_client: Client, screen: str, button: str, method: str
) -> None:
    """With any query string and body, the page asks first."""
    row = OFFERED[screen, button]()
    page = page_address(screen, row).replace("/change/", f"/{button}/")
    with CaptureQueriesContext(connection) as captured:
        answer = admin_client.generic(method, f"{page}?{TYPED}", TYPED, "application/x-www-form-urlencoded")
    assert (answer.status_code, writes(captured)) == (200, [])


@pytest.mark.parametrize(("screen", "button"), sorted(OFFERED))
def test_no_button_acts_without_the_token(django_user_model: type[User], screen: str, button: str) -> None:
    """A form on another site can send a POST, and not the token."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(django_user_model.objects.create_superuser("admin"))
    row = OFFERED[screen, button]()
    page = page_address(screen, row).replace("/change/", f"/{button}/")
    with CaptureQueriesContext(connection) as captured:
        assert client.post(f"{page}?{TYPED}", {"reason": "by phone"}).status_code == 403
    assert writes(captured) == []


@pytest.mark.parametrize("screen", SCREENS)
def test_no_page_changes_anything_when_it_is_read(admin_client: Client, screen: str) -> None:
    """Neither a list nor the page of a row."""
    row = make_row(screen)
    with CaptureQueriesContext(connection) as captured:
        admin_client.get(f"/admin/checkout_integration/{screen}/?action=apply&_selected_action={row.pk}")
        admin_client.get(f"{page_address(screen, row)}?{TYPED}")
    assert writes(captured) == []
