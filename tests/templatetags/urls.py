"""Pages of a shop with a strict content security policy, in which only what the docs name is allowed."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.template import Context, Template
from django.urls import include, path

from checkout_integration.conf import app_settings

NONCE = "n0nce"
SHOWN: dict[str, Any] = {}
"""What the page of the running test shows: ``tag`` and ``checkout``."""


def page(request: HttpRequest) -> HttpResponse:
    """A page with the test's tag."""
    request.csp_nonce = NONCE  # type: ignore[attr-defined]  # as Django's middleware does
    source = f'<!doctype html><html lang="en"><title>Shop</title>{{% load checkout %}}{{% {SHOWN["tag"]} %}}<p id="end">End'
    response = HttpResponse(
        Template(source).render(Context({"request": request, "checkout": SHOWN["checkout"]}))
    )
    project = app_settings().project()
    form, service = (_origin(address) for address in (project.order_form_url, project.checkout_url))
    response["Content-Security-Policy"] = (
        f"default-src 'none'; script-src 'nonce-{NONCE}'; frame-src {form}; connect-src {form} {service}"
    )
    return response


def _origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


urlpatterns = [path("page/", page), path("checkout/", include("checkout_integration.urls"))]
