"""Filters of the transactions list that the two profiles read differently."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from checkout_integration.sandbox import SandboxProject
from tests.support.sandbox.service import PROJECT, SECRET, SIMPLE, Service

CUSTOMER = {"external_id": "Player-7", "email": "Ada@Example.com", "phone": "+44 1234"}


def ended(service: Service) -> dict[str, str]:
    """Make an order of each end; returns its identifier by name."""
    orders = {name: service.paid() for name in ("processed", "refunded", "chargeback", "canceled")}
    service.act(orders["refunded"], "refund")
    service.act(orders["chargeback"], "chargeback")
    service.act(orders["canceled"], "cancel", after_payment=True)
    return orders


def with_status(service: Service, *statuses: str) -> list[dict[str, Any]]:
    """Return the items of the list with these statuses."""
    items = service.listed(*(("status[]", status) for status in statuses)).json()["items"]
    return items or []


def customer_s_order(service: Service, **paid_with: str) -> str:
    """Make an order of a known customer, and pay it."""
    document = {**SIMPLE, "user": CUSTOMER}
    answer = service.post("/api/v1/order", document, headers={"X-API-SIGNATURE": SECRET})
    order_id = str(answer.json()["id"])
    service.act(order_id, "pay", **paid_with)
    return order_id


@pytest.mark.spec("EP3-05")
@pytest.mark.parametrize("status", ["processed", "refunded", "chargeback", "canceled"])
def test_a_status_finds_the_orders_that_have_it(spec: Service, status: str) -> None:
    """By the specification nothing else: no refunded order among the processed ones."""
    orders = ended(spec)
    assert [item["id"] for item in with_status(spec, status)] == [orders[status]]


@pytest.mark.spec("EP3-05")
def test_several_statuses_find_the_orders_of_each(spec: Service) -> None:
    """The filter is an array."""
    orders = ended(spec)
    found = [item["id"] for item in with_status(spec, "processed", "chargeback")]
    assert found == [orders["processed"], orders["chargeback"]]


@pytest.mark.spec("EP3-05")
def test_processed_finds_refunded_originals_in_the_field(field: Service) -> None:
    """Their own status says so; charged back and cancelled ones are not among them, and no reversal item is."""
    orders = ended(field)
    found = [(item["id"], item["status"]) for item in with_status(field, "processed")]
    assert found == [(orders["processed"], "processed"), (orders["refunded"], "refunded")]


@pytest.mark.spec("EP3-05")
def test_refunded_finds_refund_documents_in_the_field(field: Service) -> None:
    """The item with an id of its own, not the order."""
    orders = ended(field)
    (item,) = with_status(field, "refunded")
    assert item["status"] == "refunded" and item["id"] not in orders.values()
    assert len(with_status(field, "processed", "refunded")) == 3


@pytest.mark.spec("EP3-05", "EP3-12", "HTT-05")
def test_an_unknown_status_is_refused(service: Service) -> None:
    """A word that is no status is a 400."""
    assert service.listed(("status[]", "paid")).status_code == 400


@pytest.mark.spec("EP3-04", "EP3-05")
def test_plain_names_narrow_by_the_specification(spec: Service) -> None:
    """`project=` and `status=` are read as the specification writes them; in the field only with brackets."""
    spec.sandbox.projects.add(SandboxProject(project_id="project-2", secret_key=SECRET))
    first, second = spec.order_id(), spec.order_id(project="project-2")
    assert spec.listed_ids(("project", "project-2")) == [second]
    assert spec.listed_ids(("project", "project-2"), ("project", PROJECT)) == [first, second]
    assert spec.listed_ids(("project", "another")) == []


@pytest.mark.spec("EP3-04")
def test_a_plain_project_is_ignored_in_the_field(field: Service) -> None:
    """Everything comes back."""
    order_id = field.order_id()
    assert field.listed_ids(("project", "another")) == [order_id]


@pytest.mark.spec("EP3-06")
@pytest.mark.parametrize(
    ("account", "found"),
    [("Player-7", True), ("player-7", False), ("Player", False), ("Ada@Example.com", False)],
)
def test_the_account_is_the_whole_identifier(spec: Service, account: str, found: bool) -> None:
    """The customer's identifier in the merchant project, character by character."""
    order_id = customer_s_order(spec)
    assert spec.listed_ids(("account", account)) == ([order_id] if found else [])


@pytest.mark.spec("EP3-06")
@pytest.mark.parametrize(
    ("paid_with", "account"),
    [
        ({}, "PLAYER-7"),
        ({}, "layer"),
        ({}, "ada@example"),
        ({}, "44 123"),
        ({}, "424242...4242"),
        ({"wallet": "Purse-of-Ada"}, "purse-of"),
        ({"crypto_currency": "bc1QEXAMPLE"}, "bc1qexample"),
    ],
)
def test_the_account_is_a_part_of_many_things_in_the_field(
    field: Service, paid_with: dict[str, str], account: str
) -> None:
    """In either case: identifier, phone, e-mail, masked card, wallet, crypto address."""
    order_id = customer_s_order(field, **paid_with)
    field.order_id(account="somebody else")
    assert field.listed_ids(("account", account)) == [order_id]


@pytest.mark.spec("EP3-06")
def test_the_account_may_be_an_order_s_id_in_the_field(field: Service) -> None:
    """In upper case too, and in part."""
    order_id = customer_s_order(field)
    field.order_id()
    assert field.listed_ids(("account", order_id.upper()[:30])) == [order_id]


@pytest.mark.spec("EP3-06")
def test_an_account_reaches_over_no_two_facts(field: Service) -> None:
    """The end of one and the beginning of the next are no part of anything."""
    customer_s_order(field)
    assert field.listed_ids(("account", "7\n+44")) == []


@pytest.mark.spec("EP3-03")
def test_an_unknown_id_finds_nothing(service: Service) -> None:
    """Although it has the right form."""
    service.order_id()
    assert service.listed_ids(("id", str(uuid.uuid4()))) == []


@pytest.mark.spec("EP3-03")
def test_an_id_is_a_uuid_in_the_field(field: Service) -> None:
    """Anything else is a 400; upper case is one."""
    order_id = field.order_id()
    assert field.listed(("id", "nothing")).status_code == 400
    assert field.listed(("id", order_id.upper())).status_code == 200


@pytest.mark.spec("EP3-03")
def test_an_id_is_a_text_by_the_specification(spec: Service) -> None:
    """No form is shown, so none is refused."""
    assert spec.listed(("id", "nothing")).json() == {"count": 0, "items": None}


@pytest.mark.spec("EP3-10", "LIM-02")
def test_limit_zero_is_the_default_in_the_field(field: Service) -> None:
    """As if it was not given."""
    orders = [field.order_id(), field.order_id()]
    assert field.listed_ids(("limit", "0")) == orders


@pytest.mark.spec("EP3-10")
def test_limit_zero_is_no_page_size_by_the_specification(spec: Service) -> None:
    """A page of nothing is refused."""
    assert spec.listed(("limit", "0")).status_code == 400
