"""A reversed order that the list shows as paid: staff are asked, after two passes a day apart, and may restore it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.models import Checkout, Incident, Order
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory
from tests.support.flows.list_service import HOUR_AGO, ListService, document, listed
from tests.support.flows.shop import notification
from tests.support.flows.simulated_time import SimulatedTime, simulated_time

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("installed_long_ago")]
DAY = timedelta(days=1)


def incidents() -> list[str]:
    """Return the orders whose reversal may have been undone."""
    found = Incident.objects.filter(kind="reversal_undone", resolved_at=None)
    return list(found.values_list("order__order_id", flat=True))


def refund(deliver: Deliver, row: dict[str, object]) -> None:
    """Report the refund of an order by a signed notification."""
    order = {**row, "status": "refunded", "refunded": True, "refunded_at": HOUR_AGO.isoformat()}
    assert deliver(notification("payment.refund", order, at=HOUR_AGO)).status_code == 200


def read_everything(time: SimulatedTime | None = None, later: timedelta = DAY) -> None:
    """Read the whole list, after some time."""
    if time is not None:
        time.advance(later)
    assert flows.sync.sync_transactions(lane="all").state == "complete"


@pytest.fixture
def row(service: ListService, checkout_deliver: Deliver) -> dict[str, object]:
    """A paid order, reversed by notification, which the list goes on to show as paid."""
    checkout = CheckoutFactory()
    row = listed("won", metadata={"checkout_reference": checkout.reference})
    service.rows = [row, listed("other", 10)]
    read_everything()
    refund(checkout_deliver, row)
    assert Order.objects.get(order_id="won").status == "refunded"
    return row


def test_an_incident_is_opened_after_two_passes_a_day_apart(row: dict[str, object]) -> None:
    """One, though the row has not changed and is not read again; the order stays as it was."""
    with simulated_time() as time:
        read_everything(time, timedelta(hours=1))
        read_everything(time, timedelta(hours=20))
        assert incidents() == []
        read_everything(time, timedelta(hours=4))
        read_everything(time)
    assert incidents() == ["won"]
    assert Order.objects.get(order_id="won").status == "refunded"


def test_staff_restore_the_payment(row: dict[str, object]) -> None:
    """The goods are granted again, and nobody is asked again."""
    staff = User.objects.create(username="ada")
    with simulated_time() as time:
        for _ in range(2):
            read_everything(time)
        flows.operations.restore_payment(
            Order.objects.get(order_id="won"), staff=staff, reason="the dispute was won"
        )
        assert (Checkout.objects.get().status, incidents()) == ("paid", [])
        for _ in range(2):
            read_everything(time)
    assert incidents() == []


def test_a_list_that_shows_the_reversal_asks_nothing(service: ListService, row: dict[str, object]) -> None:
    """In the row of the order, though late."""
    with simulated_time() as time:
        read_everything(time, timedelta(hours=1))
        service.rows = [{**row, "status": "refunded"}]
        for _ in range(2):
            read_everything(time)
    assert incidents() == []


def test_a_reversal_that_is_a_row_of_its_own_asks_nothing(
    service: ListService, row: dict[str, object]
) -> None:
    """The order's own row rightly stays as it was."""
    service.rows = [row, document("its-refund", of="won")]
    with simulated_time() as time:
        for _ in range(3):
            read_everything(time)
    assert incidents() == []


def test_the_list_that_shows_it_paid_again_asks(service: ListService, row: dict[str, object]) -> None:
    """It had shown the reversal before."""
    with simulated_time() as time:
        service.rows = [{**row, "status": "refunded"}]
        read_everything(time)
        service.rows = [row]
        read_everything(time)
        assert incidents() == []
        read_everything(time)
    assert incidents() == ["won"]
