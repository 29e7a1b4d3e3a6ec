"""Middleware that shops have, and that stands in the receiver's way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import async_only_middleware

GetResponse = Callable[[HttpRequest], HttpResponse]


class ReadingBody:
    """Reads the body before the view, as logging middleware does."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Reads, and goes on."""
        assert request.body is not None
        return self.get_response(request)


class ReadingForm(ReadingBody):
    """Looks into the form before the view, as middleware that overrides methods does."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Looks, and goes on."""
        assert "_method" not in request.POST
        return self.get_response(request)


class Counting(ReadingBody):
    """Counts each visitor's requests in the session."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Counts, and goes on."""
        request.session["requests"] = request.session.get("requests", 0) + 1
        return self.get_response(request)


@async_only_middleware
def awaiting(
    get_response: Callable[[HttpRequest], Awaitable[HttpResponse]],
) -> Callable[[HttpRequest], Awaitable[HttpResponse]]:
    """Middleware without a synchronous half."""

    async def middleware(request: HttpRequest) -> HttpResponse:
        response = await get_response(request)
        response["X-Awaited"] = "yes"
        return response

    return middleware
