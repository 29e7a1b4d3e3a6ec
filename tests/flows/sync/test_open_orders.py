"""What is open here is read again at certain ages, so that a late payment whose notification was lost is found."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.conf import app_settings
from checkout_integration.flows.sync.lanes import MOST_BY_ID, open_pages
from checkout_integration.flows.sync.service import client_for
from checkout_integration.models import Checkout, Order, SyncRun
from checkout_integration.protocol.listing import TransactionFilter
from checkout_integration.sandbox import Sandbox
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.flows.list_service import ListService, listed
from tests.support.flows.simulated_time import HOUR, simulated_time, sync_due

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def sell() -> Checkout:
    """Create a checkout whose order the service has; nobody has paid it."""
    return flows.create_checkout(amount=Decimal("9.99"), currency="USD")


def is_paid(checkout: Checkout) -> bool:
    """Return whether this shop knows of the payment."""
    checkout.refresh_from_db()
    return checkout.status == "paid"


@pytest.mark.spec("SVC-04")
@pytest.mark.slow
@pytest.mark.parametrize("others", [0, MOST_BY_ID + 1], ids=["by id", "by the list"])
@pytest.mark.parametrize("known", [True, False], ids=["order known", "order unknown"])
def test_a_late_payment_is_found_within_a_day(
    service: ListService, installed_long_ago: None, known: bool, others: int
) -> None:
    """Of an order from four days ago, which the lane of recent orders does not reach any more."""
    checkout = CheckoutFactory(expected_amount=Decimal("9.99"))
    CheckoutFactory.create_batch(others)
    row = listed("late", 60, metadata={"checkout_reference": checkout.reference}, status="created")
    service.rows = [row] if known else []
    with simulated_time() as time:
        sync_due()
        for _ in range(16):
            time.advance(6 * HOUR)
        assert Order.objects.count() == known
        service.rows = [{**row, "status": "processed"}]
        assert time.hours_until(lambda: is_paid(checkout), 25) <= 24
    assert SyncRun.objects.filter(changed=1).latest("pk").lane == "open"


def test_a_late_chargeback_is_found_within_a_day(checkout_sandbox: Sandbox) -> None:
    """Half a year after the payment."""
    checkout = sell()
    checkout_sandbox.payments.pay(checkout.order_id)
    with simulated_time(checkout_sandbox) as time:
        sync_due()
        assert is_paid(checkout)
        time.advance(179 * DAY)
        checkout_sandbox.payments.chargeback(checkout.order_id)
        assert time.hours_until(lambda: not is_paid(checkout), 25) <= 24
    assert Checkout.objects.get().status == "reversed"


def test_what_is_not_open_is_not_read(checkout_sandbox: Sandbox) -> None:
    """Where everything is paid, a pass sends no request, and its watermark moves on."""
    OrderFactory(status="processed", checkout=CheckoutFactory(status="paid"))
    run = flows.sync.sync_transactions(lane="open")
    assert (run.state, run.pages, run.rows) == ("complete", 0, 0)


@pytest.mark.parametrize(
    ("status", "read"),
    [
        pytest.param("created", 1, marks=pytest.mark.spec("STA-02")),
        pytest.param("pending", 1, marks=pytest.mark.spec("STA-09", "EP3-05")),
        pytest.param("processed", 0, marks=pytest.mark.spec("STA-03")),
        pytest.param("rejected", 0, marks=pytest.mark.spec("STA-05")),
    ],
)
def test_what_may_still_be_paid_is_read(service: ListService, status: str, read: int) -> None:
    """An order without a checkout: until it has an end it may change."""
    order = OrderFactory(status="created", checkout=None)
    Order.objects.update(status=status)
    run = flows.sync.sync_transactions(lane="open", date_from=order.created_at - HOUR)
    assert run.pages == read


@pytest.mark.spec("EP3-03", "EP3-09")
def test_open_ones_are_read_one_by_one(checkout_sandbox: Sandbox) -> None:
    """A request for each checkout, and for each open order whose checkout cannot be paid. Young ones are left out."""
    checkouts = [sell() for _ in range(3)]
    with simulated_time(checkout_sandbox) as time:
        time.advance(HOUR)
        assert SyncRun.objects.get(lane="open").pages == 0
        Checkout.objects.filter(pk=checkouts[0].pk).update(status="failed")
        time.advance(2 * HOUR)
        runs = SyncRun.objects.filter(lane="open").order_by("-pk")
        assert (runs[0].pages, runs[0].rows) == (3, 3)
        time.advance(HOUR)
        assert runs[0].pages == 0


def test_many_are_read_from_the_list(checkout_sandbox: Sandbox) -> None:
    """A page has a hundred of them."""
    sell()
    CheckoutFactory.create_batch(MOST_BY_ID)
    with simulated_time(checkout_sandbox) as time:
        time.advance(3 * HOUR)
    run = SyncRun.objects.get(lane="open")
    assert run.state == "complete"
    assert 0 < run.pages < 3


def test_a_given_period_is_read_at_once(checkout_sandbox: Sandbox) -> None:
    """It does not move the watermark: the others are due as before."""
    checkout = sell()
    checkout_sandbox.payments.pay(checkout.order_id)
    run = flows.sync.sync_transactions(lane="open", date_from=checkout.recorded_at - HOUR)
    assert (run.state, is_paid(checkout)) == ("complete", True)
    assert "open" in flows.sync.lanes_due()


def test_a_dry_run_says_what_is_paid_there(checkout_sandbox: Sandbox) -> None:
    """And writes nothing."""
    checkout = sell()
    checkout_sandbox.payments.pay(checkout.order_id)
    run = flows.sync.sync_transactions(lane="open", date_from=checkout.recorded_at - HOUR, dry_run=True)
    (difference,) = flows.sync.drift_report(run).differences
    assert (difference.order_id, difference.there) == (checkout.order_id, "processed 9.99 USD")
    assert not is_paid(checkout)


@pytest.mark.spec("EP3-09", "EP3-03")
@pytest.mark.parametrize("used", ["reference", ""])
def test_an_order_is_found_whatever_invoice_id_means(
    service: ListService, caplog: pytest.LogCaptureFixture, settings: Any, used: str
) -> None:
    """If it finds no references, the order's own id does; the log names the setting that saves the first request."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_INVOICE_ID": used}
    checkout = CheckoutFactory(order_id="order-7", expected_amount=Decimal("9.99"))
    service.rows = [listed("order-7", metadata={"another_key": checkout.reference}, status="processed")]
    assert flows.refresh_checkout(checkout)
    assert Order.objects.get().checkout == checkout
    assert ("LIST_INVOICE_ID" in caplog.text) is bool(used)
    assert service.pages == (2 if used else 1)


@pytest.mark.spec("EP3-09")
def test_invoice_id_is_the_reference_of_the_checkout(service: ListService) -> None:
    """It is the shop's own identifier, not the service's: one request finds the order."""
    checkout = CheckoutFactory(order_id="order-7", expected_amount=Decimal("9.99"))
    service.rows = [
        listed("order-7", metadata={"checkout_reference": checkout.reference}, status="processed")
    ]
    requests: list[Mapping[str, list[str]]] = []
    service.before_page = requests.append
    flows.refresh_checkout(checkout)
    assert requests[0]["invoice_id"] == [checkout.reference]


@pytest.mark.spec("EP3-09")
def test_open_checkouts_are_read_without_invoice_id(service: ListService, settings: Any) -> None:
    """Those with an order by its id; if one has none, the period is read."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_INVOICE_ID": ""}
    first = CheckoutFactory(order_id="order-1", status="open")
    requests: list[Mapping[str, list[str]]] = []
    service.before_page = requests.append
    with client_for(app_settings().project()) as client:
        pages = partial(open_pages, app_settings().project(), client, TransactionFilter(), [(None, None)])
        assert len(list(pages())) == 1
        assert [query.get("id") for query in requests] == [[first.order_id]]
        CheckoutFactory(order_id="", status="open")
        requests.clear()
        list(pages())
    assert [query.get("id") for query in requests] == [None]
    assert not any("invoice_id" in query for query in requests)
