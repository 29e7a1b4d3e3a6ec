"""What is left of an order's state once its customer has been erased, now and after every later observation."""

from __future__ import annotations

from dataclasses import replace

from checkout_integration.policy.fields import from_stored
from checkout_integration.policy.personal import lasting, split
from checkout_integration.policy.state import OrderState


def without_customer(state: OrderState, reference_key: str) -> OrderState:
    """The state with facts, money and times as they are, and nothing that tells of the customer.

    Stamps of what is gone go too, so that the state is that of an order which was never told of its customer.
    """
    merged = state.merged
    lasting_part, _ = split(merged.document, lasting(reference_key))
    values = from_stored(lasting_part, merged.live, {}, ()).values
    stamps = {name: stamp for name, stamp in merged.stamps.items() if name in values}
    return replace(state, merged=replace(merged, values=values, stamps=stamps), observed=None)
