"""Responses that dispatch due work once their bytes are sent."""

from __future__ import annotations

from django.http import HttpResponse, JsonResponse

from checkout_integration import dispatch
from checkout_integration.flows.inbox import ApplySummary, NotificationRow


class DispatchingResponse(HttpResponse):
    """A response after a commit: a notification was stored, and perhaps applied at once.

    The server closes a response once its bytes are sent; the database connection is given back after that, by Django's own
    ``close``.
    """

    applied = ApplySummary()
    notification: NotificationRow | None = None

    def close(self) -> None:
        """Dispatch due work, then close."""
        try:
            dispatch.dispatch_due(self.applied, self.notification)
        finally:
            super().close()


class JsonDispatchingResponse(DispatchingResponse, JsonResponse):
    """The same with a JSON body."""
