"""The memory of a batch: it is freed as soon as the batch is recorded, without the garbage collector."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from checkout_integration.conf import app_settings
from checkout_integration.flows import ledger
from checkout_integration.flows.ledger import Cause, Step
from checkout_integration.models import Checkout
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol.order import parse_order
from checkout_integration.testing.factories import CheckoutFactory, order_document_for

pytestmark = pytest.mark.django_db


@pytest.fixture
def without_collector() -> Iterator[None]:
    """Switch the garbage collector off."""
    gc.disable()
    yield
    gc.enable()


def rows_recorded(document: dict[str, Any]) -> list[weakref.ref[Any]]:
    """Record a row of the list; return references to the order, its rows, and the change, which do not keep them."""
    observation = Observation(source=Source.LIST, order=parse_order(document), observed_at=datetime.now(UTC))
    step = Step(observations=(observation,), cause=Cause(source=Source.LIST))
    (outcome,) = ledger.record(app_settings().project("default"), [step])
    assert outcome.change is not None and outcome.change.changed
    order = outcome.change.row
    return [weakref.ref(each) for each in (outcome.change, order, order.personal_data, order.checkout)]


def test_the_rows_of_a_batch_are_freed(without_collector: None) -> None:
    """Those of a new order with its checkout, and those of a known one: no row refers to one that refers to it.

    Otherwise the collector would take a tenth of a long pass.
    """
    checkout: Checkout = CheckoutFactory()
    document = order_document_for(checkout)
    assert [row() for row in rows_recorded(document)] == [None] * 4
    assert [row() for row in rows_recorded({**document, "status": "refunded"})] == [None] * 4
