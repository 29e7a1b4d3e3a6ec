"""SQLite as Django sets it up: a transaction that has read may not write any more once another one has written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import count
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import OperationalError, connection

from checkout_integration import flows
from checkout_integration.flows.ledger.batch import lock
from checkout_integration.models import Checkout, Order
from checkout_integration.sandbox import Sandbox
from tests.support.flows.concurrency import in_background

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def _deferred() -> Iterator[None]:
    """Transactions that begin as reading ones."""
    if connection.vendor != "sqlite":
        pytest.skip("looks at SQLite only")
    options: dict[str, Any] = connection.settings_dict["OPTIONS"]
    connection.close()
    mode = options.pop("transaction_mode")
    yield
    connection.close()
    options["transaction_mode"] = mode


@pytest.fixture
def _others_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let another connection write, if it can, after the ledger has read and before it writes."""
    numbers = count()

    def write() -> None:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 0")
        try:
            Group.objects.create(name=f"written meanwhile, {next(numbers)}")
        except OperationalError:
            return  # it would wait for us

    def lock_later(*arguments: Any) -> Any:
        in_background(write).join()
        return lock(*arguments)

    monkeypatch.setattr("checkout_integration.flows.ledger.recording.lock", lock_later)


def paid(sandbox: Sandbox) -> Checkout:
    """Return a checkout that is paid at the service; no notification has come."""
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    sandbox.payments.pay(checkout.order_id)
    return checkout


@pytest.mark.usefixtures("_deferred", "_others_write")
@pytest.mark.parametrize(
    "look",
    [lambda checkout: flows.sync.sync_transactions(), flows.refresh_checkout],
    ids=["sync", "refresh"],
)
def test_checkout_is_recorded_while_others_write(
    checkout_sandbox: Sandbox, look: Callable[[Checkout], object]
) -> None:
    """The creation and the payment are both written, while other processes write."""
    checkout = paid(checkout_sandbox)
    assert checkout.status == "open"
    look(checkout)
    assert Order.objects.get(checkout=checkout).status == "processed"
