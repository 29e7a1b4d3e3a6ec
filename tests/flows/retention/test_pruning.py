"""Pruning: what goes, what stays, and that whatever is delivered again afterwards changes nothing."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.flows.retention import pruning
from checkout_integration.models import (
    Grant,
    Incident,
    Notification,
    Order,
    Transition,
)
from checkout_integration.signals import (
    SIGNALS,
    checkout_paid,
    checkout_reversed,
    health_changed,
)
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import UserDocumentFactory
from tests.support.flows.aged import RETENTION, age, prune_after, story
from tests.support.flows.shop import (
    Listening,
    ShopHooks,
    disown,
    notification,
    own,
    owned,
)
from tests.support.tables import rows_of_all_tables

pytestmark = pytest.mark.django_db
COUNTED = {"checkout_integration_notification"}
"""A body that comes again is counted there."""


def state() -> dict[str, list[str]]:
    """Return every row of the app, except where receipts are counted."""
    return {
        name: rows
        for name, rows in rows_of_all_tables().items()
        if name.startswith("checkout_integration_") and name not in COUNTED
    }


def test_without_the_setting_nothing_is_pruned(checkout_deliver: Deliver, listen: Listening) -> None:
    """The default keeps everything."""
    listen(checkout_paid)
    for each in story():
        checkout_deliver(each)
    age(4_000)
    before = rows_of_all_tables()
    assert flows.retention.prune_all() == {}
    assert rows_of_all_tables() == before


def test_a_kind_without_days_stays(checkout_deliver: Deliver, settings: Any) -> None:
    """Only what the setting names goes."""
    prune_after(settings, sync_runs=30)
    checkout_deliver(story()[0])
    age()
    assert flows.retention.prune_all() == {"sync_runs": 0}
    assert Notification.objects.get().body
    with pytest.raises(KeyError):
        flows.retention.prune("outbox_messages")


def test_young_rows_stay(checkout_deliver: Deliver, listen: Listening, settings: Any) -> None:
    """On the day before the last one nothing goes."""
    prune_after(settings)
    listen(checkout_paid)
    for each in story():
        checkout_deliver(each)
    age(29)
    before = rows_of_all_tables()
    assert flows.retention.prune_all() == dict.fromkeys(RETENTION, 0)
    assert rows_of_all_tables() == before


def test_old_notifications_delivered_again_change_nothing(
    checkout_deliver: Deliver, listen: Listening, hooks: type[ShopHooks], settings: Any
) -> None:
    """Neither state, nor goods, nor receivers, nor decisions; the same bodies, and later attempts."""
    prune_after(settings)
    hooks.user = staticmethod(lambda user: True)
    # Not to changes of health: time brings them, whenever this process looks next, and no notification does.
    calls = {name: listen(signal) for name, signal in SIGNALS.items() if signal is not health_changed}
    listen(checkout_paid, own, name="shop.grant")
    listen(checkout_reversed, disown, name="shop.revoke")
    question = notification("user.validate", UserDocumentFactory(external_id="player-7"))
    sent = [*story(), question]
    for each in sent:
        checkout_deliver(each)
    heard = {name: len(each) for name, each in calls.items()}
    assert heard["payment_review"] and heard["user_validated"] and owned() == 2
    age()
    pruned = flows.retention.prune_all()
    assert min(pruned[kind] for kind in RETENTION if kind != "sync_runs") > 0
    before = state()
    for attempt in ({}, {"delivery_try": 4}):
        for each in sent:
            if each is question and attempt:
                continue  # another body is another question, at any time
            assert checkout_deliver({**each, **attempt}).status_code == 200
    flows.run_due()
    assert state() == before
    assert {name: len(each) for name, each in calls.items()} == heard
    assert owned() == 2


def test_a_list_that_is_read_again_changes_nothing(
    checkout_sandbox: Any, checkout_deliver: Deliver, settings: Any
) -> None:
    """The hashes of its rows are not pruned: a row that is read anew would be a later observation than a chargeback."""
    prune_after(settings)
    checkout = flows.create_checkout(
        amount=Decimal("9.99"), currency="USD", user=User.objects.create_user("ada")
    )
    checkout_sandbox.pay(checkout.order_id)
    assert flows.sync.sync_transactions(lane="all").state == "complete"
    age()
    flows.retention.prune_all()
    before = Order.objects.values().get()
    checkout_sandbox.clock.advance(86_400)
    run = flows.sync.sync_transactions(lane="all")
    assert (run.rows, run.changed) == (1, 0)
    assert Order.objects.values().get() == before


def test_batches_go_on_where_the_last_one_ended(
    checkout_deliver: Deliver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are; rows that stay are passed over once."""
    monkeypatch.setattr(pruning, "BATCH", 2)
    prune_after(settings)
    for each in story():
        checkout_deliver(each)
    Notification.objects.filter(pk__in=[row.pk for row in Notification.objects.order_by("pk")[1:3]]).update(
        state=Notification.State.FAILED
    )
    age()
    counted = flows.retention.count_prunable("notification_bodies")
    assert flows.retention.prune("notification_bodies") == counted == 5
    assert flows.retention.prune("notification_bodies") == 0


def test_what_is_never_pruned_stays(checkout_deliver: Deliver, listen: Listening, settings: Any) -> None:
    """Orders, their history, grants and incidents."""
    prune_after(settings)
    listen(checkout_paid)
    for each in story():
        checkout_deliver(each)
    age()
    models = (Order, Transition, Grant, Incident, Notification)
    before = [model._default_manager.count() for model in models]
    flows.retention.prune_all()
    assert [model._default_manager.count() for model in models] == before


def test_the_setting_names_the_kinds() -> None:
    """The settings know the names, the flow the rows."""
    from checkout_integration.conf.rules import PRUNABLE
    from checkout_integration.flows.retention.pruning import KINDS

    assert tuple(KINDS) == PRUNABLE == tuple(RETENTION)
