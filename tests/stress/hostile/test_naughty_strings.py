"""Every naughty string through every text of a notification into the database: nothing breaks, nothing is lost."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from checkout_integration.models import Incident, Notification, Order, PersonalData, ValidationDecision
from checkout_integration.protocol import strict_json
from checkout_integration.testing.payloads import NotificationDocumentFactory
from tests.stress.hostile.door import Door, nothing_broke
from tests.stress.hostile.log_lines import broken_lines
from tests.stress.hostile.naughty import (
    all_strings,
    as_body,
    is_storable,
    notification,
    recorded,
    repeat,
    some_strings,
    with_texts,
)
from tests.support.protocol.vectors import vector

pytestmark = pytest.mark.django_db(transaction=True)


def document_of(row: Notification) -> dict[str, Any]:
    """The order of a stored notification, read from its bytes."""
    document = strict_json.loads(bytes(row.body or b""))
    assert isinstance(document, dict) and isinstance(document["object"], dict)
    return document["object"]


def as_merged(document: dict[str, Any]) -> dict[str, Any]:
    """The stored part of an order's first document: all but empty values and the card number."""
    return says(document | {"user": says(document["user"]), "method": without_number(document["method"])})


def without_number(method: dict[str, Any]) -> dict[str, Any]:
    """A method without the parts of its card's number."""
    card = {
        name: value for name, value in method["card"].items() if name not in {"first6", "last4", "masked"}
    }
    return method | {"card": card}


def says(document: dict[str, Any]) -> dict[str, Any]:
    """The document without null and empty texts."""
    return {name: value for name, value in document.items() if value is not None and value != ""}


def check_stored(document: dict[str, Any]) -> None:
    """Assert that the order's rows have each text as it was read."""
    order = Order.objects.get(order_id=document["id"])
    stored = order.whole_document
    assert stored | {"method": without_number(stored["method"])} == as_merged(document)
    assert [item.name for item in order.items.all()] == [item["name"] for item in document["items"]]
    assert PersonalData.objects.get(order=order).email == document["receipt_email"][:255].lower()


def test_every_string_in_every_text_of_an_order_is_stored(caplog: pytest.LogCaptureFixture) -> None:
    """All strings, recorded in batches: each text stands in the order's rows, and log records are one line each."""
    caplog.set_level(logging.INFO)
    for document in recorded(all_strings()):
        check_stored(document)
    assert broken_lines(caplog.records) == []


def test_strings_through_the_receiver_are_stored_as_bytes(caplog: pytest.LogCaptureFixture) -> None:
    """Each in every text of a notification: applied, and the stored bytes are those sent."""
    caplog.set_level(logging.INFO)
    door = Door()
    for number, string in enumerate(some_strings(25)):
        body = as_body(notification(repeat(string)), escaped=number % 2 == 0)
        assert door.outcome(body) == ("applied" if is_storable(string) else "quarantined"), string
    for row in Notification.objects.filter(state="applied"):
        check_stored(document_of(row))
    assert broken_lines(caplog.records) == []
    nothing_broke()


def test_every_string_as_event_and_as_testing_case_is_stored() -> None:
    """An unknown event is an incident, and a testing case of any name makes no order."""
    door = Door()
    strings = some_strings(20)
    for string in strings:
        event = NotificationDocumentFactory() | {"event": string or "unknown"}
        case = NotificationDocumentFactory(object__testing_case=string)
        assert door.outcome(as_body(event, escaped=True)) == (
            "applied" if is_storable(string) else "quarantined"
        )
        assert door.outcome(as_body(case, escaped=False)) == ("test" if string else "applied"), string
    assert Incident.objects.filter(kind="unknown_event").count() == sum(map(is_storable, strings))
    assert Order.objects.count() == strings.count("")
    nothing_broke()


def test_every_string_in_every_text_of_a_customer_is_answered() -> None:
    """user.validate is refused without a hook, and the decision is stored."""
    door = Door()
    strings = some_strings(20)
    for string in strings:
        customer = with_texts(vector("user"), repeat(string))
        question = NotificationDocumentFactory(event="user.validate") | {"object": customer}
        assert door.send(as_body(question, escaped=True)) == 403, string
    assert ValidationDecision.objects.count() == len(strings)


def test_an_order_whose_id_fits_no_column_is_quarantined() -> None:
    """On every database alike: the bytes stay, and an incident names the rule."""
    long = NotificationDocumentFactory(object__id="x" * 256)
    assert Door().outcome(as_body(long, escaped=True)) == "quarantined"
    assert Notification.objects.get().failure == "the order's id is longer than 255 characters"
    assert (
        Door().outcome(as_body(NotificationDocumentFactory(object__id="x" * 255), escaped=True)) == "applied"
    )
