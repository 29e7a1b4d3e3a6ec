"""URLs for the tests: Django's admin and, as in the README, the product under `checkout/`."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("checkout/", include("checkout_integration.urls")),
]
