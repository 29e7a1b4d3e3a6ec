"""Views exempt from Django's CSRF check: the webhook, and no other of ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from rest_framework.authentication import SessionAuthentication

from checkout_integration.views.webhook import webhook


def patterns(found: list[Any]) -> Iterator[URLPattern]:
    """Every address below these."""
    for each in found:
        if isinstance(each, URLResolver):
            yield from patterns(each.url_patterns)
        else:
            yield each


def exempt(*mounted: Any) -> list[URLPattern]:
    """The addresses of exempt views."""
    return [each for each in patterns(list(mounted)) if getattr(each.callback, "csrf_exempt", False)]


def test_exactly_the_two_addresses_of_the_receiver_are_exempt() -> None:
    """For the one project and for several, each with and without a slash at its end."""
    found = exempt(path("checkout/", include("checkout_integration.urls")))
    assert {each.callback for each in found} == {webhook}
    assert sorted(each.name or "" for each in found) == ["", "", "webhook", "webhook-project"]


def test_the_admin_exempts_none_of_its_own() -> None:
    """Buttons are forms."""
    assert exempt(path("admin/", admin.site.urls)) == []


def test_the_interface_for_buyers_checks_where_a_session_logs_in() -> None:
    """Django REST framework exempts its views, and checks by itself."""
    found = exempt(path("api/", include("checkout_integration.api.urls")))
    callbacks: list[Any] = [each.callback for each in found]
    assert found
    assert all(SessionAuthentication in each.view_class.authentication_classes for each in callbacks)
