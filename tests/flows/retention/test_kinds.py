"""What goes of each kind, and what stays."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.models import (
    FailedAttempt,
    Grant,
    Notification,
    Order,
    OutboxMessage,
    ReceiverRun,
    SyncDifference,
    SyncRun,
    SyncWindow,
    ValidationDecision,
)
from checkout_integration.signals import (
    checkout_paid,
    checkout_reversed,
    payment_review,
    user_validated,
)
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory, UserDocumentFactory
from tests.support.flows.aged import age, prune_after, story
from tests.support.flows.shop import (
    Failing,
    Listening,
    ShopHooks,
    disown,
    notification,
    own,
    owned,
    record_listed,
)

pytestmark = pytest.mark.django_db


def test_bodies_that_somebody_needs_stay(checkout_deliver: Deliver, settings: Any) -> None:
    """Those of stored, failed and quarantined notifications; the rows of all stay."""
    prune_after(settings)
    for each in story():
        checkout_deliver(each)
    states = [Notification.State.STORED, Notification.State.FAILED, Notification.State.QUARANTINED]
    rows = list(Notification.objects.order_by("pk"))
    for row, word in zip(rows, states, strict=False):
        Notification.objects.filter(pk=row.pk).update(state=word)
    age()
    flows.retention.prune("notification_bodies")
    assert Notification.objects.count() == len(rows)
    assert set(Notification.objects.filter(body__isnull=False).values_list("state", flat=True)) == set(states)


def test_a_pruned_body_cannot_be_applied_again(checkout_deliver: Deliver, settings: Any) -> None:
    """Staff read why; nothing fails later."""
    prune_after(settings)
    checkout_deliver(story()[0])
    age()
    flows.retention.prune("notification_bodies")
    with pytest.raises(flows.operations.NotApplicable, match="pruned"):
        flows.operations.preview_notification(Notification.objects.get(), again=True)


def test_decisions_lose_their_texts_and_give_the_same_response(
    checkout_deliver: Deliver, hooks: type[ShopHooks], listen: Listening, settings: Any
) -> None:
    """The customer's id, the reason and the customer go; outcome and hash stay, so yesterday's question has its answer."""
    prune_after(settings)
    heard = listen(user_validated)
    question = notification("user.validate", UserDocumentFactory(external_id="player-7", id="service-7"))
    assert checkout_deliver(question).status_code == 403
    age()
    assert flows.retention.prune_all()["validation_decisions"] == 1
    assert flows.retention.prune("validation_decisions") == 0
    hooks.user = staticmethod(lambda user: True)
    assert checkout_deliver(question).status_code == 403
    decision = ValidationDecision.objects.get()
    assert (decision.external_id, decision.reason, decision.user, decision.approved) == ("", "", None, False)
    stored = Notification.objects.get()
    assert (stored.object_id, stored.body) == ("", None)
    assert len(heard) == 1


def test_the_body_of_a_request_goes_with_its_decision(
    checkout_deliver: Deliver, hooks: type[ShopHooks], settings: Any
) -> None:
    """Nothing would lead an erasure of the customer to it."""
    prune_after(settings, validation_decisions=30)
    checkout_deliver(notification("user.validate", UserDocumentFactory(external_id="player-7")))
    age()
    flows.retention.prune_all()
    assert flows.privacy.find_persons(external_id="player-7") == []
    assert Notification.objects.get().body is None


def test_a_quarantined_body_that_comes_again_sends_no_other_alert(
    checkout_deliver: Deliver, settings: Any
) -> None:
    """Its message was pruned since."""
    prune_after(settings)
    body = b'{"id":"x","id":"y","event":"payment.success"}'
    checkout_deliver(body)
    assert OutboxMessage.objects.filter(signal="notification_failed").count() == 1
    age()
    flows.retention.prune("outbox_messages")
    assert not OutboxMessage.objects.exists()
    checkout_deliver(body)
    assert not OutboxMessage.objects.exists()


@pytest.mark.parametrize("end", ["failed", "due"])
def test_messages_with_runs_that_are_not_done_stay(
    checkout_deliver: Deliver, listen: Listening, settings: Any, end: str
) -> None:
    """A dead letter waits for staff, however old it is."""
    prune_after(settings)
    listen(checkout_paid, Failing(), name="shop.failing")
    listen(checkout_paid, name="shop.sound")
    checkout_deliver(story()[0])
    ReceiverRun.objects.filter(receiver="shop.failing").update(state=end)
    age()
    flows.retention.prune("outbox_messages")
    assert set(OutboxMessage.objects.values_list("signal", flat=True)) == {"checkout_paid"}
    assert ReceiverRun.objects.count() == 2
    assert FailedAttempt.objects.count() == 1


def test_what_ended_lately_stays(checkout_deliver: Deliver, listen: Listening, settings: Any) -> None:
    """An old message whose receiver was run again yesterday."""
    prune_after(settings)
    listen(checkout_paid)
    checkout_deliver(story()[0])
    age()
    ReceiverRun.objects.update(finished_at=timezone.now())
    flows.retention.prune("outbox_messages")
    assert OutboxMessage.objects.get().signal == "checkout_paid"


def test_a_second_payment_is_reviewed_once_for_ever(
    checkout_deliver: Deliver, listen: Listening, settings: Any
) -> None:
    """A second payment is reviewed once, also where the first one is charged back a year later."""
    prune_after(settings)
    reviews = listen(payment_review)
    sent = story()
    for each in sent:
        checkout_deliver(each)
    assert [each["reason"] for each in reviews] == ["paid_twice"]
    age(365)
    flows.retention.prune_all()
    third = {**sent[3]["object"], "id": "order-third", "transaction": "third"}
    checkout_deliver(notification(order=third))
    assert [each["order"].order_id for each in reviews] == [reviews[0]["order"].order_id, "order-third"]


def test_goods_are_revoked_after_their_runs_were_pruned(
    checkout_deliver: Deliver, listen: Listening, settings: Any
) -> None:
    """The grant says who granted them; a chargeback comes months later."""
    prune_after(settings)
    listen(checkout_paid, own, name="shop.grant")
    listen(checkout_reversed, disown, name="shop.revoke")
    sent = story()
    checkout_deliver(sent[2])
    age()
    flows.retention.prune_all()
    assert (ReceiverRun.objects.count(), Grant.objects.get().completed) == (0, ["shop.grant"])
    assert owned() == 1
    checkout_deliver(sent[6])
    assert owned() == 0


def test_a_replay_gives_nobody_a_pruned_event(
    checkout_deliver: Deliver, listen: Listening, settings: Any
) -> None:
    """A message goes with its runs: alone it would look like one that nobody has received."""
    prune_after(settings)
    heard = listen(checkout_paid, name="shop.grant")
    checkout_deliver(story()[0])
    age()
    flows.retention.prune_all()
    assert flows.outbox.replay_events(flows.outbox.ReplaySelection(receiver="shop.grant")) == 0
    flows.run_due()
    assert len(heard) == 1


def differ(run: SyncRun, state: str) -> None:
    """Let a pass have found a difference."""
    key = run.pk if state == "waiting" else None
    values = {"kind": "status", "order_id": "1", "waiting_key": key, "found_at": timezone.now()}
    SyncDifference.objects.create(run=run, project="default", state=state, **values)


def passes() -> set[str]:
    """Return the lanes whose passes are stored."""
    return set(SyncRun.objects.values_list("lane", flat=True))


def test_passes_go_with_windows_and_healed_differences(checkout_sandbox: Any, settings: Any) -> None:
    """Of each lane the last complete one stays, by which it is known when the lane was read."""
    prune_after(settings)
    for _ in range(3):
        for lane in ("recent", "all"):
            assert flows.sync.sync_transactions(lane=lane).state == "complete"
    differ(SyncRun.objects.order_by("pk")[1], "healed")
    unsynced = flows.sync.unsynced_for("default")
    age()
    assert flows.retention.prune("sync_runs") == 3
    # The first one of the recent orders, too: it has no beginning, as a pass over everything.
    assert (passes(), SyncRun.objects.count(), SyncWindow.objects.count()) == ({"recent", "all"}, 3, 3)
    assert not SyncDifference.objects.exists()
    assert flows.sync.unsynced_for("default") >= unsynced + timedelta(days=30)


def test_a_pass_that_found_what_still_waits_stays(checkout_sandbox: Any, settings: Any) -> None:
    """Its difference is listed once, as long as it waits."""
    prune_after(settings)
    for _ in range(2):
        flows.sync.sync_transactions(lane="all")
    first = SyncRun.objects.order_by("pk")[0]
    for state in ("waiting", "healed"):
        differ(first, state)
    age()
    flows.retention.prune("sync_runs")
    assert SyncDifference.objects.get().state == "waiting"
    assert SyncRun.objects.count() == 2
    assert flows.retention.prune("sync_runs") == 0


def test_a_pass_that_changed_an_order_stays(checkout_sandbox: Any, settings: Any) -> None:
    """The order's history names it as the cause."""
    prune_after(settings)
    record_listed([OrderDocumentFactory()])
    for _ in range(2):
        flows.sync.sync_transactions(lane="all")
    first = SyncRun.objects.order_by("pk")[0]
    Order.objects.get().transitions.create(sync_run=first, to_status="processed", source="list")
    age()
    assert flows.retention.prune("sync_runs") == 0
