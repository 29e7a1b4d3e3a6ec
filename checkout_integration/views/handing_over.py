"""Answers after whose bytes the receivers of signals are handed over."""

from __future__ import annotations

from django.http import HttpResponse, JsonResponse

from checkout_integration import dispatch


class HandingOver(HttpResponse):
    """An answer that something was committed before.

    The server closes a response once its bytes are sent; the database connection is given back after that, by Django's own
    ``close``.
    """

    def close(self) -> None:
        """Hands over what is due, then closes."""
        try:
            dispatch.hand_over()
        finally:
            super().close()


class JsonHandingOver(HandingOver, JsonResponse):
    """The same as JSON."""
