"""The export of a customer has everything that is stored about them, and nothing of others."""

from __future__ import annotations

import logging
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import Count, Sum

from checkout_integration import flows
from checkout_integration.flows.privacy import exporting
from checkout_integration.hooks import Refusal
from checkout_integration.models import CheckoutUser, Order, StaffAct
from checkout_integration.protocol import strict_json
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from checkout_integration.testing.payloads import (
    NotificationDocumentFactory,
    OrderDocumentFactory,
    UserDocumentFactory,
)
from tests.support.customer import CANARIES, EXTERNAL_ID, PRIVACY_REQUEST, SERVICE_ID, again, live
from tests.support.flows.aged import age, prune_after
from tests.support.flows.shop import ShopHooks, notification, statements
from tests.support.tables import columns_with

pytestmark = pytest.mark.django_db


@pytest.fixture
def customer(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> Deliver:
    """Let a customer have bought here; the fixture's value delivers more."""
    live(checkout_deliver, hooks)
    return checkout_deliver


def export(**whom: str) -> str:
    """Export the customer that is meant."""
    persons = flows.privacy.find_persons(**whom)  # type: ignore[arg-type]
    return "".join(flows.privacy.export_customer(persons, PRIVACY_REQUEST))


def parsed(text: str) -> Any:
    """Return the document, as another program reads it."""
    return strict_json.loads(text.encode())


WAYS = [
    {"external_id": EXTERNAL_ID},
    {"user_id": SERVICE_ID},
    {"email": "ZB@canary.example"},
    {"order_id": "order-1"},
]


@pytest.mark.spec("USR-01", "USR-03", "USR-05")
@pytest.mark.parametrize("whom", WAYS, ids=[" ".join(way) for way in WAYS])
def test_everything_of_a_customer_is_in_their_export(customer: Deliver, whom: dict[str, str]) -> None:
    """Each canary, however the customer was named; the whole is one JSON document."""
    text = export(**whom)
    assert [word for word in CANARIES if word not in text] == []
    (found,) = parsed(text)["projects"]
    assert {order["order_id"] for order in found["orders"]} == {"order-1", "order-2", "order-nameless"}
    assert len(found["notifications"]) == 10
    assert (len(found["validation_decisions"]), found["validation_decisions"][0]["code"]) == (1, "BANNED")


@pytest.mark.spec("ORD-22", "ORD-24", "USR-05")
def test_amounts_and_documents_are_exact(customer: Deliver) -> None:
    """With the digits that came; personal parts are back in their place, and bodies are as they came."""
    (found,) = parsed(export(external_id=EXTERNAL_ID))["projects"]
    order = next(each for each in found["orders"] if each["order_id"] == "order-1")
    assert (order["amount"], order["document"]["amount"]) == (Decimal("9.99"), Decimal("9.99"))
    assert order["document"]["user"]["email"] == "zb@canary.example"
    assert [each["act"] for each in order["transitions"]] == ["", ""]
    bodies = [each["body"] for each in found["notifications"]]
    assert {type(body) for body in bodies} == {dict, str}, "the one that our limits refuse is text"


@pytest.mark.spec("WHK-01", "WHK-02", "WHK-03", "WHK-04", "WHK-05", "WHK-06", "WHK-07", "WHK-08")
@pytest.mark.spec("EVT-03", "EVT-07", "EVT-08", "EVT-10")
def test_each_notification_is_exported_with_its_envelope(
    checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """Of a payment and of a user.validate: the columns, and the whole object as it came, user or order."""
    user = UserDocumentFactory(external_id="player-7")
    times = {"created_at": "2026-03-04T12:00:00Z", "expires_at": "2026-03-06T12:00:00Z"}
    paid = NotificationDocumentFactory(
        object=OrderDocumentFactory(user=user), id="n-1", delivery_try=3, **times
    )
    question = NotificationDocumentFactory(
        event="user.validate", object=user, id="n-2", live=True, delivery_try=1, **times
    )
    for document in (paid, question):
        checkout_deliver(document)
    (found,) = parsed(export(external_id="player-7"))["projects"]
    names = ("notification_id", "event", "live", "created_at", "expires_at", "delivery_try", "object_id")
    at = ["2026-03-04T12:00:00+00:00", "2026-03-06T12:00:00+00:00"]
    assert [[each[name] for name in names] for each in found["notifications"]] == [
        ["n-1", "payment.success", False, *at, 3, paid["object"]["id"]],
        ["n-2", "user.validate", True, *at, 1, user["id"]],
    ]
    bodies = [each["body"] for each in found["notifications"]]
    assert bodies == [strict_json.loads(strict_json.dumps(each).encode()) for each in (paid, question)]


@pytest.mark.spec("RFD-01", "RFD-02", "RFD-03", "RFD-04", "RFD-05", "RFD-06", "ORD-11", "ORD-31", "STA-06")
def test_refunds_are_exported_with_their_receipts(checkout_deliver: Deliver) -> None:
    """In the document of their order, and as rows."""
    refund = {"amount": Decimal("4.20"), "currency": "EUR", "reason": "wrong size", "code": "R-SIZE"}
    receipt = {"receipt_number": "RR-1", "receipt_url": "https://receipts.example/RR-1"}
    at = "2026-03-04T12:00:00+00:00"
    user = UserDocumentFactory(external_id="player-7")
    OrderFactory(status="refunded", refunded_at=at, refund={**refund, **receipt}, user=user)
    (found,) = parsed(export(external_id="player-7"))["projects"]
    (order,) = found["orders"]
    assert order["document"]["refund"] == {**refund, **receipt}
    (row,) = order["refunds"]
    assert {name: row[name] for name in (*refund, "receipt_number", "refunded_at")} == {
        **refund,
        "receipt_number": "RR-1",
        "refunded_at": at,
    }


@pytest.mark.spec("USR-01", "USR-03", "EVT-02", "EVT-07", "EVT-11", "USR-13", "USR-14")
def test_the_customer_and_the_decisions_are_exported(
    checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """Both ids of the customer, what only user.validate says of them, and each response."""
    user = UserDocumentFactory(
        id="usr-7", external_id="player-7", notify_new_region=True, notify_new_region_email="n@mail.example"
    )
    hooks.user = staticmethod(lambda user: True)
    checkout_deliver(event="user.validate", user=user)
    hooks.user = staticmethod(lambda user: Refusal("BANNED", "Not until May."))
    checkout_deliver(event="user.validate", user={**user, "name": "Ada"})
    (found,) = parsed(export(external_id="player-7"))["projects"]
    (customer,) = found["customers"]
    assert (customer["external_id"], customer["user_id"]) == ("player-7", "usr-7")
    validated = {name: each["value"] for name, each in customer["validated"].items()}
    assert validated == {"notify_new_region": True, "notify_new_region_email": "n@mail.example"}
    decisions = found["validation_decisions"]
    assert [(each["approved"], each["code"], each["reason"]) for each in decisions] == [
        (True, "", ""),
        (False, "BANNED", "Not until May."),
    ]
    assert {each["external_id"] for each in decisions} == {"player-7"}


def test_marks_of_our_own_are_left_out(customer: Deliver) -> None:
    """Hashes would let a reader test guesses about others."""
    text = export(external_id=EXTERNAL_ID)
    assert CheckoutUser.objects.get(external_id=EXTERNAL_ID).identity not in text
    assert not {"request_hash", "body_hash", "stamps", "facts"} & {
        word.strip('"') for word in text.split(":")
    }


def test_nothing_of_others_is_in_it(customer: Deliver) -> None:
    """Neither their orders nor their names."""
    other = UserDocumentFactory(external_id="arthur", email="arthur@earth.example")
    customer(notification(order=OrderDocumentFactory(id="order-arthur", user=other)))
    text = export(external_id=EXTERNAL_ID)
    assert "arthur" not in text


@pytest.mark.spec("EP1-22", "EP2-08")
def test_a_shop_that_sold_a_checkout_exports_it(hooks: type[ShopHooks]) -> None:
    """With its metadata, and the address of the form."""
    user = UserDocumentFactory(external_id="player-7")
    checkout = CheckoutFactory(metadata={"hat": "canary-hat"})
    OrderFactory(checkout=checkout, user=user)
    (found,) = parsed(export(external_id="player-7"))["projects"]
    assert [each["metadata"] for each in found["checkouts"]] == [{"hat": "canary-hat"}]


def test_the_export_is_recorded_before_its_first_piece(customer: Deliver) -> None:
    """Who asked for it, and why: also where the reader goes away."""
    persons = flows.privacy.find_persons(external_id=EXTERNAL_ID)
    flows.privacy.export_customer(persons, PRIVACY_REQUEST)
    act = StaffAct.objects.latest("pk")
    assert (act.act, act.origin, act.staff, act.reason) == ("export", "code", None, "request 4711")
    assert (act.customer_id, act.counts["orders"]) == (min(persons[0].users), 3)


def test_a_guest_is_recorded_by_their_order(checkout_deliver: Deliver) -> None:
    """They have no row as a customer."""
    guest = OrderDocumentFactory(id="order-guest")
    checkout_deliver(notification(order={**guest, "user": {"name": "Nobody"}}))
    export(order_id="order-guest")
    act = StaffAct.objects.get()
    assert (act.customer, act.order) == (None, Order.objects.get())


def test_it_takes_as_many_statements_for_many_orders(
    hooks: type[ShopHooks], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One for each table and chunk."""
    counts = []
    for number in (1, 5):
        user = UserDocumentFactory(external_id=f"player-with-{number}")
        for _ in range(number):
            OrderFactory(user=user)
        with statements() as seen:
            export(external_id=f"player-with-{number}")
        counts.append(len(seen))
    assert counts[0] == counts[1]


def test_chunks_are_joined(customer: Deliver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk of two gives the same rows."""
    whole = parsed(export(external_id=EXTERNAL_ID))["projects"][0]
    monkeypatch.setattr(exporting, "CHUNK", 2)
    again_whole = parsed(export(external_id=EXTERNAL_ID))["projects"][0]
    for name in ("orders", "notifications", "checkouts"):
        assert again_whole[name] == whole[name]


def test_an_erased_customer_exports_what_accounting_needs(customer: Deliver) -> None:
    """Found by the keyed hash; no word of theirs is in it."""
    (person,) = flows.privacy.find_persons(external_id=EXTERNAL_ID)
    flows.privacy.erase_customer(person, PRIVACY_REQUEST)
    text = export(external_id=EXTERNAL_ID)
    assert [word for word in CANARIES if word in text] == []
    # The third one has no tombstone of this id, but one of the service's.
    assert len(parsed(text)["projects"][0]["orders"]) == 2


def totals() -> list[tuple[Any, ...]]:
    """Return count and sums of all orders, per status and currency."""
    groups = Order.objects.values_list("status", "currency").order_by("status", "currency")
    return list(groups.annotate(Count("pk"), Sum("amount"), Sum("net_revenue_amount"), Sum("refund_amount")))


def test_exported_erased_pruned_and_sent_again(
    customer: Deliver, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """No canary in any column or log afterwards; tombstone and totals stand, whatever is pruned and comes again."""
    caplog.set_level(logging.DEBUG)
    prune_after(settings)
    before = totals()
    text = export(external_id=EXTERNAL_ID)
    assert [word for word in CANARIES if word not in text] == []
    (person,) = flows.privacy.find_persons(external_id=EXTERNAL_ID)
    flows.privacy.erase_customer(person, PRIVACY_REQUEST)
    age()
    flows.retention.prune_all()
    again(customer)
    age()
    flows.retention.prune_all()
    assert columns_with(CANARIES) == set()
    logged = "".join(each.getMessage() for each in caplog.records if not each.name.startswith("factory"))
    assert [word for word in CANARIES if word in logged] == []
    assert totals() == before
    assert CheckoutUser.objects.exclude(erased_at=None).exists()
    assert [act.act for act in StaffAct.objects.order_by("pk")] == ["accept", "export", "erase"]


def test_a_customer_is_erased_after_their_decisions_were_pruned(customer: Deliver, settings: Any) -> None:
    """Their user.validate has no id any more then: its body is searched."""
    prune_after(settings, validation_decisions=30)
    age()
    assert flows.retention.prune_all() == {"validation_decisions": 1}
    (person,) = flows.privacy.find_persons(external_id=EXTERNAL_ID)
    flows.privacy.erase_customer(person, PRIVACY_REQUEST)
    assert columns_with(CANARIES) == set()


def test_a_body_with_an_equal_number_is_not_exported(customer: Deliver) -> None:
    """Another customer's unreadable notification has a postal code that is equal to an id."""
    OrderFactory(user=UserDocumentFactory(external_id="10115"))
    theirs = notification(order=OrderDocumentFactory(user=UserDocumentFactory(external_id="10115")))
    another = UserDocumentFactory(external_id="other", address__postal_code="10115", email="o@other.example")
    for document in (theirs, notification(order=OrderDocumentFactory(user=another))):
        customer(strict_json.dumps(document).replace('"type"', '"event"', 1).encode())
    (found,) = parsed(export(external_id="10115"))["projects"]
    states = [each["state"] for each in found["notifications"]]
    assert states == ["quarantined"]
    assert "o@other.example" not in export(external_id="10115")
