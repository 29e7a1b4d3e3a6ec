"""A customer is erased between the claim of a receiver's run and the run."""

from __future__ import annotations

from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.flows.inbox import apply_due
from checkout_integration.flows.outbox.claiming import claim
from checkout_integration.flows.outbox.running import attempt, load
from checkout_integration.signals import payment_success
from checkout_integration.testing.delivery import Deliver
from tests.support.customer import EXTERNAL_ID, PRIVACY_REQUEST, order_of_customer
from tests.support.flows.shop import Listening

pytestmark = pytest.mark.django_db


def test_a_receiver_that_was_claimed_before_gets_no_personal_data(
    checkout_deliver: Deliver, listen: Listening, settings: Any
) -> None:
    """Its order was loaded with others of its batch; the erasure came before its turn."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    documents: list[object] = []
    listen(payment_success, lambda **received: documents.append(received["order"].personal_data.document))
    checkout_deliver(order=order_of_customer("1"))
    apply_due()
    (loaded,) = load(claim())
    (customer,) = flows.privacy.find_persons(external_id=EXTERNAL_ID)
    flows.privacy.erase_customer(customer, PRIVACY_REQUEST)
    assert attempt(loaded).run
    assert documents == [{}]
