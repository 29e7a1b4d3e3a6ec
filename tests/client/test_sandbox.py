"""The client against the sandbox: two readings of the specification that share its vocabulary only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest

from checkout_integration.client import Client, ClientConfig, errors
from checkout_integration.protocol.creation import Customer, CustomerAddress, OrderRequest, TokenRequest
from checkout_integration.protocol.listing import TransactionFilter
from checkout_integration.protocol.values import Secret
from checkout_integration.sandbox import Sandbox, SandboxProject, SandboxServer

SECRET = "sandbox_0123456789abcdef"
ADA = Customer(
    external_id="player-42",
    email="ada@mail.example",
    email_verified=True,
    locale="en-US",
    address=CustomerAddress(country="DE"),
)
SIMPLE = OrderRequest(
    project="proj-1",
    type="simple",
    amount=Decimal("9.99"),
    currency="USD",
    user=ADA,
    metadata={"reference": "ref-1"},
)


@pytest.fixture(params=["field", "spec"])
def server(request: pytest.FixtureRequest) -> Iterator[SandboxServer]:
    """A sandbox of each profile, with one project, behind a real socket."""
    project = SandboxProject(project_id="proj-1", secret_key=SECRET)
    with Sandbox([project], profile=request.param) as sandbox, SandboxServer(sandbox) as running:
        yield running


@pytest.fixture
def config(server: SandboxServer) -> ClientConfig:
    """How to reach it."""
    return ClientConfig(
        project_id="proj-1",
        secret_key=Secret(SECRET),
        base_url=server.url,
        checkout_url=server.url,
        list_url=server.url,
        allow_http_loopback=True,
    )


@pytest.fixture
def client(config: ClientConfig) -> Iterator[Client]:
    """A client of its project."""
    with Client(config) as made:
        yield made


@pytest.mark.spec("EP2-01", "EP2-13", "EP2-17", "EP3-01", "EP3-12", "STA-02")
def test_an_order_is_created_and_listed(client: Client) -> None:
    """The listed Order has the values of the request."""
    order_id = client.create_order(SIMPLE).id
    (order,) = client.list_transactions(TransactionFilter(id=order_id)).items
    assert (order.id, order.status, order.amount, order.currency) == (
        order_id,
        "created",
        Decimal("9.99"),
        "USD",
    )
    assert order.user is not None and order.user.external_id == "player-42"
    assert order.metadata == {"reference": "ref-1"}
    assert order.problems == ()


@pytest.mark.spec("EP1-01", "EP1-04", "EP1-05", "EP1-09", "EP1-10", "EP1-23", "EP1-24", "EP2-12", "EP6-05")
def test_a_token_becomes_an_order(client: Client) -> None:
    """The order takes the checkout and the customer from the token."""
    token = client.create_token(
        TokenRequest(project_id="proj-1", type="simple", amount=Decimal("9.99"), currency="USD", user=ADA)
    )
    order_id = client.create_order_from_token(token.token).id
    (order,) = client.list_transactions(TransactionFilter(id=order_id)).items
    assert order.amount == Decimal("9.99")
    assert order.user is not None and order.user.email == "ada@mail.example"


@pytest.mark.spec("EP2-11", "EP2-18")
def test_keys_and_items_are_accepted(client: Client) -> None:
    """The other accepted shapes."""
    assert client.create_order(
        OrderRequest(project="proj-1", type="key", products=["key-1"], platform_id="steam")
    ).id
    assert client.create_order(OrderRequest(project="proj-1", type="product", products=["a", "b"])).id


@pytest.mark.spec("EP3-05", "EP3-10", "EP3-11")
def test_a_long_list_is_read_completely(client: Client) -> None:
    """In overlapping pages, each row once; the filter by status is understood."""
    created = [client.create_order(replace(SIMPLE, user=None)).id for _ in range(12)]
    rows = list(client.iter_transactions(TransactionFilter(statuses=["created"], limit=5)))
    assert sorted(order.id or "" for order in rows) == sorted(created)
    assert list(client.iter_transactions(TransactionFilter(statuses=["refunded"]))) == []


@pytest.mark.spec("AUT-02", "AUT-03", "AUT-05")
def test_a_wrong_secret_is_bad_credentials(config: ClientConfig) -> None:
    """On all three endpoints, whichever status says so."""
    with Client(replace(config, secret_key=Secret("sandbox_of_someone_else"))) as client:
        with pytest.raises(errors.BadCredentials):
            client.create_order(SIMPLE)
        with pytest.raises(errors.BadCredentials):
            client.create_token(
                TokenRequest(project_id="proj-1", type="simple", amount=Decimal("9.99"), currency="USD")
            )
        with pytest.raises(errors.BadCredentials):
            client.list_transactions(TransactionFilter())
