"""What the settings say of the service is in the requests of the client: of two shops that differ in all of it."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
import responses
from requests import PreparedRequest

from checkout_integration import flows
from checkout_integration.client.client import Client
from checkout_integration.client.errors import BadCredentials, BadRequest
from checkout_integration.flows.sync import service_client
from checkout_integration.protocol.creation import OrderRequest, TokenRequest
from checkout_integration.protocol.listing import TransactionFilter

FIRST = {
    "BASE_URL": "https://api.first.invalid",
    "CHECKOUT_URL": "https://checkout.first.invalid",
    "LIST_URL": "https://list.first.invalid",
    "PROJECT_ID": "project-1",
    "SECRET_KEY": "first-secret-key-0123456789",
    "VERSION_HEADER": "x-service-api-version",
    "API_VERSION": "1.0",
    "LIST_END_PARAMETER": "project_date_to",
    "LIST_ARRAY_STYLE": "brackets",
    "CREDENTIAL_CODES": ["key-1"],
}
SECOND = {
    "BASE_URL": "https://api.second.invalid",
    "CHECKOUT_URL": "https://checkout.second.invalid",
    "LIST_URL": "https://list.second.invalid",
    "PROJECT_ID": "project-2",
    "SECRET_KEY": "second-secret-key-0123456789",
    "VERSION_HEADER": "x-other-version",
    "API_VERSION": "2.3",
    "LIST_END_PARAMETER": "until",
    "LIST_ARRAY_STYLE": "plain",
    "CREDENTIAL_CODES": ["key-2"],
}
FORM = {"payment_form_url": "https://form.invalid/"}
PRICE: dict[str, Any] = {"type": "simple", "amount": Decimal(5), "currency": "USD"}


@pytest.fixture(params=[FIRST, SECOND], ids=["first", "second"])
def shop(request: pytest.FixtureRequest, settings: Any) -> dict[str, Any]:
    """The settings of a shop; those that its project has of its own stand in it."""
    values: dict[str, Any] = dict(request.param)
    shared = {**values, "ORDER_FORM_URL": "https://form.invalid"}
    own = {name: shared.pop(name) for name in ("PROJECT_ID", "SECRET_KEY")}
    settings.CHECKOUT_INTEGRATION = {**shared, "PROJECTS": {"default": own}}
    return values


@pytest.fixture
def service(shop: dict[str, Any]) -> Iterator[responses.RequestsMock]:
    """The service of the shop, and no other."""
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        mock.post(f"{shop['BASE_URL']}/api/v1/tokens", json={"token": "t", **FORM})
        mock.post(f"{shop['CHECKOUT_URL']}/api/v1/order", json={"id": "o", **FORM})
        mock.get(f"{shop['LIST_URL']}/merchant/s2s/api/v1/order", json={"count": 0, "items": None})
        yield mock


def sent(service: responses.RequestsMock, shop: dict[str, Any]) -> list[PreparedRequest]:
    """The requests of the three operations: a token, an order, a page of the list."""
    token = TokenRequest(project_id=shop["PROJECT_ID"], **PRICE)
    query = TransactionFilter(statuses=["created", "pending"], date_to=datetime(2026, 3, 4, tzinfo=UTC))
    with service_client() as client:
        client.create_token(token)
        client.create_order(OrderRequest(project=shop["PROJECT_ID"], **PRICE))
        client.list_transactions(query)
    return [each.request for each in service.calls]


@pytest.mark.spec("EP1-01", "EP2-01", "EP3-01", "SVC-05", "AUT-01")
def test_each_operation_has_the_address_of_its_setting(
    service: responses.RequestsMock, shop: dict[str, Any]
) -> None:
    """BASE_URL for tokens, CHECKOUT_URL for orders, LIST_URL for the list."""
    assert [(each.method, (each.url or "").partition("?")[0]) for each in sent(service, shop)] == [
        ("POST", f"{shop['BASE_URL']}/api/v1/tokens"),
        ("POST", f"{shop['CHECKOUT_URL']}/api/v1/order"),
        ("GET", f"{shop['LIST_URL']}/merchant/s2s/api/v1/order"),
    ]


@pytest.mark.spec("EP1-01", "EP3-01")
def test_without_an_address_of_its_own_the_list_has_that_of_tokens(
    settings: Any, shop: dict[str, Any]
) -> None:
    """Two shops that set no LIST_URL."""
    settings.CHECKOUT_INTEGRATION = {
        name: value for name, value in settings.CHECKOUT_INTEGRATION.items() if name != "LIST_URL"
    }
    with responses.RequestsMock() as service, service_client() as client:
        service.get(f"{shop['BASE_URL']}/merchant/s2s/api/v1/order", json={"count": 0, "items": None})
        client.list_transactions(TransactionFilter())


@pytest.mark.spec("EP1-02", "EP2-02", "EP3-02", "AUT-02", "AUT-03")
def test_requests_are_signed_with_the_key_of_the_settings(
    service: responses.RequestsMock, shop: dict[str, Any]
) -> None:
    """A header for tokens and orders; project and key as the login of the list."""
    token, order, page = (each.headers for each in sent(service, shop))
    assert token["X-API-SIGNATURE"] == order["X-API-SIGNATURE"] == shop["SECRET_KEY"]
    login = b64decode(page["Authorization"].removeprefix("Basic ")).decode()
    assert login == f"{shop['PROJECT_ID']}:{shop['SECRET_KEY']}"


@pytest.mark.spec("VER-01", "VER-02", "VER-03")
def test_every_request_has_the_version_of_the_settings(
    service: responses.RequestsMock, shop: dict[str, Any]
) -> None:
    """Under the name that the settings give to the header."""
    found = [each.headers[shop["VERSION_HEADER"]] for each in sent(service, shop)]
    assert found == [shop["API_VERSION"]] * 3


@pytest.mark.spec("EP3-05", "EP3-08")
def test_parameters_of_the_list_are_written_as_the_settings_say(
    service: responses.RequestsMock, shop: dict[str, Any]
) -> None:
    """The name of the period's end, and an array with brackets or without."""
    parameters: Any = sent(service, shop)[2]
    name = {"brackets": "status[]", "plain": "status"}[shop["LIST_ARRAY_STYLE"]]
    assert parameters.params == {
        name: ["created", "pending"],
        shop["LIST_END_PARAMETER"]: "2026-03-04T00:00:00",
    }


@pytest.mark.spec("AUT-05", "HTT-16")
def test_the_settings_name_the_codes_of_bad_credentials(
    service: responses.RequestsMock, shop: dict[str, Any]
) -> None:
    """A 400 with the code of the other shop is a wrong request."""
    address = f"{shop['CHECKOUT_URL']}/api/v1/order"
    for code in ("key-1", "key-2"):
        service.upsert("POST", address, status=400, json={"code": code, "message": "m", "details": ""})
        with service_client() as client:
            assert is_refused(client, shop) is ([code] == shop["CREDENTIAL_CODES"])


def is_refused(client: Client, shop: dict[str, Any]) -> bool:
    """Whether the error of an order is one of credentials."""
    try:
        client.create_order(OrderRequest(project=shop["PROJECT_ID"], **PRICE))
    except BadCredentials:
        return True
    except BadRequest:
        return False
    raise AssertionError("an order was created")


@pytest.mark.django_db
@pytest.mark.spec("EP1-12", "EP2-03", "EP2-08", "EP1-22")
def test_a_checkout_is_sold_for_the_project_of_the_settings(
    service: responses.RequestsMock, shop: dict[str, Any]
) -> None:
    """In the body of a token and of an order, whose attributes name the checkout."""
    issued = flows.create_token(**PRICE)
    checkout = flows.create_checkout(**PRICE)
    token, order = (json.loads(each.request.body or b"") for each in service.calls)
    assert (token["settings"]["project_id"], order["project"]) == (shop["PROJECT_ID"],) * 2
    assert token["settings"]["metadata"] == {"checkout_reference": issued.checkout.reference}
    assert order["metadata"] == {"checkout_reference": checkout.reference}
