"""The rest of an order's state after the erasure of its customer, now and after every later observation."""

from __future__ import annotations

from dataclasses import replace

from checkout_integration.policy.fields import from_stored
from checkout_integration.policy.personal import lasting, split
from checkout_integration.policy.state import OrderState


def without_customer(state: OrderState, reference_key: str) -> OrderState:
    """Return the state with its facts, money and times, without the customer's personal data.

    Stamps of deleted fields are deleted too: the state is that of an order whose customer was never known.
    """
    merged = state.merged
    lasting_part, _ = split(merged.document, lasting(reference_key))
    values = from_stored(lasting_part, merged.live, {}, ()).values
    stamps = {name: stamp for name, stamp in merged.stamps.items() if name in values}
    return replace(state, merged=replace(merged, values=values, stamps=stamps), observed=None)
