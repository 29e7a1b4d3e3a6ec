"""Test data is deleted as a whole, and nothing else; whatever comes about it later is skipped."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db.models import PROTECT, RESTRICT, Q
from django.test import Client

from checkout_integration import flows
from checkout_integration.conf import app_settings
from checkout_integration.flows.database import Unavailable
from checkout_integration.flows.ledger import Cause
from checkout_integration.flows.ledger import batch as locking
from checkout_integration.flows.retention import of_tests
from checkout_integration.flows.sync.list_rows import compare_page, record_page
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Incident,
    ListedRow,
    Notification,
    Order,
    OutboxMessage,
    ReceiverRun,
    Refund,
    StaffAct,
    SyncDifference,
    Transition,
    ValidationDecision,
)
from checkout_integration.policy.observation import Source
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.listing import parse_transaction_page
from checkout_integration.protocol.order import parse_order
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import UserDocumentFactory
from tests.support.admin.rows import make_notification, make_order
from tests.support.admin.screens import page_address
from tests.support.documents import block
from tests.support.flows.shop import Listening, notification, record_listed
from tests.support.goods.models import Hat
from tests.support.tables import rows_of_all_tables

pytestmark = pytest.mark.django_db
LASTING = {
    "checkout_integration_listedrow",
    "checkout_integration_staffact",
    "checkout_integration_receiver",
    "checkout_integration_installation",
}


def sold(*, test: bool, name: str, **changes: Any) -> dict[str, Any]:
    """A payment for a test checkout, or for a live one."""
    document: dict[str, Any] = order_document_for(CheckoutFactory(test=test), **changes)
    document["is_production"] = not test
    return {**document, "transaction": f"TXN {name}", "user": UserDocumentFactory(external_id=name)}


def send(deliver: Deliver, order: dict[str, Any], event: str = "payment.success", *, live: bool) -> None:
    """Deliver a notification about an order."""
    deliver(notification(event, order, live=live))


def refunded(document: dict[str, Any]) -> dict[str, Any]:
    """The order as it is after its refund."""
    return {**document, "status": "refunded", "refunded": True}


def deliver_all(deliver: Deliver, document: dict[str, Any]) -> None:
    """Deliver the payment, run its receivers, and deliver the refund."""
    live = document["is_production"]
    send(deliver, document, live=live)
    flows.run_due()
    send(deliver, refunded(document), "payment.refund", live=live)
    flows.run_due()


def delete(**arguments: Any) -> dict[str, int]:
    """Delete the test data."""
    return flows.retention.delete_test_data(staff=None, reason="going live", **arguments)


def ours() -> dict[str, Any]:
    """The rows of our tables, without what stays of test data."""
    names = {model._meta.db_table for model in apps.get_app_config("checkout_integration").get_models()}
    return {name: rows for name, rows in rows_of_all_tables().items() if name in names - LASTING}


def test_all_of_it_and_nothing_else(checkout_deliver: Deliver, listen: Listening) -> None:
    """The tables are what they were before the test was sold; the preview and the act have the numbers."""
    listen(checkout_paid)
    deliver_all(checkout_deliver, sold(test=False, name="real"))
    before = ours()
    test = sold(test=True, name="test")
    deliver_all(checkout_deliver, test)
    record_listed([test])
    counts = flows.retention.count_test_data()
    assert counts["checkouts"] == counts["orders"] == 1 and counts["receiver_runs"] and counts["grants"]
    deleted = delete()
    assert {name: deleted[name] for name in counts} == counts and deleted["customers"] == 1
    assert ours() == before
    assert not flows.retention.has_test_data() and delete() == {}
    (act,) = StaffAct.objects.all()
    assert (act.act, act.reason, act.counts["orders"]) == ("delete_tests", "going live", 1)


def test_no_question_is_left_about_a_notification_that_is_gone(checkout_deliver: Deliver) -> None:
    """Staff could not apply it any more."""
    test = sold(test=True, name="test")
    deliver_all(checkout_deliver, test)
    ahead = datetime.now(UTC) + timedelta(days=3)
    checkout_deliver({**notification("payment.success", test, live=False), "created_at": ahead.isoformat()})
    assert Incident.objects.get().notification is not None
    delete()
    assert not Incident.objects.exists()


def test_the_shops_own_rows_go_with_it(checkout_deliver: Deliver) -> None:
    """They are counted by the name that their model has."""
    deliver_all(checkout_deliver, sold(test=True, name="test"))
    hat = Hat.objects.create(checkout=Checkout.objects.get())
    other = Hat.objects.create(checkout=CheckoutFactory(test=False))
    assert flows.retention.count_test_data()["hats"] == delete()["hats"] == 1
    assert list(Hat.objects.all()) == [other] and not Checkout.objects.filter(pk=hat.checkout_id).exists()


@pytest.mark.parametrize("on_delete", [PROTECT, RESTRICT])
def test_nothing_is_deleted_that_the_shop_protects(
    admin_client: Client, checkout_deliver: Deliver, monkeypatch: pytest.MonkeyPatch, on_delete: Any
) -> None:
    """The page, the button and the command name what stands in the way, and what to do."""
    monkeypatch.setattr(Hat._meta.get_field("checkout").remote_field, "on_delete", on_delete)
    deliver_all(checkout_deliver, sold(test=True, name="test"))
    Hat.objects.create(checkout=Checkout.objects.get())
    before, words = rows_of_all_tables(), "Rows of the shop protect the test data: hats. Delete them first"
    with pytest.raises(flows.retention.Protected, match=words):
        delete()
    with monkeypatch.context() as later:
        later.setattr(of_tests, "refuse_protected", lambda: None)  # as if the row had come after the look
        with pytest.raises(flows.retention.Protected, match=words):
            delete()
    with pytest.raises(CommandError, match=words):
        call_command("checkout_delete_test_data", "--yes", stdout=StringIO())
    page = "/admin/checkout_integration/checkout/test-data/"
    assert words in admin_client.get(page).content.decode()
    assert words in admin_client.post(page, {"reason": "going live"}, follow=True).content.decode()
    after = rows_of_all_tables()
    ours = [name for name in before if name.startswith(("checkout_integration_", "goods_"))]
    assert [name for name in ours if before[name] != after[name]] == []


def test_what_was_deleted_before_it_stopped_is_an_act(
    checkout_deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each batch is committed by itself, so the record says what is gone."""
    monkeypatch.setattr(Hat._meta.get_field("checkout").remote_field, "on_delete", PROTECT)
    monkeypatch.setattr(of_tests, "refuse_protected", lambda: None)  # as if the row had come after the look
    monkeypatch.setattr(of_tests, "BATCH", 1)
    for name in ("first", "second"):
        deliver_all(checkout_deliver, sold(test=True, name=name))
    last = Checkout.objects.latest("pk")
    Hat.objects.create(checkout=last)
    with pytest.raises(flows.retention.Protected):
        delete()
    assert list(Checkout.objects.all()) == [last]
    (act,) = StaffAct.objects.all()
    assert (act.act, act.counts["checkouts"]) == ("delete_tests", 1)


@pytest.mark.parametrize("live", [True, False])
def test_a_payment_that_is_no_test_stays(checkout_deliver: Deliver, live: bool) -> None:
    """It was made for a test checkout, so it is in review: the money is real."""
    document = {**sold(test=True, name="mixed"), "is_production": not live}
    send(checkout_deliver, document, live=live)
    assert flows.retention.count_test_data()["checkouts"] == 0
    assert delete() == {}
    assert Order.objects.count() == Checkout.objects.count() == 1


def test_a_live_checkout_stays_whatever_paid_for_it(checkout_deliver: Deliver) -> None:
    """A test payment for it that is in review goes."""
    document = {**sold(test=False, name="mixed"), "is_production": False}
    send(checkout_deliver, document, live=False)
    assert flows.retention.has_test_data() and delete()["orders"] == 1
    assert Checkout.objects.count() == 1 and not Order.objects.exists()
    assert not flows.retention.has_test_data() and not Notification.objects.exists()


def test_test_payments_without_a_checkout_go_with_all_that_is_theirs(
    checkout_deliver: Deliver, admin_client: Client
) -> None:
    """With their customers, notifications and incidents; the page counts them before, and nothing marked TEST is left."""
    for name in ("ada", "bela"):
        document = sold(test=True, name=name)
        Checkout.objects.all().delete()
        send(checkout_deliver, document, live=False)
    assert Order.objects.filter(checkout=None).count() == 2 and flows.retention.has_test_data()
    assert (
        flows.retention.count_test_data()["orders"] == flows.retention.count_test_data()["notifications"] == 2
    )
    address = "/admin/checkout_integration/checkout/test-data/"
    assert "There is test data." in admin_client.get("/admin/checkout_integration/").content.decode()
    page = admin_client.post(address, {"reason": "going live"}, follow=True).content.decode()
    assert "Test checkouts deleted: 0, orders: 2." in page and "There is test data." not in page
    for model in (Order, CheckoutUser, Notification, OutboxMessage):
        assert not model.objects.exists(), model
    assert set(Incident.objects.values_list("ended_itself", flat=True)) == {True}
    send(checkout_deliver, document, live=False)
    assert not Order.objects.exists()


def test_a_test_payment_that_staff_accepted_stays_and_is_named(
    checkout_deliver: Deliver, admin_client: Client, admin_user: User, listen: Listening
) -> None:
    """Its goods are those of a live checkout; the front page goes on naming it, and the page says why it stays."""
    listen(checkout_paid)
    document = {**sold(test=False, name="mixed"), "is_production": False}
    send(checkout_deliver, document, live=False)
    flows.operations.accept_payment(Order.objects.get(), staff=admin_user, reason="a test of all")
    assert delete() == {} and Order.objects.count() == 1
    assert flows.retention.count_undeletable() == {"checkouts": 0, "orders": 1}
    assert "There is test data." in admin_client.get("/admin/checkout_integration/").content.decode()
    page = admin_client.get("/admin/checkout_integration/checkout/test-data/").content.decode()
    assert "whose goods were delivered for a live checkout" in page and "None." in page


@pytest.mark.parametrize(
    "columns", [{"is_production": True, "live": False}, {"is_production": False, "live": True}]
)
def test_a_payment_that_is_called_a_test_and_real_stays(columns: dict[str, Any]) -> None:
    """List and notification contradict each other: it may be money."""
    make_order(checkout=None, **columns)
    assert delete() == {} and Order.objects.count() == 1
    assert flows.retention.count_undeletable() == {"checkouts": 0, "orders": 1}


def test_decisions_of_a_test_go_with_its_customer(checkout_deliver: Deliver) -> None:
    """Of a user.validate that says that it is a test; a customer with another decision stays."""
    for name in ("ada", "bela"):
        document = sold(test=True, name=name)
        send(checkout_deliver, document, live=False)
    for name, live in (("ada", False), ("bela", True)):
        row = make_notification(name, event="user.validate", live=live)
        user = CheckoutUser.objects.get(external_id=name)
        columns = {
            "notification": row,
            "user": user,
            "approved": True,
            "latency": 0.1,
            "decided_at": row.received_at,
        }
        ValidationDecision.objects.create(request_hash=name, project="default", **columns)
    deleted = delete()
    assert deleted["customers"] == 1 and deleted["notifications"] == 3
    assert [each.user.external_id for each in ValidationDecision.objects.all() if each.user] == ["bela"]
    assert list(CheckoutUser.objects.values_list("external_id", flat=True)) == ["bela"]


def test_what_comes_later_is_skipped(checkout_deliver: Deliver, listen: Listening) -> None:
    """A new notification, a row of the list, a refund with an id of its own; nothing is stored of what they say."""
    heard, document = listen(checkout_paid), sold(test=True, name="test")
    deliver_all(checkout_deliver, document)
    delete()
    send(checkout_deliver, {**document, "receipt_number": "R-2"}, live=False)
    send(checkout_deliver, {**document, "status": "chargeback"}, "payment.chargeback", live=False)
    record_listed([{**document, "receipt_number": "R-3"}])
    record_listed([{**refunded(document), "id": "refund-of-its-own", "amount": "-9.99"}])
    flows.run_due()
    assert len(heard) == 1
    for model in (Order, Refund, OutboxMessage, Transition, SyncDifference, CheckoutUser):
        assert not model.objects.exists(), model
    assert set(Notification.objects.values_list("state", "body")) == {("applied", None)}


def test_other_orders_of_the_page_are_recorded(checkout_deliver: Deliver) -> None:
    """A page with a deleted order costs the others nothing."""
    test = sold(test=True, name="test")
    send(checkout_deliver, test, live=False)
    delete()
    other = sold(test=False, name="real")
    record_listed([test, other])
    assert [order.order_id for order in Order.objects.all()] == [other["id"]]


@pytest.mark.parametrize("way", [record_page, compare_page])
def test_a_page_of_the_service_skips_it(checkout_deliver: Deliver, way: Any) -> None:
    """A row about it is neither read nor compared, although it has changed, and is no difference."""
    document = sold(test=True, name="test")
    send(checkout_deliver, document, live=False)
    delete()
    project = app_settings().project("default")
    rows = [{**document, "receipt_number": "R-2"}]
    page = parse_transaction_page(strict_json.dumps({"items": rows, "count": 1}).encode())
    found = way(project, page, Cause(source=Source.LIST)) if way is record_page else way(project, page)
    assert found == [] and not Order.objects.exists()


def test_a_customer_of_whom_more_is_known_stays(checkout_deliver: Deliver) -> None:
    """Who bought something real too, and whom staff have blocked."""
    for name in ("both", "blocked"):
        send(checkout_deliver, sold(test=True, name=name), live=False)
    send(checkout_deliver, sold(test=False, name="both"), live=True)
    row = CheckoutUser.objects.get(external_id="blocked")
    flows.operations.block_customer(row, staff=None, reason="a test of blocking")
    delete()
    assert set(CheckoutUser.objects.values_list("external_id", flat=True)) == {"both", "blocked"}


def test_deleted_between_the_look_and_the_lock(
    checkout_deliver: Deliver,
) -> None:
    """An observation that has seen the order is retried, instead of making it anew."""
    document = sold(test=True, name="test")
    send(checkout_deliver, document, live=False)
    hints = locking.Hints(known_orders=1)
    delete()
    with pytest.raises(locking.DeletedMeanwhile):
        locking.lock(app_settings().project("default"), [parse_order(document)], hints, locking.NO_ADVICE)
    assert not issubclass(locking.DeletedMeanwhile, Unavailable)  # `with_retries` repeats the whole


def test_the_command_counts_first(checkout_deliver: Deliver) -> None:
    """Without --yes nothing is deleted; with it the acts of staff have who and why."""
    send(checkout_deliver, sold(test=True, name="test"), live=False)
    User.objects.create_user("grace")

    def run(*words: str) -> str:
        out = StringIO()
        call_command("checkout_delete_test_data", *words, stdout=out)
        return out.getvalue()

    assert "1 checkouts" in run() and "would be deleted" in run() and Order.objects.exists()
    result = json.loads(run("--yes", "--json", "--as", "grace", "--reason", "going live"))
    assert result["steps"][0]["counts"]["orders"] == 1
    assert not Order.objects.exists() and run() == "test data: nothing would be deleted\n"
    act = StaffAct.objects.get()
    assert (str(act.actor), act.reason, act.origin) == ("grace", "going live", "command")


def test_staff_delete_it_on_a_page(checkout_deliver: Deliver, admin_client: Client) -> None:
    """The front page has a line while there is any; the page of it has the counts, and asks for a reason."""
    index, address = "/admin/checkout_integration/", "/admin/checkout_integration/checkout/test-data/"
    assert "There is test data." not in admin_client.get(index).content.decode()
    send(checkout_deliver, sold(test=True, name="test"), live=False)
    checkout = page_address("checkout", Checkout.objects.get())
    assert "test-data" not in admin_client.get(checkout).content.decode()
    assert admin_client.post(address).status_code == 200 and Order.objects.exists()
    page = admin_client.get(index).content.decode()
    assert "There is test data." in page and address in page
    assert "orders" in admin_client.get(address).content.decode().lower() and Order.objects.exists()
    response = admin_client.post(address, {"reason": "going live"}, follow=True)
    assert response.redirect_chain == [(index, 302)]
    assert "Test checkouts deleted: 1, orders: 1." in response.content.decode()
    assert (
        not Order.objects.exists() and "There is test data." not in admin_client.get(index).content.decode()
    )


def test_only_hashes_stay(checkout_deliver: Deliver) -> None:
    """Of the order, and of its transaction."""
    document = sold(test=True, name="test")
    send(checkout_deliver, document, live=False)
    delete()
    rows = ListedRow.objects.filter(row_hash=ListedRow.DELETED)
    assert (
        rows.count() == 2 and not rows.filter(Q(key=document["id"]) | Q(key=document["transaction"])).exists()
    )
    assert not ReceiverRun.objects.exists()


def test_the_example_of_the_page(checkout_deliver: Deliver) -> None:
    """What docs/retention.md shows."""
    names: dict[str, Any] = {}
    exec(block("docs/retention.md", "# shop/going_live.py"), names)
    assert names["start_clean"]() == {}
    send(checkout_deliver, sold(test=True, name="test"), live=False)
    assert names["start_clean"]()["orders"] == 1


def test_another_project_keeps_what_has_the_same_names(checkout_deliver: Deliver) -> None:
    """Ids and references are those of a project: what came for another one is not about these tests."""
    document = sold(test=True, name="eve")
    deliver_all(checkout_deliver, document)
    checkout = Checkout.objects.get()
    given: dict[str, Any] = {"event": "payment.success", "project": "other", "body": b"{}"}
    by_id = make_notification(document["id"], **given)
    by_reference = make_notification("another-order", reference=checkout.reference, **given)
    flows.retention.delete_test_data(staff=None)
    assert not Checkout.objects.exists()
    assert set(Notification.objects.filter(project="other")) == {by_id, by_reference}
    assert not Notification.objects.filter(project="default", object_id=document["id"]).exists()


def test_many_are_counted_in_parts(checkout_deliver: Deliver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers are those of one statement for all."""
    for name in ("ada", "bela", "cleo"):
        deliver_all(checkout_deliver, sold(test=True, name=name))
    whole = flows.retention.count_test_data()
    monkeypatch.setattr("checkout_integration.flows.retention.of_tests.COUNTED_AT_ONCE", 1)
    assert flows.retention.count_test_data() == whole
    assert whole["checkouts"] == whole["orders"] == 3
