"""Every fault of notifications ends in the right state of the shop: one effect, or a refusal or incident as due."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.flows.database import installation
from checkout_integration.models import Checkout, Incident, Notification
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import checkout_paid, checkout_reversed
from checkout_integration.testing.service import running_sandbox
from tests.support.flows.shop import Heard, Listening
from tests.support.paths.fault_rows import NOTIFICATION_ROWS, NotificationRow

TRIALS = [
    pytest.param(row, profile, id=f"{row.name}-{profile}")
    for row in NOTIFICATION_ROWS
    for profile in row.profiles
]


@pytest.fixture
def checkout_sandbox(profile: str, settings: Any, live_server: Any) -> Iterator[Sandbox]:
    """Run the sandbox of the test kit in a profile."""
    with running_sandbox(settings, live_server.url, profile=profile) as sandbox:
        yield sandbox


@pytest.fixture
def effects(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Heard, Heard]]:
    """Give the calls of the shop's receivers: checkouts paid and checkouts reversed."""
    monkeypatch.setattr(installation, "known_projects", set())
    listening = Listening()
    yield listening(checkout_paid), listening(checkout_reversed)
    listening.end()


def tell(sandbox: Sandbox, order_id: str, story: tuple[str | int, ...]) -> None:
    """Play the story; after each step run due work at the service and in the shop."""
    for step in story:
        if isinstance(step, int):
            sandbox.clock.advance(step)
        elif step == "sync":
            flows.sync.sync_transactions()
        else:
            getattr(sandbox.payments, step)(order_id)
        assert sandbox.wait_idle()
        flows.run_due()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("row", "profile"), TRIALS)
def test_every_fault_has_its_end(
    row: NotificationRow,
    profile: str,
    settings: Any,
    checkout_sandbox: Sandbox,
    effects: tuple[Heard, Heard],
) -> None:
    """Through the real receiver, over real sockets."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **row.settings}
    checkout_sandbox.projects.update("test-project", retry_limit=2)
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    checkout_sandbox.faults.set_from({"seed": 7, "rules": [row.rule]})
    tell(checkout_sandbox, checkout.order_id, tuple(row.story))
    answers = [
        str(entry.status)
        for entry in checkout_sandbox.log.entries()
        if entry.direction == "out" and entry.status
    ]
    checkout = Checkout.objects.get(pk=checkout.pk)
    assert " ".join(answers) == row.answers
    assert [order.status for order in checkout.orders.all()] == [row.status]
    assert tuple(map(len, effects)) == (row.granted, row.taken_back)
    assert Notification.objects.values("key").distinct().count() == row.stored
    assert tuple(Incident.objects.values_list("kind", flat=True)) == tuple(row.incidents)
