"""Signed bodies that are not all text: stored and answered 200; a free text costs its characters, a name is quarantined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from checkout_integration.hooks import Refusal
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Incident,
    Notification,
    Order,
    OutboxMessage,
    ValidationDecision,
)
from checkout_integration.protocol.strict_json import REPLACEMENT
from checkout_integration.protocol.user import User
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory, UserDocumentFactory
from tests.support.broken_texts import FREE, KINDS, MARK, NAMES, broken, in_json, placed, with_key
from tests.support.corpora import corpus, naughty_strings
from tests.support.flows.shop import ShopHooks, notification
from tests.support.scale import times
from tests.support.wire import body_of

pytestmark = pytest.mark.django_db
kinds = pytest.mark.parametrize("content", KINDS.values(), ids=KINDS)


def member(document: Any, place: str) -> Any:
    """The value at a dotted path."""
    for name in place.split("."):
        document = document[int(name) if isinstance(document, list) else name]
    return document


def paid(order: dict[str, Any]) -> dict[str, Any]:
    """The payment.success of an order."""
    return notification("payment.success", order)


def the_only_new(before: set[int]) -> Notification:
    """The notification that was not there before."""
    return Notification.objects.exclude(pk__in=before).get()


def stored(deliver: Deliver, body: bytes) -> Notification:
    """Deliver a signed body, which is answered 200; return its row, which has the very bytes."""
    before = set(Notification.objects.values_list("pk", flat=True))
    answer = deliver(body)
    assert (answer.status_code, answer.content) == (200, b"")
    row = the_only_new(before)
    assert bytes(row.body or b"") == body
    return row


@kinds
def test_a_free_text_costs_its_characters(checkout_deliver: Deliver, content: bytes) -> None:
    """In each place: the checkout is paid, the text has U+FFFD, and one incident names the field, however often it comes."""
    for place in FREE:
        checkout = CheckoutFactory()
        body = broken(paid(placed(order_document_for(checkout), place, f"Gem {MARK}!")), content)
        assert stored(checkout_deliver, body).state == Notification.State.APPLIED, place
        assert checkout_deliver(body).status_code == 200
        checkout.refresh_from_db()
        order = Order.objects.get(order_id=checkout.order_id)
        assert (checkout.status, order.verdict) == (Checkout.Status.PAID, "verified"), place
        text = member(order.whole_document, place)
        assert (REPLACEMENT in text, text[-1], "Gem " in text) == (True, "!", True), place
        field = place.partition(".")[0]
        kind = f"unreadable:{'other' if field == 'from_the_future' else field}"
        assert list(Incident.objects.filter(order=order).values_list("kind", flat=True)) == [kind], place


@kinds
def test_a_broken_name_is_quarantined(checkout_deliver: Deliver, content: bytes) -> None:
    """In each place: no order, no customer and nothing paid; the incident says which name, and nothing of it."""
    for place in NAMES:
        checkout = CheckoutFactory()
        row = stored(checkout_deliver, broken(paid(placed(order_document_for(checkout), place)), content))
        name = "metadata" if place.startswith("metadata") else place.split(".")[-1]
        reason = f"{name} has characters that cannot be read"
        assert (row.state, row.failure, row.object_id) == ("quarantined", reason, ""), place
        incident = Incident.objects.get(notification=row)
        assert (incident.kind, incident.detail) == ("refused_content", reason)
        checkout.refresh_from_db()
        assert checkout.status == Checkout.Status.OPEN
    assert not Order.objects.exists() and not CheckoutUser.objects.exists()


@kinds
@pytest.mark.parametrize("place", ["", "metadata", "user", "from_the_future"])
def test_a_broken_key_is_quarantined(checkout_deliver: Deliver, content: bytes, place: str) -> None:
    """It may be the key of anything."""
    row = stored(checkout_deliver, broken(paid(with_key(OrderDocumentFactory(), place)), content))
    assert (row.state, row.failure) == ("quarantined", "a key has characters that cannot be read")


@kinds
@pytest.mark.parametrize("place", ["id", "event"])
def test_a_broken_name_of_the_envelope_is_quarantined(
    checkout_deliver: Deliver, content: bytes, place: str
) -> None:
    """It would be another notification, or another event."""
    row = stored(checkout_deliver, broken(placed(paid(OrderDocumentFactory()), place), content))
    assert (row.state, row.notification_id, row.event) == ("quarantined", "", "")
    assert not Order.objects.exists()


def test_a_broken_text_of_the_envelope_is_marked(checkout_deliver: Deliver) -> None:
    """Nothing is decided by its type."""
    row = stored(checkout_deliver, broken(placed(paid(OrderDocumentFactory()), "type"), b"\xff"))
    assert (row.state, Order.objects.get().status) == ("applied", "processed")
    assert Incident.objects.get(notification=row, order=None).kind == "unreadable:other"


@pytest.mark.parametrize("place", ["id", "user.external_id", "user.id", "metadata.checkout_reference"])
def test_no_two_names_become_one(checkout_deliver: Deliver, place: str) -> None:
    """Names whose broken bytes differ, and one with U+FFFD itself, which is a character as any other."""
    order = OrderDocumentFactory(user__external_id="player", user__id="service")
    for content in (b"\xff", b"\xfe", rb"\u0000", rb"\ud800"):
        assert stored(checkout_deliver, broken(paid(placed(order, place)), content)).state == "quarantined"
    assert (
        stored(checkout_deliver, broken(paid(placed(order, place)), REPLACEMENT.encode())).state == "applied"
    )
    assert Incident.objects.filter(kind="refused_content").count() == 4
    assert (Order.objects.count(), CheckoutUser.objects.count()) == (1, 1)
    assert OutboxMessage.objects.filter(signal="notification_failed").count() == 4


def test_a_byte_order_mark_is_skipped(checkout_deliver: Deliver) -> None:
    """One at the beginning; the stored bytes have it."""
    assert stored(checkout_deliver, b"\xef\xbb\xbf" + body_of()).state == "applied"
    assert Order.objects.get().status == "processed"
    assert not Incident.objects.filter(kind__startswith="unreadable").exists()


@pytest.mark.parametrize(
    "body",
    [
        body_of().decode().encode("utf-16"),
        body_of().decode().encode("utf-16-le"),
        body_of().decode().encode("utf-16-be"),
        body_of().decode().encode("utf-32"),
        b"\xff",
        b"\x00",
        b"{\xff}",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf" * 2 + body_of(),
        body_of() + b"\x00",
        body_of() + b"\xff",
    ],
)
def test_bytes_that_are_no_json_are_a_bad_request(checkout_deliver: Deliver, body: bytes) -> None:
    """Other encodings, and broken bytes where no text is."""
    assert checkout_deliver(body).status_code == 400
    assert not Notification.objects.exists()


def consulted(hooks: type[ShopHooks], answer: bool | Refusal = True) -> list[User]:
    """Let the shop give this answer; return the list of the customers about whom it decides."""
    users: list[User] = []

    def validate(user: User) -> bool | Refusal:
        users.append(user)
        return answer

    hooks.user = staticmethod(validate)
    return users


def question(place: str, content: bytes) -> bytes:
    """A user.validate with a broken text at a place of the customer."""
    customer = UserDocumentFactory(external_id="player", id="service")
    return broken(notification("user.validate", placed(customer, place)), content)


@kinds
def test_a_customer_with_a_broken_free_text_is_validated(
    checkout_deliver: Deliver, hooks: type[ShopHooks], content: bytes
) -> None:
    """The shop gets the text with U+FFFD, and staff an incident."""
    users = consulted(hooks)
    row = stored(checkout_deliver, question("name", content))
    assert [user.external_id for user in users] == ["player"] and REPLACEMENT in (users[0].name or "")
    assert ValidationDecision.objects.get().approved
    assert Incident.objects.get().kind == "unreadable:user" and Incident.objects.get().notification == row


REFUSED: dict[str, Callable[[], bytes]] = {
    **{f"{place}, {kind}": lambda place=place, content=content: question(place, content)  # type: ignore[misc]
       for place in ("id", "external_id") for kind, content in KINDS.items()},
    "key": lambda: broken(
        notification("user.validate", with_key(UserDocumentFactory(external_id="player"), "metadata")), b"\xff"
    ),
    "event": lambda: broken(placed(notification("user.validate", UserDocumentFactory()), "event"), b"\xff"),
    "equal keys": lambda: question("name", b'","name":"'),
    "no id": lambda: body_of({**notification("user.validate", UserDocumentFactory()), "id": ""}),
    "too deep": lambda: question("name", b'","x":' + b"[" * 40 + b"]" * 40 + b',"y":"'),
}  # fmt: skip


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_a_customer_who_cannot_be_read_is_refused(
    checkout_deliver: Deliver, hooks: type[ShopHooks], body: Callable[[], bytes]
) -> None:
    """An empty 200 would approve the payment of somebody about whom no validator has decided. The bytes are stored, once."""
    users, sent = consulted(hooks), body()
    for receipts in (1, 2):
        answer = checkout_deliver(sent)
        assert (answer.status_code, b"INVALID_USER" in answer.content) == (403, True)
        row = Notification.objects.get()
        assert (row.state, row.receipts, bytes(row.body or b"")) == ("quarantined", receipts, sent)
    decision = ValidationDecision.objects.get()
    assert (decision.approved, decision.decided_by, decision.failure) == (False, "failure", row.failure)
    assert (decision.notification, decision.user, users) == (row, None, [])
    assert Incident.objects.get().kind == "refused_content"
    assert OutboxMessage.objects.filter(signal="user_validated").count() == 1
    assert not CheckoutUser.objects.exists()


def test_every_naughty_string_as_a_free_text_and_as_an_id(checkout_deliver: Deliver) -> None:
    """Cut in the middle of its last character, in Latin-1, or as it is: paid and marked, or quarantined; never merged."""
    strings = naughty_strings()
    ids = set()
    for number, string in enumerate(strings[:: len(strings) // times(25, len(strings))]):
        cut = in_json(string) + "é".encode()[:1]
        checkout = CheckoutFactory()
        order = order_document_for(checkout)
        assert stored(checkout_deliver, broken(paid(placed(order, "description")), cut)).state == "applied"
        assert Incident.objects.filter(
            order__order_id=checkout.order_id, kind="unreadable:description"
        ).exists()
        named = {**OrderDocumentFactory(), "id": f"{number}~"}
        assert stored(checkout_deliver, broken(paid(placed(named, "id")), cut)).state == "quarantined"
        whole = in_json(string[:200])
        assert stored(checkout_deliver, broken(paid(placed(named, "id")), whole)).state == "applied"
        ids |= {checkout.order_id, f"{number}~{string[:200]}"}
    assert set(Order.objects.values_list("order_id", flat=True)) == ids


@pytest.mark.parametrize(("place", "state"), [("description", "applied"), ("transaction", "quarantined")])
def test_the_texts_of_the_json_suite_that_are_not_utf8(
    checkout_deliver: Deliver, place: str, state: str
) -> None:
    """Its files with one string in an array, of which other parsers may make what they like."""
    found = 0
    for path in sorted(corpus("json-test-suite/test_parsing").glob("i_string_*")):
        content = path.read_bytes()
        if not (content.startswith(b'["') and content.endswith(b'"]')):
            continue  # UTF-16
        found += 1
        order = placed({**OrderDocumentFactory(), place: ""}, place)
        assert stored(checkout_deliver, broken(paid(order), content[2:-2])).state == state, path.name
    assert found == 19
