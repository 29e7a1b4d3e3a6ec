"""Responses of the creation endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from checkout_integration.protocol.exact_names import problem_of
from checkout_integration.protocol.strict_json import unread_in


class MalformedResponse(ValueError):
    """The response is JSON, but not of the form that the specification shows for this endpoint."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenResponse:
    """The Token resource (TOK-01, TOK-02). Both values let their holder pay, so neither is shown by repr."""

    token: str = field(repr=False)
    payment_form_url: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderResponse:
    """The response of order creation (EP2-17): the service's order id, and the form's address for the customer."""

    id: str
    payment_form_url: str = field(repr=False)


def parse_token_response(document: object) -> TokenResponse:
    """Read the response of token creation (EP1-23). Raises MalformedResponse."""
    return TokenResponse(token=_text(document, "token"), payment_form_url=_address(document))


def parse_order_response(document: object) -> OrderResponse:
    """Read the response of order creation (EP2-17). Raises MalformedResponse."""
    return OrderResponse(id=_text(document, "id"), payment_form_url=_address(document))


def _text(document: object, name: str) -> str:
    value = document.get(name) if isinstance(document, Mapping) else None
    if not isinstance(value, str) or not value:
        raise MalformedResponse(f"the answer has no {name}")
    if name in unread_in(document):
        raise MalformedResponse(problem_of(f"the {name} of the answer"))
    return value


def _address(document: object) -> str:
    address = _text(document, "payment_form_url")
    # Customers are redirected there: a javascript: or data: address must not get so far.
    if not address.startswith(("https://", "http://")):
        raise MalformedResponse("the payment_form_url of the answer is not a web address")
    return address
