"""schemathesis against the customer's interface: a buyer with a session, another buyer, and nobody.

A few examples in every run; ``CHECKOUT_FULL=1`` asks for 500 of each operation.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client
from hypothesis import HealthCheck, settings
from schemathesis import AuthContext, Case
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import positive_data_acceptance

from checkout_integration.models import Order
from checkout_integration.sandbox import Sandbox
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.api.described import described
from tests.support.numbers import numbers, readable
from tests.support.scale import times

pytestmark = pytest.mark.django_db
EXAMPLES: Final = times(5, 500)
REFERENCE: Final = "c" * 32
ORDER_ID: Final = "order-of-the-buyer"
SECRETS: Final = ("d" * 32, "order-of-the-stranger", "sold to the stranger")
"""What the other buyer's rows have, and no response to the buyer or to nobody."""
UNKNOWN: Final[dict[str, Any]] = {
    "description": None,
    "tax": {"rate": "0.19"},
    "items": [{"sku": "gems"}],
    "method": None,
}
"""What the service leaves out of an order: the fields are null, and described so."""


class Browser:
    """The cookies of a browser in which an account has signed in."""

    session = ""
    token = "a" * 32

    def get(self, case: Case[Any], context: AuthContext) -> dict[str, str]:
        """Return the cookies."""
        return {"sessionid": Browser.session, "csrftoken": Browser.token}

    def set(self, case: Case[Any], data: dict[str, str], context: AuthContext) -> None:
        """Add them, and the token that a script sends with them."""
        case.cookies.update(data)
        case.headers["X-CSRFToken"] = Browser.token


def interface(*, signed_in: bool) -> BaseSchema:
    """Return the description, with the one checkout and the one order that there are."""
    document = described()
    known = {"checkouts": REFERENCE, "orders": ORDER_ID, "owned": REFERENCE}
    for path, operations in document["paths"].items():
        if path.startswith("/server/"):
            continue
        for operation in operations.values():
            for parameter in operation.get("parameters", []):
                if parameter["schema"] == {"type": "string"}:
                    parameter["schema"] = {"enum": [known[path.split("/")[2]]]}
    document["paths"] = {path: each for path, each in document["paths"].items() if path.startswith("/api/")}
    schema = schemathesis.openapi.from_dict(document)
    schema.app = WSGIHandler()
    if signed_in:
        schema.auth(refresh_interval=None)(Browser)
    return schema


SIGNED_IN: Final = interface(signed_in=True)
ANONYMOUS: Final = interface(signed_in=False)
EACH: Final = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """The test's own connection serves all requests, as with Django's test client."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture(autouse=True)
def _two_buyers(buyer: User, stranger: User, shop: Any, checkout_sandbox: Sandbox) -> None:
    """Each has a paid order; the first is signed in, and the shop sells gems."""
    shop.answer = {"amount": Decimal("9.99"), "currency": "USD", "description": "500 gems"}
    reference, order_id, words = SECRETS
    sold(buyer, REFERENCE, ORDER_ID, "sold to the buyer")
    sold(stranger, reference, order_id, words)
    client = Client()
    client.force_login(buyer)
    Browser.session = client.session.session_key or ""


def sold(account: User, reference: str, order_id: str, words: str) -> Order:
    """A paid order of an account."""
    checkout = CheckoutFactory(user=account, reference=reference, description=words)
    order: Order = OrderFactory(checkout=checkout, id=order_id, **UNKNOWN)
    return order


@SIGNED_IN.parametrize()
@EACH
def test_a_buyer_gets_what_is_described_and_nothing_of_another(case: Case[Any]) -> None:
    """Every check of schemathesis passes, whatever is sent."""
    response = case.call()
    case.validate_response(response, excluded_checks=[positive_data_acceptance] * beyond_the_schema(case))
    assert [each for each in SECRETS if each in response.text] == []


@ANONYMOUS.parametrize()
@EACH
def test_nobody_gets_an_error_and_no_row(case: Case[Any]) -> None:
    """403 before anything is looked at, but for what HTTP itself refuses; the body is that of every error."""
    response = case.call_and_validate(excluded_checks=[])
    assert response.status_code in {403, 404, 405, 406}
    assert [each for each in (*SECRETS, REFERENCE, ORDER_ID) if each in response.text] == []


def beyond_the_schema(case: Case[Any]) -> bool:
    """Return whether a request may be refused for a reason that no schema can express."""
    both_cursors = {"starting_after", "ending_before"} <= (case.query or {}).keys()
    return both_cursors or not all(map(readable, numbers(case.body)))
