"""Pages of a shop with a strict content security policy, in which only what `allow_form` adds is allowed."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template import Context, Template
from django.urls import include, path

from checkout_integration.display import allow_form

NONCE = "n0nce"
STRICT = {"default-src": ["'none'"], "script-src": [f"'nonce-{NONCE}'"]}
SHOWN: dict[str, Any] = {}
"""What the page of the running test shows: ``tag`` and ``checkout``."""


def page(request: HttpRequest) -> HttpResponse:
    """A page with the test's tag."""
    request.csp_nonce = NONCE  # type: ignore[attr-defined]  # as Django's middleware does
    source = f'<!doctype html><html lang="en"><title>Shop</title>{{% load checkout %}}{{% {SHOWN["tag"]} %}}<p id="end">End'
    response = HttpResponse(
        Template(source).render(Context({"request": request, "checkout": SHOWN["checkout"]}))
    )
    policy = allow_form(STRICT)
    response["Content-Security-Policy"] = "; ".join(f"{name} {' '.join(policy[name])}" for name in policy)
    return response


urlpatterns = [path("page/", page), path("checkout/", include("checkout_integration.urls"))]
