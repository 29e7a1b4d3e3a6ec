"""The Webhook object: the envelope in which orders and users arrive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from checkout_integration.protocol.decoder import Decoder, Snapshot, flag, mapping, moment, text, whole
from checkout_integration.protocol.order import Order, parse_order
from checkout_integration.protocol.user import User, parse_user


class MalformedNotification(ValueError):
    """The document has no id, no event or no object, so it cannot be a notification."""


@dataclass(frozen=True, kw_only=True)
class Notification(Snapshot):
    """A notification (WHK-01 to WHK-08). ``object`` is the payload as sent; `order` and `user` read it.

    ``id`` is the same for every attempt to deliver the same event, while ``delivery_try`` and the bytes
    change; ``created_at`` may be the time of the attempt. ``live`` None means that the message says nothing.
    """

    id: str = text()
    type: str | None = text()
    event: str = text()
    live: bool | None = flag()
    created_at: datetime | None = moment()
    expires_at: datetime | None = moment()
    delivery_try: int | None = whole()
    object: Mapping[str, Any] = mapping()

    def order(self) -> Order:
        """Return the payload read as an Order, afresh at each call: for payment.* events (EVT-08)."""
        return parse_order(self.object)

    def user(self) -> User:
        """Return the payload read as a User, afresh at each call: for user.validate (EVT-08)."""
        return parse_user(self.object)


NOTIFICATION: Decoder[Notification] = Decoder(Notification)


def parse_notification(document: object) -> Notification:
    """Return the snapshot of a Webhook object.

    Raises MalformedNotification when the document is no JSON object, or has no text ``id``, no text
    ``event`` or no JSON object as ``object``. Everything else is tolerated.
    """
    if not isinstance(document, Mapping):
        raise MalformedNotification("a notification is a JSON object")
    notification = NOTIFICATION(document)
    for name in ("id", "event"):
        if not getattr(notification, name):
            raise MalformedNotification(f"the notification has no {name}")
    if notification.object is None:
        raise MalformedNotification("the notification has no object")
    return notification
