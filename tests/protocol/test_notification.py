"""The Webhook object."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from checkout_integration.protocol.notification import MalformedNotification, parse_notification
from tests.support.protocol.vectors import vector

OTHER = {
    "id": "note-2",
    "type": "message",
    "event": "payment.refund",
    "live": False,
    "created_at": "2025-06-07T10:09:10+02:00",
    "expires_at": "",
    "delivery_try": 0,
    "object": {"id": "order-2"},
}
FIELDS = [
    pytest.param("id", "note-1", "note-2", marks=pytest.mark.spec("WHK-01")),
    pytest.param("type", "notification", "message", marks=pytest.mark.spec("WHK-02")),
    pytest.param("event", "payment.success", "payment.refund", marks=pytest.mark.spec("WHK-03")),
    pytest.param("live", True, False, marks=pytest.mark.spec("WHK-04")),
    pytest.param(
        "created_at",
        datetime(2024, 5, 1, 10, 0, 5, tzinfo=UTC),
        datetime(2025, 6, 7, 8, 9, 10, tzinfo=UTC),
        marks=pytest.mark.spec("WHK-05"),
    ),
    pytest.param(
        "expires_at",
        datetime(2024, 5, 3, 10, 0, 5, tzinfo=UTC),
        None,
        marks=pytest.mark.spec("WHK-06", "EVT-10"),
    ),
    pytest.param("delivery_try", 2, 0, marks=pytest.mark.spec("WHK-07", "EVT-10")),
]


@pytest.mark.parametrize(("name", "expected", "other"), FIELDS)
def test_each_field_has_the_value_of_its_notification(name: str, expected: object, other: object) -> None:
    """Two that differ in every field; each is read under its own name."""
    notifications = [parse_notification(vector("notification_success")), parse_notification(OTHER)]
    assert [getattr(each, name) for each in notifications] == [expected, other]
    assert [each.problems for each in notifications] == [(), ()]


@pytest.mark.spec("WHK-08", "EVT-03", "EVT-08")
def test_the_payload_of_a_payment_is_an_order() -> None:
    """It is read on demand, and the raw object stays at hand."""
    notification = parse_notification(vector("notification_success"))
    assert notification.order().id == "order-1"
    assert notification.order().status == "created"
    assert notification.object["amount"] is notification.order().document["amount"]


@pytest.mark.spec("WHK-08", "EVT-07", "EVT-08", "WHK-06")
def test_the_payload_of_a_validation_is_a_user() -> None:
    """And its expires_at is empty text, which is no time and no problem."""
    notification = parse_notification(vector("notification_validate"))
    assert notification.user().external_id == "player-42"
    assert notification.expires_at is None
    assert notification.problems == ()


@pytest.mark.spec("WHK-03")
@pytest.mark.parametrize("absent", [{}, {"event": None}, {"event": ""}, {"event": 7}])
@pytest.mark.parametrize("source", [vector("notification_success"), OTHER])
def test_the_event_is_read_from_no_other_field(source: dict[str, Any], absent: dict[str, Any]) -> None:
    """Nor from what is no text: a notification that names none is refused."""
    without = {name: value for name, value in source.items() if name != "event"}
    with pytest.raises(MalformedNotification, match="no event"):
        parse_notification({**without, **absent})


@pytest.mark.parametrize(
    "event", ["payment.success", "payment.chargeback", "payment.refund", "payment.cancel", "payment.new"]
)
@pytest.mark.spec("WHK-03", "EVT-04", "EVT-05", "EVT-06")
def test_every_event_is_text(event: str) -> None:
    """Unknown ones included: they are stored, not rejected."""
    assert parse_notification({"id": "n", "event": event, "object": {}}).event == event


@pytest.mark.spec("WHK-01", "WHK-03", "WHK-08", "EVT-08")
@pytest.mark.parametrize(
    "change",
    [{"id": None}, {"id": ""}, {"id": 5}, {"event": None}, {"event": ""}, {"event": []}, {"object": None}, {"object": []},
     {"object": "order"}],
)  # fmt: skip
def test_without_id_event_or_object_it_is_malformed(change: dict[str, Any]) -> None:
    """These three are what a notification is; the rest may be missing."""
    with pytest.raises(MalformedNotification):
        parse_notification({**vector("notification_success"), **change})


@pytest.mark.spec("EVT-08")
@pytest.mark.parametrize("document", [None, [], "x", 1, True])
def test_what_is_no_object_is_malformed(document: object) -> None:
    """Any JSON value may arrive."""
    with pytest.raises(MalformedNotification):
        parse_notification(document)


@pytest.mark.spec("WHK-04", "WHK-05", "WHK-07")
def test_everything_else_is_tolerated() -> None:
    """Wrong types of the other fields are problems, not errors."""
    notification = parse_notification(
        {"id": "n", "event": "e", "object": {}, "live": "yes", "delivery_try": 1.5, "created_at": "soon"}
    )
    assert (notification.live, notification.delivery_try, notification.created_at) == (None, None, None)
    assert set(notification.problems) == {"live", "delivery_try", "created_at"}


def test_repr_shows_no_payload() -> None:
    """A notification in a log line must not carry the customer with it."""
    assert "ada@mail.example" not in repr(parse_notification(vector("notification_validate")))
