"""Everything that a shop can include: the admin, the app, and the REST interface."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("checkout/", include("checkout_integration.urls")),
    path("api/", include("checkout_integration.api.urls")),
]
