"""The facts of an order from each event, and from each status of a list row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from checkout_integration.policy import refunds as refund_rules
from checkout_integration.policy.facts import REVERSALS, STATUSES, Facts, Slot, slot_key
from checkout_integration.policy.moments import stamp
from checkout_integration.policy.observation import Observation, Source, Timing
from checkout_integration.protocol.vocabulary import Event, OrderStatus

KIND_OF_EVENT: Mapping[str, OrderStatus] = {
    Event.PAYMENT_SUCCESS: OrderStatus.PROCESSED,
    Event.PAYMENT_CANCEL: OrderStatus.CANCELED,
    Event.PAYMENT_REFUND: OrderStatus.REFUNDED,
    Event.PAYMENT_CHARGEBACK: OrderStatus.CHARGEBACK,
}
"""The event decides (EVT-03 to EVT-06, STA-03, STA-06 to STA-08), not the status of its object, which may be ``created``."""


def facts_of(observation: Observation, timing: Timing) -> Facts:
    """Return the facts of one observation; none for an unknown event or status."""
    if observation.source is Source.NOTIFICATION:
        slots = dict(_slots_of_notification(observation, timing))
    elif observation.source is Source.LIST:
        slots = dict(_slots_of_list_row(observation, timing))
    else:
        # STA-02: an order that was just made is created.
        slots = {slot_key(OrderStatus.CREATED, Source.CREATION): Slot()}
    is_refund = slot_key(OrderStatus.REFUNDED, observation.source) in slots
    return Facts(slots=slots, refunds=refund_rules.refunds_of(observation) if is_refund else {})


def _slots_of_notification(observation: Observation, timing: Timing) -> Iterable[tuple[str, Slot]]:
    attempt = max(observation.delivery_try, 0)
    at = stamp(_event_time(observation.observed_at, attempt, timing.retry_interval))
    status = observation.order.status
    kind = KIND_OF_EVENT.get(observation.event)
    if kind is None:
        return
    # STA-08: payment.cancel does not say whether it was canceled or rejected; the status does (STA-04, STA-05).
    if kind is OrderStatus.CANCELED and status == OrderStatus.REJECTED:
        kind = OrderStatus.REJECTED
    # A retry may send the object as it is by then, so its status may be newer than the event.
    if status in REVERSALS and status != kind:
        reread = OrderStatus(status)
        at_the_latest = stamp(observation.observed_at)
        own = stamp(_own_time(observation, reread))
        yield slot_key(reread, Source.NOTIFICATION), Slot(at=at_the_latest, own=own, reread=True, latest=own)
    own = stamp(_own_time(observation, kind))
    latest = (own or at) if kind in REVERSALS else ""
    yield slot_key(kind, Source.NOTIFICATION), Slot(at=at, own=own, attempt=attempt, latest=latest)


def _slots_of_list_row(observation: Observation, timing: Timing) -> Iterable[tuple[str, Slot]]:
    status = observation.order.status
    if status not in STATUSES:
        return
    kind = OrderStatus(status)
    read_at = observation.observed_at
    seen = stamp(read_at - timing.list_margin if read_at else None)
    own = stamp(_own_time(observation, kind))
    # A row repeats that an order is reversed at each reading, so the time of reading is not the time of a reversal.
    yield slot_key(kind, Source.LIST), Slot(at=max(seen, own), latest=own if kind in REVERSALS else "")


def _event_time(sent_at: datetime | None, attempt: int, retry_interval: timedelta) -> datetime | None:
    """Return the event's time: ``created_at`` is that of the attempt (EVT-10), so the intervals before it are subtracted.

    The specification does not give the interval (EVT-12): it is a setting.
    """
    try:
        return sent_at - attempt * retry_interval if sent_at else None
    except OverflowError:
        return None


def _own_time(observation: Observation, kind: OrderStatus) -> datetime | None:
    if kind is OrderStatus.REFUNDED:
        return observation.order.refunded_at
    if kind in (OrderStatus.CANCELED, OrderStatus.REJECTED):
        return observation.order.canceled_at
    return None
