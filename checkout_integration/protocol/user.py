"""The User resource: the customer inside an Order, and the payload of user.validate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from checkout_integration.protocol.decoder import Decoder, Snapshot, attributes, flag, nested, text
from checkout_integration.protocol.values import Document


@dataclass(frozen=True, kw_only=True)
class Address(Snapshot):
    """The customer's address (USR-11)."""

    country: str | None = text(personal=True)
    city: str | None = text(personal=True)
    postal_code: str | None = text(personal=True)
    state: str | None = text(personal=True)


@dataclass(frozen=True, kw_only=True)
class User(Snapshot):
    """A customer (USR-01 to USR-14). ``id`` is the service's identifier, ``external_id`` the merchant's."""

    id: str | None = text()
    object: str | None = text()
    external_id: str | None = text(personal=True)
    name: str | None = text(personal=True)
    email: str | None = text(personal=True)
    email_verified: bool | None = flag()
    phone: str | None = text(personal=True)
    phone_verified: bool | None = flag()
    ip: str | None = text(personal=True)
    locale: str | None = text()
    address: Address | None = nested(Decoder(Address), personal=True)
    metadata: Mapping[str, str] | None = attributes()
    notify_new_region: bool | None = flag()
    notify_new_region_email: str | None = text(personal=True)


USER: Decoder[User] = Decoder(User)


def parse_user(document: Document) -> User:
    """Return the snapshot of a User object. Never raises: see ``User.problems``."""
    return USER(document)
