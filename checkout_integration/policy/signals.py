"""Which signals a change of an order's state sends: the service's events, each once, and ``order_changed``."""

from __future__ import annotations

from checkout_integration.policy.events import KIND_OF_EVENT
from checkout_integration.policy.facts import Facts
from checkout_integration.policy.observation import Source
from checkout_integration.policy.state import OrderState
from checkout_integration.protocol.vocabulary import Event, OrderStatus


def new_events(before: OrderState, after: OrderState) -> list[Event]:
    """Return the payment events first known by this step, in the order in which they happen to a payment.

    No signal is sent for a late success of a payment that is reversed already: docs/guarantees.md, "No silent upgrade".
    """
    new = _known_events(after.facts) - _known_events(before.facts)
    if after.fully_reversed:
        new.discard(Event.PAYMENT_SUCCESS)
    return [Event(event) for event in KIND_OF_EVENT if event in new]


def sends_order_changed(before: OrderStatus | None, after: OrderStatus) -> bool:
    """Return whether ``order_changed`` is sent; ``before`` is None for a new order, which may wait for its payment."""
    if before is None:
        return after not in (OrderStatus.CREATED, OrderStatus.PENDING)
    return before != after


def signal_facts(state: OrderState) -> dict[str, bool]:
    """Return the arguments of a signal that are facts of its order, whatever the event.

    The list makes no statement on ``live``: an order that only the list showed is real if its document says so.
    """
    live = state.merged.live
    return {
        "live": state.order.is_production is not False if live is None else live,
        "partial": state.partial,
    }


def _known_events(facts: Facts) -> set[str]:
    known = {event for event, kind in KIND_OF_EVENT.items() if facts.knows(kind)} - {Event.PAYMENT_CANCEL}
    return known | {Event.PAYMENT_CANCEL} if _cancel_known(facts) else known


def _cancel_known(facts: Facts) -> bool:
    """Return whether a cancellation is known: a signed one, or a listed one of an order that was not paid."""
    ends = (OrderStatus.CANCELED, OrderStatus.REJECTED)
    signed = any(facts.knows(end, Source.NOTIFICATION) for end in ends)
    return signed or (any(facts.knows(end) for end in ends) and not facts.knows(OrderStatus.PROCESSED))
