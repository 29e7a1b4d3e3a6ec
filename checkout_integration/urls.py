"""Addresses of the app: the receiver of notifications, and the page that customers come back to."""

from __future__ import annotations

from django.urls import path, re_path

from checkout_integration.views.receiver import webhook
from checkout_integration.views.returning import return_page, status

app_name = "checkout_integration"

# Both forms of the receiver's address answer by themselves: APPEND_SLASH would turn a POST into a redirect or an error.
urlpatterns = [
    path("webhook/", webhook, name="webhook"),
    path("webhook", webhook),
    path("webhook/<str:project>/", webhook, name="webhook-project"),
    re_path(r"^webhook/(?P<project>[^/]+)$", webhook),
    path("return/<str:signed>/", return_page, name="return"),
    path("status/<str:signed>/", status, name="status"),
]
