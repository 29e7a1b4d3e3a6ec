"""Payload documents have the specification's fields, and their parts agree."""

from __future__ import annotations

from dataclasses import fields

import pytest

from checkout_integration.protocol import notification, order, strict_json, user
from checkout_integration.protocol.decoder import Snapshot
from checkout_integration.testing.payloads import (
    ListedOrderDocumentFactory,
    NotificationDocumentFactory,
    OrderDocumentFactory,
    UserDocumentFactory,
)

OWN = {"document", "problems"}


def named(snapshot: type[Snapshot]) -> set[str]:
    """Return the specification's fields of a snapshot."""
    return {each.name for each in fields(snapshot)} - OWN


def test_an_order_has_every_field() -> None:
    """Nothing of the Order resource is left out, and nothing is made up."""
    assert set(OrderDocumentFactory()) == named(order.Order)


def test_a_user_has_every_field() -> None:
    """Nothing of the User resource is left out, and nothing is made up."""
    assert set(UserDocumentFactory()) == named(user.User)


def test_a_notification_has_every_field() -> None:
    """Nothing of the Webhook object is left out, and nothing is made up."""
    assert set(NotificationDocumentFactory()) == named(notification.Notification)


@pytest.mark.parametrize("seen", [False, True])
@pytest.mark.parametrize("status", ["created", "processed", "refunded", "chargeback", "canceled", "rejected"])
def test_an_order_reads_without_problems(status: str, seen: bool) -> None:
    """Both ways of writing are ones that the parser knows."""
    body = strict_json.dumps(NotificationDocumentFactory(object__status=status, object__seen=seen)).encode()
    read = notification.parse_notification(strict_json.loads(body)).order()
    assert read.problems == ()
    assert bool(read.refund) is (status in {"refunded", "chargeback"})
    assert bool(read.cancellation) is (status in {"canceled", "rejected"})
    assert (read.canceled_at is not None) is (status == "canceled")


def test_a_refund_returns_what_was_charged() -> None:
    """The refund follows the order's charge."""
    document = OrderDocumentFactory(status="refunded", charge_amount=30, charge_currency="EUR")
    assert (document["refund"]["amount"], document["refund"]["currency"]) == (30, "EUR")


@pytest.mark.spec("ORD-48", "MTH-05")
def test_a_listed_order_differs() -> None:
    """A list row has no id of the user, but the handler of the method."""
    document = ListedOrderDocumentFactory()
    assert "id" not in document["user"]
    assert document["method"]["handler"]


def test_a_paid_key_has_its_code() -> None:
    """Codes are there for processed keys only."""
    paid = OrderDocumentFactory(type="key", products=["starfall-key"])
    made = OrderDocumentFactory(type="key", products=["starfall-key"], status="created")
    assert paid["items"][0]["code"]
    assert "code" not in made["items"][0]


def test_a_notification_keeps_its_id_over_attempts() -> None:
    """The id names order and event, as seen in the field."""
    order = OrderDocumentFactory()
    first, second = (NotificationDocumentFactory(object=order) for _ in range(2))
    assert first["id"] == second["id"]
    assert NotificationDocumentFactory(object=order, event="payment.refund")["id"] != first["id"]


def test_a_validation_carries_the_user_alone() -> None:
    """The payload of user.validate is a User."""
    assert NotificationDocumentFactory(event="user.validate")["object"]["object"] == "user"
