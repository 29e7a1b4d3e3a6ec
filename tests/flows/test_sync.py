"""Reading the list: what was missed is made up for, once, and a pass that fails moves nothing (G6)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from checkout_integration import flows
from checkout_integration.flows import sync
from checkout_integration.models import Checkout, Incident, Order, SyncCursor, SyncRun, Transition
from checkout_integration.sandbox import Sandbox, SandboxProject, SandboxServer
from checkout_integration.signals import (
    checkout_paid,
    checkout_reversed,
    order_changed,
    payment_refund,
    payment_success,
)
from checkout_integration.testing.assertions import assert_granted, assert_taken_back
from tests.flows.shop import Listening, ShopHooks, fault

pytestmark = pytest.mark.django_db


def sell() -> Checkout:
    """A sale."""
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
    """The signals that it would have sent are sent, once, and say where the news came from."""
    facts, granted = listen(payment_success), listen(checkout_paid)
    checkout = sell()
    checkout_sandbox.payments.pay(checkout.order_id)
    for _ in range(2):
        run = flows.sync_transactions()
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


def test_late_notification_repeats_nothing(
    checkout_sandbox: Sandbox, live_server: LiveServer, listen: Listening
) -> None:
    """The same news by both ways is one event."""
    heard = [listen(signal) for signal in (payment_success, checkout_paid, order_changed)]
    checkout = sell()
    fault(checkout_sandbox, "notification", "drop", times=1)
    checkout_sandbox.payments.pay(checkout.order_id)
    assert checkout_sandbox.wait_idle()
    flows.sync_transactions()
    flows.run_due()
    checkout_sandbox.payments.resend(checkout.order_id)
    assert checkout_sandbox.wait_idle()
    flows.run_due()
    assert [len(each) for each in heard] == [1, 1, 1]


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
            flows.sync_transactions()
            flows.run_due()
        else:
            Order.objects.all().delete()
        sandbox.clock.advance(3600)
        for checkout in checkouts:
            getattr(sandbox.payments, event)(checkout.order_id)
        for _ in range(2):
            assert flows.sync_transactions(lane="reversals").state == "complete"
            flows.run_due()
        if not known:
            # In the field the filter finds refund documents only; their orders come with the recent lane.
            flows.sync_transactions()
    status = {"refund": "refunded", "chargeback": "chargeback"}[event]
    assert sorted(Order.objects.values_list("order_id", "status")) == sorted(
        (checkout.order_id, status) for checkout in checkouts
    )
    assert (len(granted), len(taken)) == ((3, 3) if known else (0, 0))
    if known:
        assert_taken_back(checkouts[0])


def test_watermark_moves_after_a_complete_pass(checkout_sandbox: Sandbox) -> None:
    """To the pass's own start by the service's clock; the next pass begins before it."""
    flows.sync_transactions()
    watermark = SyncCursor.objects.get(lane="recent").watermark
    assert watermark is not None
    assert abs(watermark - timezone.now()) < timedelta(minutes=1)
    run = flows.sync_transactions()
    assert run.window_from == watermark - timedelta(hours=48, minutes=30)


@pytest.mark.parametrize("kind", ["server_error", "too_many_requests"])
def test_failed_pass_does_not_move_the_watermark(checkout_sandbox: Sandbox, settings: Any, kind: str) -> None:
    """What it did read stands; the rest is read again."""
    settle(settings, LIST_PAGE_SIZE=2, TIMEOUT=2)
    before = timezone.now() - timedelta(hours=1)
    SyncCursor.objects.create(project="default", lane="recent", watermark=before)
    for _ in range(5):
        checkout_sandbox.payments.pay(sell().order_id)
    fault(checkout_sandbox, "api", kind, "transactions", skip=1)
    run = flows.sync_transactions()
    assert (run.state, run.pages, SyncCursor.objects.get().watermark) == ("failed", 1, before)
    assert run.failure
    assert Order.objects.filter(status="processed").count() == 2
    checkout_sandbox.faults.set([])
    assert flows.sync_transactions().state == "complete"
    assert Order.objects.filter(status="processed").count() == 5
    after = SyncCursor.objects.get().watermark
    assert after is not None and after > before


def test_a_fault_of_our_own_is_named_in_its_pass(
    checkout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its class, and never by its words; it is raised again for whoever runs the pass."""

    def fail(*_: Any) -> None:
        raise ZeroDivisionError("canary-of-a-fault")

    monkeypatch.setattr("checkout_integration.flows.sync._record_page", fail)
    sell()
    with pytest.raises(ZeroDivisionError):
        flows.sync_transactions()
    assert (SyncRun.objects.get().state, SyncRun.objects.get().failure) == ("failed", "ZeroDivisionError")


def test_a_pass_counts_the_rows_of_all_its_pages(checkout_sandbox: Sandbox, settings: Any) -> None:
    """Pages overlap, so there are at least as many as orders; and more than the last page alone has."""
    settle(settings, LIST_PAGE_SIZE=2)
    for _ in range(5):
        sell()
    run = flows.sync_transactions()
    assert (run.state, run.pages > 2, run.rows >= 5) == ("complete", True, True)


def test_paused_pass_cannot_move_the_watermark(checkout_sandbox: Sandbox) -> None:
    """While it slept another pass took the cursor: its fence is no longer the cursor's (A.35)."""
    from checkout_integration.conf import app_settings

    paused = sync._take_cursor(app_settings().project(), sync.LANES["recent"])
    flows.sync_transactions()
    watermark = SyncCursor.objects.get().watermark
    sync._advance(paused, timezone.now() + timedelta(days=1))
    assert SyncCursor.objects.get().watermark == watermark


def test_watermark_never_goes_back(checkout_sandbox: Sandbox) -> None:
    """A clock that was set back loses nothing: the pass is complete, the watermark stays."""
    ahead = timezone.now() + timedelta(days=1)
    SyncCursor.objects.create(project="default", lane="recent", watermark=ahead)
    assert flows.sync_transactions().state == "complete"
    assert SyncCursor.objects.get().watermark == ahead


@pytest.mark.parametrize("profile", ["field", "spec"])
def test_late_reversal_is_seen_by_its_own_lane(settings: Any, listen: Listening, profile: str) -> None:
    """A refund months later: where it is no row of its own, it lies outside of every window by creation date (A.33)."""
    heard = listen(payment_refund)
    with service(settings, profile) as sandbox:
        checkout = sell()
        sandbox.payments.pay(checkout.order_id)
        for lane in sync.LANES:
            flows.sync_transactions(lane=lane)
        sandbox.clock.advance(180 * 24 * 3600)
        sandbox.payments.refund(checkout.order_id)
        SyncCursor.objects.update(watermark=timezone.now() + timedelta(days=180))
        flows.sync_transactions(lane="reversals")
    flows.run_due()
    assert (Order.objects.get().status, len(heard)) == ("refunded", 1)
    assert_taken_back(checkout)


def test_order_that_our_rules_refuse_does_not_stop_the_others(
    checkout_sandbox: Sandbox, hooks: type[ShopHooks]
) -> None:
    """It becomes an incident; every other order of the page and of the list is recorded (G10)."""
    sold = [sell() for _ in range(3)]
    for checkout in sold:
        checkout_sandbox.payments.pay(checkout.order_id)
    Order.objects.all().delete()
    Checkout.objects.filter(pk=sold[1].pk).delete()

    def resolve(order: Any) -> None:
        raise KeyError("a bug of the shop")

    hooks.resolve = staticmethod(resolve)
    run = flows.sync_transactions()
    assert run.state == "complete"
    assert Order.objects.filter(status="processed").count() == 2
    assert [each.kind for each in Incident.objects.all()] == ["not_applied"]
    assert Incident.objects.get().detail == f"KeyError at order {sold[1].order_id}"
    hooks.resolve = staticmethod(lambda order: None)
    flows.sync_transactions()
    assert Order.objects.filter(status="processed").count() == 3


def test_projects_have_cursors_of_their_own(checkout_sandbox: Sandbox) -> None:
    """And lanes too."""
    flows.sync_transactions()
    flows.sync_transactions(lane="all")
    assert sorted(SyncCursor.objects.values_list("lane", flat=True)) == ["all", "recent"]
    with pytest.raises(KeyError):
        flows.sync_transactions("nobody")
    with pytest.raises(KeyError):
        flows.sync_transactions(lane="fast")


@pytest.mark.spec("EP3-03", "EP3-09")
def test_one_order_is_asked_for_now(checkout_sandbox: Sandbox) -> None:
    """Staff ask about an order, or about a sale; both go through the same ledger."""
    first, second = sell(), sell()
    checkout_sandbox.payments.pay(first.order_id)
    checkout_sandbox.payments.pay(second.order_id)
    assert flows.refresh_order(Order.objects.get(order_id=first.order_id))
    assert Order.objects.get(order_id=first.order_id).status == "processed"
    assert Order.objects.get(order_id=second.order_id).status == "created"
    assert flows.refresh_checkout(second)
    flows.run_due()
    assert_granted(second)


def test_unknown_sale_is_not_found(checkout_sandbox: Sandbox) -> None:
    """Nothing was made under its reference."""
    checkout = Checkout.objects.create(project="default", type="simple")
    assert not flows.refresh_checkout(checkout)


def test_clock_that_is_far_ahead_is_not_believed(checkout_sandbox: Sandbox) -> None:
    """One answer from the next century must not outrank all later news, nor let the lane wait for it."""
    checkout = sell()
    checkout_sandbox.payments.pay(checkout.order_id)
    checkout_sandbox.clock.advance(36500 * 24 * 3600)
    assert flows.sync_transactions().state == "complete"
    order, soon = Order.objects.get(), timezone.now() + timedelta(days=2)
    assert order.status == "processed"
    assert max(slot.get("at", "") for slot in order.facts["slots"].values()) < soon.isoformat()
    watermark = SyncCursor.objects.get().watermark
    assert watermark is not None and watermark - sync.OVERLAP < timezone.now()
