"""Responses that do work once their bytes are sent: they dispatch what is due, and write what was refused."""

from __future__ import annotations

from django.http import HttpResponse, HttpResponseRedirect, JsonResponse

from checkout_integration import dispatch
from checkout_integration.flows.monitoring import write_refused
from checkout_integration.models import Notification


class CountingResponse(HttpResponse):
    """A response without a commit, as to a refused request: these are counted in the database, once a minute."""

    def close(self) -> None:
        """Write the counts that are due, then close."""
        try:
            write_refused()
        finally:
            super().close()


class DispatchingResponse(HttpResponse):
    """A response after a commit: a notification was stored, or other work.

    The server closes a response once its bytes are sent; the database connection is given back after that, by Django's own
    ``close``.
    """

    notification: Notification | None = None

    def close(self) -> None:
        """Dispatch due work, then close."""
        try:
            dispatch.dispatch_due(self.notification)
        finally:
            super().close()


class DispatchingRedirect(DispatchingResponse, HttpResponseRedirect):
    """The same, which leads on."""


class JsonDispatchingResponse(DispatchingResponse, JsonResponse):
    """The same with a JSON body."""
