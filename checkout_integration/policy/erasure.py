"""Who is erased, and the rest of an order's state after the erasure of its customer, now and after every later observation.

A tombstone wins: its row has ``erased_at``, and no later observation brings personal data back (docs/personal-data.md).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

from checkout_integration.policy.attribution import ATTRIBUTION
from checkout_integration.policy.fields import from_stored
from checkout_integration.policy.personal import PUBLIC, REFUND, WHOLE, Public, split
from checkout_integration.policy.state import OrderState


class Erasable(Protocol):
    """A row of personal data, of a customer, or of a checkout."""

    @property
    def erased_at(self) -> datetime | None:
        """When its customer was erased; None for one who was not."""


def is_erased(*rows: Erasable | None) -> bool:
    """Return whether one of these rows is an erased customer's, so that no personal data may be stored."""
    return any(row is not None and row.erased_at is not None for row in rows)


def is_order_erased(
    personal_data: Erasable | None,
    customer: Erasable | None,
    checkout: Erasable | None,
    *,
    has_customer: bool,
) -> bool:
    """Return whether no personal data of an order may be stored: its own, its customer's, or the checkout's was erased.

    A list row has no id of a guest: their checkout identifies them. An order with a customer's row does not need it: a
    customer who came back after an erasure has a row of their own.
    """
    return is_erased(personal_data, customer, None if has_customer else checkout)


def lasting(reference_key: str) -> Public:
    """Return the fields that stay of an erased customer's order: the accounting record, and the reference of its checkout.

    Ids and origin of the customer, the shop's metadata and the text of a refund are deleted; its code and amount stay.
    """
    accounting = {
        name: inner for name, inner in PUBLIC.items() if name not in ("user", "issuer", "metadata", "refund")
    }
    return {
        **accounting,
        "metadata": {reference_key: WHOLE},
        "refund": {name: inner for name, inner in REFUND.items() if name != "reason"},
    }


def erased_checkout() -> dict[str, Any]:
    """Return what is left in the columns of a checkout about its customer, and in the form's, by their names."""
    gone: dict[str, Any] = {"metadata": {}, "payment_form_url": "", "identity": "", "idempotency_key": None}
    return {**gone, **dict.fromkeys(ATTRIBUTION, "")}


def without_customer(state: OrderState, reference_key: str) -> OrderState:
    """Return the state with its facts, money and times, without the customer's personal data.

    Stamps of deleted fields are deleted too: the state is that of an order whose customer was never known.
    """
    merged = state.merged
    lasting_part, _ = split(merged.document, lasting(reference_key))
    values = from_stored(lasting_part, merged.live, {}, ()).values
    stamps = {name: stamp for name, stamp in merged.stamps.items() if name in values}
    return replace(state, merged=replace(merged, values=values, stamps=stamps))
