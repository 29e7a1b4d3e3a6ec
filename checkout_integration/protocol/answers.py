"""What the creation endpoints answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


class MalformedAnswer(ValueError):
    """The answer is JSON but not what the specification says that this endpoint answers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenAnswer:
    """The Token resource (TOK-01, TOK-02). Both values let their holder pay, so neither is shown by repr."""

    token: str = field(repr=False)
    payment_form_url: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderAnswer:
    """The answer of order creation (EP2-17): the service's order id, and where to send the customer."""

    id: str
    payment_form_url: str = field(repr=False)


def parse_token_answer(document: object) -> TokenAnswer:
    """Read the answer of token creation (EP1-23). Raises MalformedAnswer."""
    return TokenAnswer(token=_text(document, "token"), payment_form_url=_address(document))


def parse_order_answer(document: object) -> OrderAnswer:
    """Read the answer of order creation (EP2-17). Raises MalformedAnswer."""
    return OrderAnswer(id=_text(document, "id"), payment_form_url=_address(document))


def _text(document: object, name: str) -> str:
    value = document.get(name) if isinstance(document, Mapping) else None
    if not isinstance(value, str) or not value:
        raise MalformedAnswer(f"the answer has no {name}")
    return value


def _address(document: object) -> str:
    address = _text(document, "payment_form_url")
    # Customers are redirected there: a javascript: or data: address must not get so far.
    if not address.startswith(("https://", "http://")):
        raise MalformedAnswer("the payment_form_url of the answer is not a web address")
    return address
