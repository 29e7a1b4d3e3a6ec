"""The index leaves out what another list links to; nothing is out of reach."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.support.admin import rows
from tests.support.admin.visits import APP

pytestmark = pytest.mark.django_db
LINKED = [
    ("refund", "order"),
    ("staffact", "checkoutuser"),
    ("outboxmessage", "receiverrun"),
    ("syncrun", "syncdifference"),
    ("installation", "order"),
]


def entries(client: Client) -> str:
    """The list of the app's screens on its page of the index."""
    return client.get(APP).content.decode().partition('class="app-checkout_integration module')[2]


@pytest.mark.parametrize(("screen", "place"), LINKED)
def test_a_list_links_to_what_the_index_leaves_out(admin_client: Client, screen: str, place: str) -> None:
    """Its address is as before."""
    assert f'href="{APP}{screen}/"' not in entries(admin_client)
    assert f'href="{APP}{place}/"' in entries(admin_client)
    assert f'href="{APP}{screen}/"' in admin_client.get(f"{APP}{place}/").content.decode()
    assert admin_client.get(f"{APP}{screen}/").status_code == 200


@pytest.mark.parametrize(("screen", "place"), LINKED)
def test_a_link_needs_the_permission(client: Client, screen: str, place: str) -> None:
    """To see the rows that it leads to."""
    client.force_login(rows.make_staff(f"view_{place}"))
    assert f'href="{APP}{screen}/"' not in client.get(f"{APP}{place}/").content.decode()


@pytest.mark.parametrize("screen", [screen for screen, _place in LINKED])
def test_who_may_not_see_the_other_list_finds_it_in_the_index(client: Client, screen: str) -> None:
    """There would be no link to it."""
    client.force_login(rows.make_staff("view_health" if screen == "installation" else f"view_{screen}"))
    assert f'href="{APP}{screen}/"' in entries(client)
