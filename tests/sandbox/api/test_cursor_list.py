"""The generic cursor list: limit, both cursors, the envelope, and who may read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from checkout_integration.client import Client, ClientConfig, CursorPage
from checkout_integration.protocol.values import Secret
from checkout_integration.sandbox import SandboxProject
from tests.support.sandbox.service import PROJECT, SECRET, SIMPLE, Service


def request_page(
    service: Service, project: str = PROJECT, secret: str = SECRET, **query: Any
) -> requests.Response:
    """Ask for a page of the list."""
    url = f"{service.url}/api/v1/orders"
    return requests.get(url, params=query, auth=(project, secret), timeout=10)


def page(service: Service, **query: Any) -> dict[str, Any]:
    """Return a page that must be there."""
    answer = request_page(service, **query)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def ids(body: dict[str, Any]) -> list[str]:
    """Return the identifiers on a page."""
    return [element["id"] for element in body["data"]]


@pytest.fixture
def orders(service: Service) -> list[str]:
    """Five orders, oldest first, two of them made in the same moment."""
    made = [service.order_id(), service.order_id()]
    for _ in range(3):
        service.sandbox.clock.advance(1)
        made.append(service.order_id())
    return made


@pytest.mark.spec("ORD-48", "MTH-05", "LST-02", "EP4-04")
def test_its_elements_are_those_of_the_transactions_list(service: Service) -> None:
    """Without the customer's id at the service, and with the handler of the method."""
    service.paid()
    body = page(service)
    assert body["data"] == service.listed().json()["items"]
    assert "id" not in body["data"][0]["user"]
    assert body["data"][0]["method"]["handler"] == "sandbox_bankcard"


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    """The merchant's own client."""
    config = ClientConfig(
        project_id=PROJECT,
        secret_key=Secret(SECRET),
        base_url=service.url,
        checkout_url=service.url,
        list_url=service.url,
        allow_http_loopback=True,
    )
    with Client(config) as made:
        yield made


@pytest.mark.spec("EP4-04", "LST-01", "LST-02", "LST-03", "LST-04", "LST-05")
def test_the_envelope(service: Service, orders: list[str]) -> None:
    """Exactly the five fields; total_count is a number in the field and a boolean by the letter."""
    body = page(service)
    assert ids(body) == orders
    assert {name: body[name] for name in body if name != "data"} == {
        "object": "list",
        "has_more": False,
        "has_before": False,
        "total_count": 5 if service.sandbox.profile.name == "field" else True,
    }
    assert body["data"][0]["object"] == "order"


@pytest.mark.spec("EP4-01", "EP4-02", "LST-03", "LST-04")
def test_forwards(service: Service, orders: list[str]) -> None:
    """starting_after begins behind the last object of the page before; the last page says that it is."""
    first = page(service, limit=2)
    second = page(service, limit=2, starting_after=orders[1])
    last = page(service, limit=2, starting_after=orders[3])
    assert [ids(each) for each in (first, second, last)] == [orders[:2], orders[2:4], orders[4:]]
    assert [each["has_before"] for each in (first, second, last)] == [False, True, True]
    assert [each["has_more"] for each in (first, second, last)] == [True, True, False]


@pytest.mark.spec("EP4-03", "LST-03", "LST-04")
def test_backwards(service: Service, orders: list[str]) -> None:
    """ending_before is the page before an object, in the same order; the first page says that it is."""
    middle = page(service, limit=2, ending_before=orders[4])
    first = page(service, limit=2, ending_before=orders[2])
    assert [ids(middle), ids(first)] == [orders[2:4], orders[:2]]
    assert [(each["has_before"], each["has_more"]) for each in (middle, first)] == [
        (True, True),
        (False, True),
    ]


@pytest.mark.spec("LST-02", "LST-03", "LST-04")
def test_the_ends_are_empty(service: Service, orders: list[str]) -> None:
    """Behind the last and before the first object there is an empty page, which knows its neighbours."""
    behind, ahead = page(service, starting_after=orders[4]), page(service, ending_before=orders[0])
    assert [behind["data"], ahead["data"]] == [[], []]
    assert (behind["has_before"], behind["has_more"]) == (True, False)
    assert (ahead["has_before"], ahead["has_more"]) == (False, True)


@pytest.mark.spec("LST-02", "LST-03", "LST-04", "LST-05")
def test_a_list_without_objects(service: Service) -> None:
    """An empty list is an empty array, with nothing on either side and a count of nothing."""
    body = page(service)
    assert (body["data"], body["has_more"], body["has_before"], bool(body["total_count"])) == (
        [],
        False,
        False,
        False,
    )


@pytest.mark.spec("EP4-01", "LIM-01", "LST-02", "LST-03", "LST-05")
def test_a_page_is_as_long_as_its_limit(field: Service) -> None:
    """Of a hundred and one objects, at both ends of what a limit may be and between."""
    for _ in range(101):
        field.sandbox.creation.create_order({**SIMPLE, "amount": 1}, None)
    for limit in (1, 2, 60, 99, 100):
        answer = page(field, limit=limit)
        assert (len(answer["data"]), answer["has_more"], answer["total_count"]) == (limit, True, 101)


@pytest.mark.spec("EP4-01", "LIM-01")
@pytest.mark.parametrize(
    ("limit", "status"), [(1, 200), (100, 200), (0, 400), (101, 400), (-1, 400), ("two", 400), ("1.0", 400)]
)
def test_the_limit_is_one_to_a_hundred(service: Service, limit: Any, status: int) -> None:
    """Anything else is a 400 with the error object."""
    answer = request_page(service, limit=limit)
    assert answer.status_code == status
    assert ("message" in answer.json()) == (status == 400)


@pytest.mark.spec("HTT-09", "HTT-12", "HTT-08", "EP4-02", "EP4-03")
def test_a_cursor_must_be_an_order_that_one_may_see(service: Service, orders: list[str]) -> None:
    """An unknown one is 404, one of another merchant 403, and both cursors at once 422."""
    stranger = SandboxProject(project_id="stranger", secret_key="sandbox_stranger", merchant="another")
    service.sandbox.projects.add(stranger)
    assert request_page(service, starting_after="nothing").status_code == 404
    forbidden = request_page(service, "stranger", "sandbox_stranger", ending_before=orders[1])
    assert (forbidden.status_code, forbidden.json()["code"]) == (403, "fm000013")
    both = request_page(service, starting_after=orders[0], ending_before=orders[4])
    assert (both.status_code, set(both.json())) == (422, {"code", "message", "details"})
    own = request_page(service, "stranger", "sandbox_stranger")
    assert own.json()["data"] == []


@pytest.mark.spec("AUT-03", "AUT-05", "HTT-06")
def test_only_the_merchant_reads_it(service: Service) -> None:
    """A wrong password is a 401."""
    assert request_page(service, secret="sandbox_other").status_code == 401


@pytest.mark.spec("EP4-01", "EP4-02", "EP4-04", "EP4-05")
@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_the_client_reads_it_through(service: Service, client: Client, orders: list[str], limit: int) -> None:
    """Client.iter_list yields every order once, whatever the size of the pages."""
    assert [element["id"] for element in client.iter_list("/api/v1/orders", limit=limit)] == orders


@pytest.mark.spec("EP4-01", "EP4-02", "EP4-03", "EP4-04", "LST-02", "LST-03", "LST-04", "LST-05")
def test_the_client_reads_one_page_in_both_directions(
    service: Service, client: Client, orders: list[str]
) -> None:
    """With the whole envelope; the count is no number by the letter of the specification."""
    path, count = "/api/v1/orders", 5 if service.sandbox.profile.name == "field" else None
    first = client.list_page(path, limit=2)
    middle = client.list_page(path, limit=2, starting_after=orders[1])
    before = client.list_page(path, limit=2, ending_before=orders[4])
    last = client.list_page(path, starting_after=orders[3])
    pages = [(ids_of(page), page.has_before, page.has_more) for page in (first, middle, before, last)]
    assert pages == [
        (orders[:2], False, True),
        (orders[2:4], True, True),
        (orders[2:4], True, True),
        (orders[4:], True, False),
    ]
    assert {page.total_count for page in (first, middle, before, last)} == {count}


@pytest.mark.spec("EP4-01", "EP4-02", "EP4-03", "LIM-01")
@pytest.mark.parametrize("size", [0, 101])
def test_the_client_refuses_what_the_service_would(client: Client, size: int) -> None:
    """Before anything is sent: a limit out of range, and both cursors at once."""
    with pytest.raises(ValueError, match="between 1 and 100"):
        client.list_page("/api/v1/orders", limit=size)
    with pytest.raises(ValueError, match="one of starting_after and ending_before"):
        client.list_page("/api/v1/orders", starting_after="a", ending_before="b")


def ids_of(page: CursorPage) -> list[str]:
    """Return the identifiers on a page that the client has read."""
    return [element["id"] for element in page.data]
