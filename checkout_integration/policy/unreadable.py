"""What of an order cannot be read, or is outside the specification: never refused, and shown to staff as incidents."""

from __future__ import annotations

import dataclasses

from checkout_integration.policy.facts import STATUSES
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol.order import Order
from checkout_integration.protocol.strict_json import unread_in
from checkout_integration.protocol.vocabulary import Event

ORDER_FIELDS = frozenset(each.name for each in dataclasses.fields(Order)) - {"document", "problems"}
EVENTS = frozenset(Event)


def unknown_words(observation: Observation) -> frozenset[str]:
    """Return words outside the specification, and what cannot be read: never refused, shown as incidents."""
    words = set()
    status = observation.order.status
    if status and status not in STATUSES:
        words.add("unknown_status")
    if observation.source is Source.NOTIFICATION and observation.event not in EVENTS:
        words.add("unknown_event")
    return frozenset(words | _unreadable_fields(observation))


def _unreadable_fields(observation: Observation) -> set[str]:
    """Return the fields of the order with a number beyond our limits, or with characters that cannot be read.

    Such a number is null and such a character U+FFFD, so each costs its field only. Members that the specification does not
    know count together: their names are whatever the sender wrote.
    """
    sent = (observation.reversal or observation.order).document
    names = {path.partition(".")[0] for path in unread_in(sent)}
    return {f"unreadable:{name if name in ORDER_FIELDS else 'other'}" for name in names}
