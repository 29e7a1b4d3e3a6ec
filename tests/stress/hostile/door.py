"""The receiver's door for signed bodies of any kind, and what it made of them."""

from __future__ import annotations

from django.test import Client

from checkout_integration.models import Incident, Notification
from tests.support.wire import signature


class Door:
    """Posts bodies to the receiver's view, through the whole of Django; what the view does not handle fails the test."""

    def __init__(self) -> None:
        self._client = Client()

    def send(self, body: bytes, *, encoding: str = "") -> int:
        """The status of a body that is signed as it is."""
        headers = {"Authorization": signature(body)} | ({"Content-Encoding": encoding} if encoding else {})
        answer = self._client.post(
            "/checkout/webhook/", body, content_type="application/json", headers=headers
        )
        return answer.status_code

    def outcome(self, body: bytes) -> str:
        """Return the state of a new body's notification, or the status of its refusal.

        Response and database must agree, and the stored bytes must be those sent.
        """
        before = Notification.objects.count()
        status = self.send(body)
        stored = Notification.objects.count() - before
        assert stored == (status == 200), f"{status}, and {stored} rows"
        if status != 200:
            return str(status)
        row = Notification.objects.order_by("-received_at").first()
        assert row is not None and bytes(row.body or b"") == body
        refused = row.state == Notification.State.QUARANTINED
        assert Incident.objects.filter(notification=row, kind="refused_content").exists() is refused
        return str(row.state)


def nothing_broke() -> None:
    """Assert that our own rules failed on no notification."""
    failed = Notification.objects.filter(state=Notification.State.FAILED)
    assert list(failed.values_list("failure", "body")) == []
