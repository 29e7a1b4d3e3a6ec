"""Every fault of user.validate: the payment ends as in the table, and the form shows the customer why."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
import requests

from checkout_integration import flows
from checkout_integration.models import Order
from checkout_integration.sandbox import Sandbox
from checkout_integration.testing.service import running_sandbox
from tests.flows.conftest import _not_installed, hooks
from tests.support.flows.shop import ShopHooks
from tests.support.paths.fault_rows import VALIDATION_ROWS, ValidationRow

__all__ = ["_not_installed", "hooks"]
CARD = {"number": "4242 4242 4242 4242", "expiry": "12/34", "cvc": "123", "email": "a@example.com"}


@pytest.fixture(params=["field", "spec"])
def checkout_sandbox(request: pytest.FixtureRequest, settings: Any, live_server: Any) -> Iterator[Sandbox]:
    """Run the sandbox of the test kit in both profiles, asking before each payment."""
    with running_sandbox(settings, live_server.url, profile=request.param) as sandbox:
        sandbox.projects.update("test-project", mode="pre_approval")
        yield sandbox


def pay(sandbox: Sandbox, order_id: str) -> str:
    """Fill the form in; returns what it says then."""
    answer = requests.post(f"{sandbox.public_url}/form/pay", {"order_id": order_id, **CARD}, timeout=20)
    assert sandbox.wait_idle()
    return answer.text


@pytest.mark.slow
@pytest.mark.spec("EVT-02", "EVT-11")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("row", VALIDATION_ROWS, ids=lambda row: row.name)
def test_every_fault_has_its_end(
    row: ValidationRow, settings: Any, checkout_sandbox: Sandbox, hooks: type[ShopHooks]
) -> None:
    """Through the real receiver, over real sockets; without the fault the same order is paid, or a new one where it ended."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **row.settings}
    hooks.user = staticmethod(lambda user: True)
    order_id = flows.create_checkout(amount=Decimal("9.99"), currency="USD").order_id
    checkout_sandbox.faults.set_from({"rules": [row.rule]})
    said = pay(checkout_sandbox, order_id)
    log = checkout_sandbox.log.entries()
    questions = [each for each in log if each.note.startswith("user.validate")]
    assert " ".join(str(each.status) for each in questions if each.status) == row.answers
    assert row.words in said
    flows.inbox.apply_due()
    found = checkout_sandbox.ledger.find(order_id)
    assert found is not None
    refused = "canceled" if checkout_sandbox.profile.refusal_cancels else "created"
    assert found.status == ("processed" if row.outcome == "paid" else refused)
    checkout_sandbox.faults.set([])
    if found.status == "canceled":
        assert Order.objects.get(order_id=order_id).status == "canceled"
        order_id = flows.create_checkout(amount=Decimal("9.99"), currency="USD").order_id
    assert "Payment successful" in pay(checkout_sandbox, order_id)
    flows.inbox.apply_due()
    assert Order.objects.get(order_id=order_id).status == "processed"
