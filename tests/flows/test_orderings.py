"""The trial of orderings once more, through the receiver and the database: rows end alike, whatever came first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any, Final

import pytest
from django.db import transaction

from checkout_integration import flows
from checkout_integration.conf import app_settings
from checkout_integration.flows.ledger import Cause
from checkout_integration.models import (
    Incident,
    Installation,
    Notification,
    Order,
    OrderItem,
    OutboxMessage,
    Refund,
)
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.recording import record
from tests.support.flows.shop import notification, row_of
from tests.support.policy.histories import BEGIN, ORDERS, trial
from tests.support.scale import times

COUNT: Final = times(100, 1000)  # on each database
SEED: Final = 20240502

# Columns about the writing of a row, not about its content.
OF_THE_ROW: Final = {
    *("id", "order_id", "order", "user", "key"),
    *("recorded_at", "changed_at", "observed_at", "ordered_at", "reversed_at"),
}


@pytest.mark.slow
@pytest.mark.django_db
def test_rows_end_alike_in_every_order_of_arrival(checkout_deliver: Deliver, settings: Any) -> None:
    """Histories with the field's timing, each in ten orders: one end, the truth or an incident, and each signal once."""
    accepted = {"UNBOUND_ORDERS": "accept", "ACCEPT_TEST_PAYMENTS": False}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **accepted}
    Installation.objects.create(project="default", installed_at=BEGIN)
    for history, orders in islice(trial(SEED), COUNT // ORDERS):
        ends = [end_of(checkout_deliver, arrivals) for arrivals in orders if arrivals]
        for end in ends:
            assert end["status"] in history.possible_ends, history
            assert end["contradictory"] is history.contradicts_itself, history
            assert end == ends[0], history


@pytest.mark.django_db
@pytest.mark.parametrize("field", ["fee", "method"])
def test_values_of_one_moment_end_alike(checkout_deliver: Deliver, field: str) -> None:
    """A database may give the keys of an object back in another order than they came in (PostgreSQL, personal parts)."""
    one = {"wallet": {"account": "1", "brand": "visa"}, "currency": "USD", "amount": 2}
    other = {"wallet": {"account": "0", "brand": "visa"}, "currency": "EUR", "amount": Decimal("-0.0")}
    pair = [("payment.success", one), ("payment.cancel", other)]
    for order_id, arrivals in (("forwards", pair), ("backwards", pair[::-1])):
        for event, value in arrivals:
            order = OrderDocumentFactory(id=order_id, **{field: value})
            assert checkout_deliver(notification(event, order, at=BEGIN)).status_code == 200
    forwards, backwards = (row.whole_document[field] for row in Order.objects.order_by("order_id"))
    assert forwards == backwards


def end_of(deliver: Deliver, arrivals: Sequence[Observation]) -> dict[str, Any]:
    """Return the order's rows after all observations arrived; then empty the database."""
    with transaction.atomic():
        for observation in arrivals:
            tell(deliver, observation)
        ended = rows()
        transaction.set_rollback(True)
    return ended


def tell(deliver: Deliver, observation: Observation) -> None:
    """Let the app learn of this as it does: by its receiver, from a page of the list, or from its own call."""
    if observation.source is not Source.NOTIFICATION:
        record(app_settings().project("default"), [observation], Cause(source=observation.source))
        return
    assert deliver(row_of(observation)).status_code == 200
    flows.inbox.apply_due()


def rows() -> dict[str, Any]:
    """Return the rows of the one order from every table; assert that signals and keys of notifications are unique."""
    (order,) = Order.objects.values()
    once = OutboxMessage.objects.exclude(signal="order_changed")  # a status may be seen twice
    said = Counter(once.values_list("signal", "arguments__reason"))
    assert max(said.values(), default=0) <= 1, said
    keys = set(Notification.objects.values_list("event", "key"))  # attempts of one event share it
    assert len(keys) == len({event for event, _ in keys}), keys
    incidents = set(Incident.objects.values_list("kind", flat=True))
    return {
        **_known(order),
        "status": order["status"],
        "contradictory": bool(incidents),
        "items": [_known(each) for each in OrderItem.objects.values()],
        "refunds": [_known(each) for each in Refund.objects.order_by("document_id", "status").values()],
        "personal": list(Order.objects.values_list("personal_data__document", flat=True)),
    }


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in row.items()
        if name.removesuffix("_id") not in OF_THE_ROW and not name.startswith("receivers_")
    }
