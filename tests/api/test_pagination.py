"""Pages of a list, compared with a list written by hand."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from checkout_integration.api import pagination
from checkout_integration.models import Checkout
from checkout_integration.testing.factories import CheckoutFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def _five(buyer: User, stranger: User) -> None:
    """Checkouts a (oldest) to e, and one of another account between them."""
    for name in "abcde":
        CheckoutFactory(user=buyer, reference=name, order_id=name)
        CheckoutFactory(user=stranger, reference=f"not-{name}")


def page(api: APIClient, **query: Any) -> tuple[str, bool, bool, int]:
    """References, has_more, has_before and total_count of a page."""
    answer = api.get("/api/checkouts/", query)
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert body["object"] == "list"
    names = "".join(row["reference"] for row in body["data"])
    return names, body["has_more"], body["has_before"], body["total_count"]


@pytest.mark.usefixtures("_five")
@pytest.mark.spec("EP4-01", "EP4-02", "EP4-03", "EP4-04", "LST-01", "LST-02", "LST-03", "LST-04", "LST-05")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ("edcba", False, False, 5)),
        ({"limit": 2}, ("ed", True, False, 5)),
        ({"limit": 2, "starting_after": "e"}, ("dc", True, True, 5)),
        ({"limit": 2, "starting_after": "d"}, ("cb", True, True, 5)),
        ({"limit": 2, "starting_after": "b"}, ("a", False, True, 5)),
        ({"limit": 2, "starting_after": "c"}, ("ba", False, True, 5)),
        ({"limit": 2, "starting_after": "a"}, ("", False, True, 5)),
        ({"limit": 2, "ending_before": "a"}, ("cb", True, True, 5)),
        ({"limit": 2, "ending_before": "b"}, ("dc", True, True, 5)),
        ({"limit": 2, "ending_before": "c"}, ("ed", True, False, 5)),
        ({"limit": 2, "ending_before": "d"}, ("e", True, False, 5)),
        ({"limit": 2, "ending_before": "e"}, ("", True, False, 5)),
        ({"limit": 1}, ("e", True, False, 5)),
        ({"limit": 5}, ("edcba", False, False, 5)),
        ({"limit": 100}, ("edcba", False, False, 5)),
    ],
)
def test_pages_in_both_directions(
    api: APIClient, query: dict[str, Any], expected: tuple[str, bool, bool, int]
) -> None:
    """The latest first; the row of the cursor itself is on neither page."""
    assert page(api, **query) == expected


@pytest.mark.usefixtures("_five")
def test_a_new_row_shifts_no_page(api: APIClient, buyer: User) -> None:
    """Which offsets would do."""
    first = page(api, limit=2)[0]
    CheckoutFactory(user=buyer, reference="f")
    assert page(api, limit=2, starting_after=first[-1])[0] == "cb"


@pytest.mark.spec("LST-03", "LST-04", "LST-05")
@pytest.mark.usefixtures("_five")
def test_pages_of_a_filter(api: APIClient) -> None:
    """Count and flags are those of the filtered list, also where the cursor's own status has left it since."""
    Checkout.objects.filter(reference__in="bd").update(status="failed")
    assert page(api, status="open", limit=2) == ("ec", True, False, 3)
    assert page(api, status="open", limit=2, starting_after="d") == ("ca", False, True, 3)
    assert page(api, status="failed", starting_after="e") == ("db", False, False, 2)
    assert page(api, status="failed", ending_before="a") == ("db", False, False, 2)
    assert api.get("/api/checkouts/?status=open&status=failed").json()["total_count"] == 5


@pytest.mark.spec("LST-02", "LST-03", "LST-04", "LST-05", "EP4-04")
def test_an_empty_list(api: APIClient) -> None:
    """Begins and ends."""
    assert page(api) == ("", False, False, 0)


@pytest.mark.spec("LST-05")
@pytest.mark.usefixtures("_five")
def test_the_count_ends_somewhere(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is exact up to a bound, which means "or more"."""
    monkeypatch.setattr(pagination, "MOST_COUNTED", 3)
    assert page(api, limit=1) == ("e", True, False, 3)


@pytest.mark.spec("EP4-01", "LIM-01")
def test_a_page_may_have_a_hundred_rows(api: APIClient, buyer: User) -> None:
    """As many as are requested, up to the most that the specification allows."""
    for _ in range(101):
        CheckoutFactory(user=buyer)
    for limit in (21, 100):
        assert len(api.get("/api/checkouts/", {"limit": limit}).json()["data"]) == limit


@pytest.mark.usefixtures("_five")
@pytest.mark.spec("LIM-01", "EP4-01")
@pytest.mark.parametrize(
    "limit", ["0", "101", "-1", "1.5", "", " 5", "+5", "1e1", "\u0665", "9" * 5000, "five"]
)
def test_a_limit_outside_one_to_a_hundred_is_refused(api: APIClient, limit: str) -> None:
    """The error names the field."""
    answer = api.get("/api/checkouts/", {"limit": limit})
    assert answer.status_code == 400
    assert answer.json()["details"] == "limit: Use a whole number from 1 to 100."


@pytest.mark.spec("EP4-02", "EP4-03")
@pytest.mark.usefixtures("_five")
@pytest.mark.parametrize("parameter", ["starting_after", "ending_before"])
@pytest.mark.parametrize("cursor", ["not-c", "unknown", "", "%", "' OR 1=1 --", "1"])
def test_an_unknown_cursor_is_refused(api: APIClient, parameter: str, cursor: str) -> None:
    """The cursor of another account's row is refused like an unknown one."""
    answer = api.get("/api/checkouts/", {parameter: cursor})
    assert answer.status_code == 400
    assert answer.json()["details"] == f"{parameter}: There is no such object."


@pytest.mark.spec("EP4-02", "EP4-03")
@pytest.mark.usefixtures("_five")
def test_two_cursors_are_refused(api: APIClient) -> None:
    """The specification does not say what they would mean."""
    assert api.get("/api/checkouts/", {"starting_after": "e", "ending_before": "a"}).status_code == 400
