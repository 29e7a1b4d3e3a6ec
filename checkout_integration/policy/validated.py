"""Fields of a customer that only user.validate has: notify_new_region and notify_new_region_email (USR-13, USR-14).

Deployed services leave both out of payment.* notifications. They are merged like the fields of an order: the latest
value wins, and an absent key, null or "" is no value. So the order of arrival does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from checkout_integration.policy.fields import stamps_from_json
from checkout_integration.policy.moments import stamp
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.user import User
from checkout_integration.protocol.values import Document

FIELDS: Final = ("notify_new_region", "notify_new_region_email")


def merge_validated(stored: Document, user: User, at: datetime | None) -> dict[str, Any]:
    """Return ``stored`` merged with the fields of a user.validate made ``at``, for `CheckoutUser.validated`."""
    merged = dict(stored)
    for field in FIELDS:
        value = getattr(user, field)
        if value is None or value == "":
            continue
        statement = {"at": stamp(at), "value": value}
        if field not in merged or _order(merged[field]) < _order(statement):
            merged[field] = statement
    return merged


def with_validated(user: Document, stored: Mapping[str, Any], validated: Document) -> dict[str, Any]:
    """Return the User of an order merged with the fields of user.validate, taking the later value of each field.

    Args:
        user: the User object of the customer's latest order.
        stored: the stamps of that order's row.
        validated: the result of `merge_validated`.

    """
    document, stamps = dict(user), stamps_from_json(stored, [f"user.{field}" for field in user])
    for field, statement in validated.items():
        stated_at = stamps[f"user.{field}"].at if f"user.{field}" in stamps else ""
        if field not in document or stated_at < statement["at"]:
            document[field] = statement["value"]
    return document


def _order(statement: Mapping[str, Any]) -> tuple[str, str]:
    return statement["at"], strict_json.dumps(statement["value"])
