"""The REST interface as a shop includes it."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("api/", include("checkout_integration.api.urls")),
    path("server/", include("checkout_integration.api.server_urls")),
    path("checkout/", include("checkout_integration.urls")),
]
