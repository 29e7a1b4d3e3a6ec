"""Addresses of the app: the receiver of notifications, with and without a closing slash."""

from __future__ import annotations

from django.urls import path, re_path

from checkout_integration.views import webhook

app_name = "checkout_integration"

# Both forms answer by themselves: APPEND_SLASH would turn a POST into a redirect or an error.
urlpatterns = [
    path("webhook/", webhook, name="webhook"),
    path("webhook", webhook),
    path("webhook/<str:project>/", webhook, name="webhook-project"),
    re_path(r"^webhook/(?P<project>[^/]+)$", webhook),
]
