"""Who may do what: each cell of the table is requested, and the table has everything that can be requested."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User

from checkout_integration.signals import checkout_paid
from tests.support.admin import rows
from tests.support.admin.requests import FORM_TOKEN, PlannedRequest, all_requests, request_for
from tests.support.admin.rights import FIRST_LEVEL, PEOPLE, RIGHTS, Right
from tests.support.documents import ROOT
from tests.support.flows.shop import Listening
from tests.support.tables import rows_of_all_tables

pytestmark = pytest.mark.django_db
PERSONAL = [word for word in (*rows.PERSONAL_TEXTS, FORM_TOKEN) if len(word) > 5]
"""Not the shortest ones, which a key or a time may contain."""
CALLING = ("order_check", "check_selected", "POST checkout-list")
"""Parts of the names of lines that call the service."""
LOGGED = ("order_csv", "order_evidence")
"""Downloads of personal data, which are in Django's log."""
PRESSED = [right for right in RIGHTS if right.method == "POST" and right.cells["stranger"] == "log-in"]
WITH_PERMISSIONS = [right for right in RIGHTS if right.permissions]


@pytest.fixture(autouse=True)
def _everything_included(request: pytest.FixtureRequest, settings: Any) -> Iterator[None]:
    """The shop's addresses, a hook that sells, the service where a line calls it, and a receiver where all has to be well."""
    if any(name in request.node.name for name in CALLING):
        request.getfixturevalue("checkout_sandbox")
    listening = Listening()
    if "GET health" in request.node.name:
        listening(checkout_paid)
    settings.ROOT_URLCONF = "tests.admin.urls"
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "HOOKS": "tests.support.admin.requests.Shop",
    }
    yield
    listening.end()


def tables() -> dict[str, list[str]]:
    """All rows but those of sessions, which each log-in changes."""
    return {name: found for name, found in rows_of_all_tables().items() if name != "django_session"}


def ask(right: Right, user: User | None) -> tuple[Any, str, bool]:
    """The response to an account, its text, and whether it changed a row of any table."""
    request = request_for(right, user)
    User.objects.update(last_login=None)
    before = tables()
    response = request.send(right.method, user)
    body = b"".join(response.streaming_content) if response.streaming else response.content
    User.objects.update(last_login=None)
    return response, body.decode("utf-8", "replace"), tables() != before


def outcome(right: Right, user: User | None) -> tuple[str, str]:
    """What an account gets, in a word of the table, and the text of the response."""
    response, text, changed = ask(right, user)
    status = response.status_code
    if status == 302 and response["Location"].startswith("/admin/login/"):
        return "log-in", text
    if right.method == "POST" and changed and status in (200, 201, 302):
        return "yes", text
    assert not changed or right.name in LOGGED, f"{right} changed something: {status}"
    if right.is_action and status in (200, 302):
        return "ignored", text
    if right.method == "GET" and status in (200, 302):
        return ("yes" if status == 200 else "leads"), text
    return {403: "no", 404: "none"}.get(status, str(status)), text


@pytest.mark.parametrize("right", RIGHTS, ids=str)
def test_each_gets_what_the_table_says(right: Right) -> None:
    """A refusal changes nothing, and what is masked is nowhere in the response."""
    found = {}
    shown: dict[str, list[str]] = {}
    for person, make in PEOPLE.items():
        found[person], text = outcome(right, make())
        shown[person] = [word for word in PERSONAL if word in text]
    assert found == {person: cell.replace("masked", "yes") for person, cell in right.cells.items()}
    assert shown["masked"] == []
    assert bool(shown["support"]) == (right.cells["masked"] == "masked")


def test_the_table_has_everything_that_can_be_requested() -> None:
    """A page, button, action or operation that is added later needs a line."""
    listed = {str(right) if right.is_action else f"{right.method} {right.name}" for right in RIGHTS}
    assert listed == set(all_requests())


@pytest.mark.parametrize("right", WITH_PERMISSIONS, ids=str)
def test_its_permissions_are_enough_and_each_is_needed(right: Right) -> None:
    """Staff with these alone get it; staff with all permissions of the app but one of these do not."""
    assert right.permissions is not None
    assert outcome(right, rows.make_staff(*right.permissions, name="enough"))[0] in ("yes", "leads")
    for missing in right.permissions:
        including = missing.replace("view_", "change_")  # to change a table includes to view it
        others = [name for name in all_permissions() if name not in (missing, including)]
        found, _text = outcome(right, rows.make_staff(*others, name=f"without {missing}"))
        assert found == ("ignored" if right.is_action and not missing.startswith("view_") else "no"), missing


@pytest.mark.parametrize("right", PRESSED, ids=str)
def test_a_button_is_shown_to_those_who_may_press_it(right: Right) -> None:
    """On the page of the row; an action in its list."""
    for person, cell in right.cells.items():
        user = PEOPLE[person]()
        request = request_for(right, user)
        word = right.case if right.is_action else request.address
        page = request.address if right.is_action else request.address.rsplit("/", 2)[0] + "/change/"
        response = PlannedRequest(address=page).send("GET", user)
        assert (word in response.content.decode()) == (cell == "yes"), person


def all_permissions() -> list[str]:
    """The codenames of all permissions of the app."""
    ours = Permission.objects.filter(content_type__app_label="checkout_integration")
    return list(ours.values_list("codename", flat=True))


def test_support_has_the_permissions_that_its_page_names() -> None:
    """The sentence of docs/support-desk.md."""
    text = (ROOT / "docs" / "support-desk.md").read_text(encoding="utf-8")
    sentence = re.search(r"A group of first-level support needs (.*?);", text, re.DOTALL)
    assert sentence is not None
    assert tuple(re.findall(r"`(\w+)`", sentence[1])) == FIRST_LEVEL
