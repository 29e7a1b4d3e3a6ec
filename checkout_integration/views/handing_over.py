"""Answers after whose bytes the receivers of signals are handed over."""

from __future__ import annotations

from collections.abc import Collection

from django.http import HttpResponse, JsonResponse

from checkout_integration import dispatch
from checkout_integration.models import Notification


class HandingOver(HttpResponse):
    """An answer that something was committed before: of these orders, or a notification that was stored.

    The server closes a response once its bytes are sent; the database connection is given back after that, by Django's own
    ``close``.
    """

    order_ids: Collection[int] = ()
    notification: Notification | None = None

    def close(self) -> None:
        """Hand over what is due, then close."""
        try:
            dispatch.hand_over(self.order_ids, self.notification)
        finally:
            super().close()


class JsonHandingOver(HandingOver, JsonResponse):
    """The same as JSON."""
