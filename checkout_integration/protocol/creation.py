"""Requests that create a payment token or a payment order.

The two endpoints take nearly the same checkout in two shapes. Requests are plain values in the specification's
words; `build_token_document` and `build_order_document` give them their shape, and refuse what the service
would refuse, all problems at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any

from checkout_integration.protocol.creation_rules import check_order, check_token
from checkout_integration.protocol.creation_values import CreationError


@dataclass(frozen=True, kw_only=True, slots=True)
class CustomerAddress:
    """The customer's address (EP1-10, EP2-13): ISO 3166-1 alpha-2 country, ISO 3166-2 state."""

    country: str | None = field(default=None, repr=False)
    city: str | None = field(default=None, repr=False)
    postal_code: str | None = field(default=None, repr=False)
    state: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Customer:
    """The customer of a request (EP1-03 to EP1-10, EP2-13).

    ``external_id`` is the merchant's identifier. ``locale`` is a language and a region (``de-DE``); in a token it may be as
    in Accept-Language, in an order two letters are enough. ``flows.create_checkout`` and ``create_token`` translate Django's
    names (``zh-hans``, ``en_US``), and leave out what has no such form. ``metadata`` are attributes of the customer, for
    tokens only.
    """

    external_id: str | None = field(default=None, repr=False)
    name: str | None = field(default=None, repr=False)
    email: str | None = field(default=None, repr=False)
    email_verified: bool | None = None
    phone: str | None = field(default=None, repr=False)
    phone_verified: bool | None = None
    ip: str | None = field(default=None, repr=False)
    locale: str | None = None
    address: CustomerAddress | None = None
    metadata: Mapping[str, str] | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenRequest:
    """The content of a token (EP1-03 to EP1-22).

    ``amount`` and ``currency`` for type simple, ``products_ids`` for product and key, either for virtual_currency.
    """

    project_id: str
    type: str
    user: Customer | None = None
    currency: str | None = None
    amount: Decimal | None = None
    description: str | None = None
    products_ids: Sequence[str] | None = None
    platform_id: str | None = None
    is_buy_for_virtual_currency: bool | None = None
    button_caption: str | None = None
    metadata: Mapping[str, str] | None = field(default=None, repr=False)
    return_url_success: str | None = field(default=None, repr=False)
    return_url_fail: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderRequest:
    """The content of an order (EP2-03 to EP2-16).

    ``token`` overrides its own parameters, including required ones, and may be the only one (EP2-12). ``order`` is the
    service's identifier of an order that it has prepared; deployed services then need the project and nothing else (EP2-14).
    """

    project: str | None = None
    type: str | None = None
    token: str | None = field(default=None, repr=False)
    amount: Decimal | None = None
    currency: str | None = None
    account: str | None = field(default=None, repr=False)
    description: str | None = None
    metadata: Mapping[str, str] | None = field(default=None, repr=False)
    url_success: str | None = field(default=None, repr=False)
    url_fail: str | None = field(default=None, repr=False)
    products: Sequence[str] | None = None
    user: Customer | None = None
    order: str | None = None
    platform_id: str | None = None


def build_token_document(request: TokenRequest) -> dict[str, Any]:
    """Return the JSON object for token creation. Raises CreationError with every problem found."""
    document = _present(user=_token_user(request.user), settings=_settings(request))
    check_token(document)
    return document


def build_order_document(request: OrderRequest) -> dict[str, Any]:
    """Return the JSON object for order creation. Raises CreationError with every problem found."""
    document = _present(**_members(request) | {"user": _order_user(request.user)})
    check_order(document)
    if request.user is not None and request.user.metadata:
        raise CreationError([("user.metadata", "is taken by tokens only; leave it out, or make a token")])
    return document


def _settings(request: TokenRequest) -> dict[str, Any]:
    return_url = _present(success=request.return_url_success, fail=request.return_url_fail)
    members = _members(request, "user", "return_url_success", "return_url_fail")
    return _present(**members, return_url=return_url or None)


def _token_user(user: Customer | None) -> dict[str, Any] | None:
    """Build the user of a token request: an id, and each value in an object of its own (EP1-04 to EP1-10)."""
    if user is None:
        return None
    return _present(
        id=user.external_id,
        email=_valued(user.email, user.email_verified),
        phone=_valued(user.phone, user.phone_verified),
        name=_valued(user.name),
        ip=_valued(user.ip),
        locale=_valued(user.locale),
        address=_address(user.address),
        metadata=user.metadata or None,
    )


def _order_user(user: Customer | None) -> dict[str, Any] | None:
    """Build the user of an order request, which is flat (EP2-13)."""
    if user is None:
        return None
    return _present(**_members(user, "metadata") | {"address": _address(user.address)})


def _address(address: CustomerAddress | None) -> dict[str, Any] | None:
    return None if address is None else _present(**_members(address))


def _valued(value: str | None, verified: bool | None = None) -> dict[str, Any] | None:
    return _present(value=value, verified=verified) or None


def _members(request: Any, *left_out: str) -> dict[str, Any]:
    """Return the fields that are named as they are sent; an empty list or mapping is none."""
    values = {each.name: getattr(request, each.name) for each in fields(request) if each.name not in left_out}
    return {
        name: value or None if isinstance(value, (Mapping, Sequence)) else value
        for name, value in values.items()
    }


def _present(**members: Any) -> dict[str, Any]:
    """Return the given values: null and "" are left out, never sent."""
    return {name: value for name, value in members.items() if value is not None and value != ""}
