"""Passes over the list: missed payments are recovered once, and a failed pass does not move the watermark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from checkout_integration import flows
from checkout_integration.client import Client
from checkout_integration.conf import app_settings
from checkout_integration.flows.sync.watermark import OVERLAP, LaneTaken, Lease
from checkout_integration.models import Checkout, Incident, Order, SyncCursor, SyncRun, Transition
from checkout_integration.protocol.listing import TransactionFilter, TransactionPage
from checkout_integration.sandbox import Sandbox, SandboxProject, SandboxServer
from checkout_integration.signals import (
    checkout_paid,
    checkout_reversed,
    order_changed,
    payment_refund,
    payment_success,
)
from checkout_integration.testing.assertions import assert_granted, assert_revoked
from tests.support.flows.shop import Listening, ShopHooks, fault

pytestmark = pytest.mark.django_db


def sell() -> Checkout:
    """A checkout."""
    return flows.create_checkout(amount=Decimal("9.99"), currency="USD")


def settle(settings: Any, **changes: Any) -> None:
    """Change settings of the app."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **changes}


@contextmanager
def service(settings: Any, profile: str) -> Iterator[Sandbox]:
    """The sandbox as the specification has the service, or as the field has."""
    project = SandboxProject(project_id="test-project", secret_key="sandbox_test_secret")
    with Sandbox([project], profile=profile) as sandbox, SandboxServer(sandbox) as server:
        style = "brackets" if profile == "field" else "plain"
        urls = dict.fromkeys(("BASE_URL", "CHECKOUT_URL", "ORDER_FORM_URL"), server.url)
        settle(settings, LIST_ARRAY_STYLE=style, **urls)
        yield sandbox


@pytest.mark.spec("EP3-01", "SVC-04")
def test_lost_notification_is_made_up_for(checkout_sandbox: Sandbox, listen: Listening) -> None:
    """Its signals are sent once, and name the list as their source."""
    facts, granted = listen(payment_success), listen(checkout_paid)
    checkout = sell()
    checkout_sandbox.payments.pay(checkout.order_id)
    for _ in range(2):
        run = flows.sync.sync_transactions()
        flows.run_due()
    assert run.state == "complete"
    assert [each["source"] for each in facts + granted] == ["sync", "sync"]
    assert_granted(checkout)
    moved = Transition.objects.get(source="list")
    assert (moved.from_status, moved.to_status, moved.sync_run) == (
        "created",
        "processed",
        SyncRun.objects.first(),
    )


@pytest.mark.spec("SVC-04")
def test_late_notification_repeats_nothing(
    checkout_sandbox: Sandbox, live_server: LiveServer, listen: Listening
) -> None:
    """Notification and list row of one payment are one event."""
    heard = [listen(signal) for signal in (payment_success, checkout_paid, order_changed)]
    checkout = sell()
    fault(checkout_sandbox, "notification", "drop", times=1)
    checkout_sandbox.payments.pay(checkout.order_id)
    assert checkout_sandbox.wait_idle()
    flows.sync.sync_transactions()
    flows.run_due()
    checkout_sandbox.payments.resend(checkout.order_id)
    assert checkout_sandbox.wait_idle()
    flows.run_due()
    assert [len(each) for each in heard] == [1, 1, 1]


@pytest.mark.spec("SVC-04", "STA-06", "STA-07")
@pytest.mark.slow
@pytest.mark.parametrize("profile", ["field", "spec"])
@pytest.mark.parametrize("event", ["refund", "chargeback"])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("page_size", [2, 100])
def test_reversal_is_learnt_from_the_list(
    settings: Any, listen: Listening, profile: str, event: str, known: bool, page_size: int
) -> None:
    """Every notification is lost; the sync runs before the reversal as well, or only after it."""
    granted, taken = listen(checkout_paid), listen(checkout_reversed)
    with service(settings, profile) as sandbox:
        settle(settings, LIST_PAGE_SIZE=page_size)
        checkouts = [sell() for _ in range(3)]
        for checkout in checkouts:
            sandbox.payments.pay(checkout.order_id)
        if known:
            flows.sync.sync_transactions()
            flows.run_due()
        else:
            Order.objects.all().delete()
        sandbox.clock.advance(3600)
        for checkout in checkouts:
            getattr(sandbox.payments, event)(checkout.order_id)
        for _ in range(2):
            assert flows.sync.sync_transactions(lane="reversals").state == "complete"
            flows.run_due()
        if not known:
            # In the field the filter finds refund documents only; their orders come with the recent lane.
            flows.sync.sync_transactions()
    status = {"refund": "refunded", "chargeback": "chargeback"}[event]
    assert sorted(Order.objects.values_list("order_id", "status")) == sorted(
        (checkout.order_id, status) for checkout in checkouts
    )
    assert (len(granted), len(taken)) == ((3, 3) if known else (0, 0))
    if known:
        assert_revoked(checkouts[0])


def test_watermark_moves_after_a_complete_pass(checkout_sandbox: Sandbox) -> None:
    """To the pass's own start by the service's clock; the next pass begins before it."""
    flows.sync.sync_transactions()
    watermark = SyncCursor.objects.get(lane="recent").watermark
    assert watermark is not None
    assert abs(watermark - timezone.now()) < timedelta(minutes=1)
    run = flows.sync.sync_transactions()
    assert run.window_from == watermark - timedelta(hours=48, minutes=30)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["server_error", "too_many_requests"])
def test_failed_pass_does_not_move_the_watermark(checkout_sandbox: Sandbox, settings: Any, kind: str) -> None:
    """Rows that it read stay recorded; the rest is read again."""
    settle(settings, LIST_PAGE_SIZE=2, TIMEOUT=2)
    before = timezone.now() - timedelta(hours=1)
    SyncCursor.objects.create(project="default", lane="recent", watermark=before)
    for _ in range(5):
        checkout_sandbox.payments.pay(sell().order_id)
    fault(checkout_sandbox, "api", kind, "transactions", skip=1)
    run = flows.sync.sync_transactions()
    assert (run.state, run.pages, SyncCursor.objects.get().watermark) == ("failed", 1, before)
    assert run.failure
    assert Order.objects.filter(status="processed").count() == 2
    checkout_sandbox.faults.set([])
    assert flows.sync.sync_transactions().state == "complete"
    assert Order.objects.filter(status="processed").count() == 5
    after = SyncCursor.objects.get().watermark
    assert after is not None and after > before


def test_a_fault_of_our_own_is_named_in_its_pass(
    checkout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its class, and never by its message; it is raised again for the caller of the pass."""

    def fail(*_: Any) -> None:
        raise ZeroDivisionError("canary-of-a-fault")

    monkeypatch.setattr("checkout_integration.flows.sync.passes._record_page", fail)
    sell()
    with pytest.raises(ZeroDivisionError):
        flows.sync.sync_transactions()
    assert (SyncRun.objects.get().state, SyncRun.objects.get().failure) == ("failed", "ZeroDivisionError")


def test_a_pass_counts_the_rows_of_all_its_pages(checkout_sandbox: Sandbox, settings: Any) -> None:
    """Pages overlap, so there are at least as many as orders; and more than the last page alone has."""
    settle(settings, LIST_PAGE_SIZE=2)
    for _ in range(5):
        sell()
    run = flows.sync.sync_transactions()
    assert (run.state, run.pages > 2, run.rows >= 5) == ("complete", True, True)


def stand_still() -> Lease:
    """Take the lane as a pass does that then stands still for longer than its lease."""
    lease = Lease.take(app_settings().project(), "recent")
    SyncCursor.objects.update(busy_until=timezone.now() - timedelta(seconds=1))
    return lease


def test_paused_pass_cannot_move_the_watermark(checkout_sandbox: Sandbox) -> None:
    """While it slept another pass took the lane: its fence is no longer the cursor's."""
    paused = stand_still()
    flows.sync.sync_transactions()
    watermark = SyncCursor.objects.get().watermark
    paused.advance(timezone.now() + timedelta(days=1))
    assert SyncCursor.objects.get().watermark == watermark


def test_two_passes_do_not_read_one_lane(checkout_sandbox: Sandbox) -> None:
    """The second one is refused while the first one reads, and other lanes are free."""
    lease = Lease.take(app_settings().project(), "recent")
    with pytest.raises(LaneTaken, match="Another pass reads recent of default"):
        flows.sync.sync_transactions()
    assert flows.sync.sync_transactions(lane="all").state == "complete"
    lease.release()
    assert flows.sync.sync_transactions().state == "complete"


def test_a_pass_that_was_overtaken_writes_nothing(
    checkout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stood still for longer than its lease while it waited for a page: the page's transaction is rolled back."""
    checkout = sell()
    checkout_sandbox.payments.pay(checkout.order_id)
    fetch = Client.list_transactions

    def slowly(client: Client, query: TransactionFilter) -> TransactionPage:
        page = fetch(client, query)
        SyncCursor.objects.update(fence=F("fence") + 1)
        return page

    # A mock, since the moment between a page and its transaction has no other seam.
    monkeypatch.setattr(Client, "list_transactions", slowly)
    run = flows.sync.sync_transactions()
    assert (run.state, run.failure) == (
        "abandoned",
        "The pass has ended, or another one took over while this one stood still.",
    )
    assert Order.objects.get().status == "created"


def test_a_pass_whose_process_ended_is_abandoned(checkout_sandbox: Sandbox) -> None:
    """The next pass of the lane says so, once the lease of the first one is over."""
    stand_still()
    killed = SyncRun.objects.create(project="default", lane="recent", started_at=timezone.now())
    flows.sync.sync_transactions()
    killed.refresh_from_db()
    assert killed.state == "abandoned"
    assert killed.finished_at is not None


def test_watermark_never_goes_back(checkout_sandbox: Sandbox) -> None:
    """A clock that was set back loses nothing: the pass is complete, the watermark stays."""
    ahead = timezone.now() + timedelta(days=1)
    SyncCursor.objects.create(project="default", lane="recent", watermark=ahead)
    assert flows.sync.sync_transactions().state == "complete"
    assert SyncCursor.objects.get().watermark == ahead


@pytest.mark.spec("STA-06", "STA-07", "EP3-05")
@pytest.mark.parametrize("profile", ["field", "spec"])
def test_late_reversal_is_seen_by_its_own_lane(settings: Any, listen: Listening, profile: str) -> None:
    """A refund months later: where it is no row of its own, it lies outside of every window by creation date."""
    heard = listen(payment_refund)
    with service(settings, profile) as sandbox:
        checkout = sell()
        sandbox.payments.pay(checkout.order_id)
        for lane in flows.sync.LANES:
            flows.sync.sync_transactions(lane=lane)
        sandbox.clock.advance(180 * 24 * 3600)
        sandbox.payments.refund(checkout.order_id)
        SyncCursor.objects.update(watermark=timezone.now() + timedelta(days=180))
        flows.sync.sync_transactions(lane="reversals")
    flows.run_due()
    assert (Order.objects.get().status, len(heard)) == ("refunded", 1)
    assert_revoked(checkout)


def test_order_that_our_rules_refuse_does_not_stop_the_others(
    checkout_sandbox: Sandbox, hooks: type[ShopHooks]
) -> None:
    """It becomes an incident; every other order of the page and of the list is recorded."""
    sold = [sell() for _ in range(3)]
    for checkout in sold:
        checkout_sandbox.payments.pay(checkout.order_id)
    Order.objects.all().delete()
    Checkout.objects.filter(pk=sold[1].pk).delete()

    def resolve(order: Any) -> None:
        raise KeyError("a bug of the shop")

    hooks.resolve = staticmethod(resolve)
    run = flows.sync.sync_transactions()
    assert run.state == "complete"
    assert Order.objects.filter(status="processed").count() == 2
    assert [each.kind for each in Incident.objects.all()] == ["not_applied"]
    assert Incident.objects.get().detail == f"KeyError at order {sold[1].order_id}"
    hooks.resolve = staticmethod(lambda order: None)
    flows.sync.sync_transactions()
    assert Order.objects.filter(status="processed").count() == 3


@pytest.mark.spec("EP3-04")
def test_projects_have_cursors_of_their_own(checkout_sandbox: Sandbox) -> None:
    """And lanes too."""
    flows.sync.sync_transactions()
    flows.sync.sync_transactions(lane="all")
    assert sorted(SyncCursor.objects.values_list("lane", flat=True)) == ["all", "recent"]
    with pytest.raises(KeyError):
        flows.sync.sync_transactions("nobody")
    with pytest.raises(KeyError):
        flows.sync.sync_transactions(lane="fast")


@pytest.mark.spec("EP3-03", "EP3-09")
def test_one_order_is_requested_now(checkout_sandbox: Sandbox) -> None:
    """Staff ask about an order, or about a checkout; both go through the same ledger."""
    first, second = sell(), sell()
    checkout_sandbox.payments.pay(first.order_id)
    checkout_sandbox.payments.pay(second.order_id)
    assert flows.refresh_order(Order.objects.get(order_id=first.order_id))
    assert Order.objects.get(order_id=first.order_id).status == "processed"
    assert Order.objects.get(order_id=second.order_id).status == "created"
    assert flows.refresh_checkout(second)
    flows.run_due()
    assert_granted(second)


def test_unknown_checkout_is_not_found(checkout_sandbox: Sandbox) -> None:
    """Nothing was made under its reference."""
    checkout = Checkout.objects.create(project="default", type="simple")
    assert not flows.refresh_checkout(checkout)


def test_clock_that_is_far_ahead_is_not_believed(checkout_sandbox: Sandbox) -> None:
    """One response from the next century must neither outrank later observations nor stop the lane."""
    checkout = sell()
    checkout_sandbox.payments.pay(checkout.order_id)
    checkout_sandbox.clock.advance(36500 * 24 * 3600)
    assert flows.sync.sync_transactions().state == "complete"
    order, soon = Order.objects.get(), timezone.now() + timedelta(days=2)
    assert order.status == "processed"
    assert max(slot.get("at", "") for slot in order.facts["slots"].values()) < soon.isoformat()
    watermark = SyncCursor.objects.get().watermark
    assert watermark is not None and watermark - OVERLAP < timezone.now()
