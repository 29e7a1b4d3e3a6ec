"""URLs of the app: the webhook for notifications, the page that customers return to, and the health for monitors."""

from __future__ import annotations

from django.urls import path, re_path

from checkout_integration.views.health import health
from checkout_integration.views.returning import ClaimPage, ReturnPage, status
from checkout_integration.views.webhook import webhook

app_name = "checkout_integration"

# Both forms of the webhook's address have their own route: APPEND_SLASH would turn a POST into a redirect or an error.
urlpatterns = [
    path("webhook/", webhook, name="webhook"),
    path("webhook", webhook),
    path("webhook/<str:project>/", webhook, name="webhook-project"),
    re_path(r"^webhook/(?P<project>[^/]+)$", webhook),
    path("health/", health, name="health"),
    path("health/<str:project>/", health, name="health-project"),
    path("return/<str:signed>/", ReturnPage.as_view(), name="return"),
    path("claim/<str:signed>/", ClaimPage.as_view(), name="claim"),
    path("status/<str:signed>/", status, name="status"),
]
