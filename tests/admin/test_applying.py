"""Applying notifications that failed or are quarantined: by a button, and several by an action of the list."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from checkout_integration.models import Incident, Notification, Order, StaffAct
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.admin import rows
from tests.support.admin.screens import page_address
from tests.support.flows.shop import ShopHooks, notification

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/admin/checkout_integration/notification/"
PERMISSIONS = ("view_notification", "apply_notification")


def button(row: Notification) -> str:
    """The address of the button."""
    return page_address("notification", row).replace("/change/", "/apply/")


def test_the_button_does_what_its_page_said(
    client: Client, checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """After a fixed bug in the shop's hook the page shows a preview, a POST applies, and the incident is resolved."""

    def fail(order: object) -> Any:
        raise LookupError("canary-words")

    hooks.resolve = staticmethod(fail)
    checkout_deliver(notification(order=OrderDocumentFactory(id="order-1")))
    hooks.resolve = staticmethod(lambda order: None)
    staff = rows.make_staff(*PERMISSIONS)
    client.force_login(staff)
    row = Notification.objects.get()
    confirmation = client.get(button(row)).content.decode()
    for words in ("What would change", "order-1: not known → paid", "not checked → in review (no checkout)"):
        assert words in confirmation
    assert not Order.objects.exists()
    page = client.post(button(row), follow=True).content.decode()
    assert "Applied. order order-1: not known → paid" in page
    assert (Order.objects.get().status, Order.objects.get().verdict) == ("processed", "review")
    assert Incident.objects.get(kind="not_applied").staff == staff
    act = StaffAct.objects.get()
    assert (act.act, act.staff, act.order, act.notification) == ("apply", staff, Order.objects.get(), row)


@pytest.mark.parametrize("state", ["stored", "failed", "quarantined"])
def test_only_what_waits_is_offered(client: Client, state: str) -> None:
    """And only with the permission."""
    waiting, applied = rows.make_waiting_notification(state), rows.make_notification("order-2")
    client.force_login(rows.make_staff(*PERMISSIONS))
    pages = [client.get(page_address("notification", each)).content.decode() for each in (waiting, applied)]
    assert ["/apply/" in page for page in pages] == [True, False]
    client.force_login(rows.make_staff("view_notification", name="looks"))
    assert "/apply/" not in client.get(page_address("notification", waiting)).content.decode()
    assert client.post(button(waiting)).status_code == 403


def test_what_fails_again_is_said_with_its_place(client: Client, hooks: type[ShopHooks]) -> None:
    """On the confirmation page, and after the POST."""

    def fail(order: object) -> Any:
        raise LookupError("canary-words")

    hooks.resolve = staticmethod(fail)
    row = rows.make_waiting_notification()
    client.force_login(rows.make_staff(*PERMISSIONS))
    pages = [client.get(button(row)), client.post(button(row), follow=True)]
    texts = [page.content.decode().replace("<wbr>", "") for page in pages]
    assert ["LookupError in test_what_fails_again" in text for text in texts] == [True, True]
    assert not StaffAct.objects.exists()
    row.refresh_from_db()
    assert row.state == "failed"


def test_an_action_applies_several_after_a_preview(client: Client) -> None:
    """The list's action; notifications that do not wait are left out."""
    waiting = [rows.make_waiting_notification(state) for state in ("failed", "quarantined")]
    applied = rows.make_notification("a-settled-one")
    client.force_login(rows.make_staff(*PERMISSIONS))
    chosen = {"action": "apply_selected", "_selected_action": [each.pk for each in (*waiting, applied)]}
    confirmation = client.post(LIST, chosen).content.decode()
    assert [each.object_id in confirmation for each in (*waiting, applied)] == [True, True, False]
    assert not Order.objects.exists()
    page = client.post(LIST, {**chosen, "confirmed": "yes"}, follow=True).content.decode()
    assert page.count("Applied. order order-") == 2
    assert set(Notification.objects.values_list("state", flat=True)) == {"applied"}
    assert list(StaffAct.objects.values_list("act", flat=True)) == ["apply", "apply"]


def test_nothing_that_waits_is_said(client: Client) -> None:
    """Instead of an empty page."""
    row = rows.make_notification("order-1")
    client.force_login(rows.make_staff(*PERMISSIONS))
    page = client.post(LIST, {"action": "apply_selected", "_selected_action": [row.pk]}, follow=True)
    assert "there is nothing to do for the selected rows" in page.content.decode()


def test_a_notification_that_is_dated_ahead_says_so(admin_client: Client, checkout_deliver: Deliver) -> None:
    """It came before the time that it has; and where it cannot be applied, the message says what to do."""
    ahead = (datetime.now(UTC) + timedelta(days=3)).isoformat()
    checkout_deliver({**notification(order=OrderDocumentFactory(id="order-1")), "created_at": ahead})
    row = Notification.objects.get()
    assert (
        "before the time that it has" in admin_client.get(page_address("notification", row)).content.decode()
    )
    answer = admin_client.post(button(row), {"confirmed": "yes"}).content.decode()
    assert "Search for its order, and ask the service" in answer
