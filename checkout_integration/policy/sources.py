"""The part of an order's state that does not come from notifications: from the list, its creation and decisions of staff.

Notifications are stored, so their part can be computed again. Rows of the list are not: what they said is known from the
order's row alone.
"""

from __future__ import annotations

from dataclasses import replace

from checkout_integration.policy.facts import Facts, slot_key
from checkout_integration.policy.fields import Merged
from checkout_integration.policy.observation import Source
from checkout_integration.policy.refunds import STATED
from checkout_integration.policy.state import OrderState
from checkout_integration.protocol.vocabulary import OrderStatus

OF_NOTIFICATIONS = f"/{Source.NOTIFICATION}"


def without_notifications(state: OrderState) -> OrderState:
    """Return the state without what only notifications say.

    Added to it again, the notifications of the order give the whole state: joining has no order. Conflicts between a
    notification and a value of the list that lost to it stay, since that value is not stored.
    """
    facts, merged = _facts(state.facts), _merged(state.merged)
    is_empty = not facts.slots and not merged.values
    conflicts = frozenset[str]() if is_empty else state.merged.conflicts
    return OrderState(facts=facts, merged=replace(merged, conflicts=conflicts))


def _facts(facts: Facts) -> Facts:
    slots = {key: slot for key, slot in facts.slots.items() if not key.endswith(OF_NOTIFICATIONS)}
    listed = slot_key(OrderStatus.REFUNDED, Source.LIST) in slots
    refunds = {place: refunded for place, refunded in facts.refunds.items() if listed or place != STATED}
    return replace(facts, slots=slots, refunds=refunds)


def _merged(merged: Merged) -> Merged:
    others = {name: stamp for name, stamp in merged.stamps.items() if stamp.source != Source.NOTIFICATION}
    values = {name: value for name, value in merged.values.items() if name in others}
    return Merged(values=values, stamps=others)
