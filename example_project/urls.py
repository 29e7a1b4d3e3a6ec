"""Addresses: the shop, Django's admin, and the app that talks to the service."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("example_project.shop.urls")),
    path("accounts/", include("django.contrib.auth.urls")),
    path("admin/", admin.site.urls),
    path("checkout/", include("checkout_integration.urls")),
]
