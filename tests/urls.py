"""URLs for the tests: Django's admin and, as in the README, the product under `checkout/`."""

from __future__ import annotations

from importlib.util import find_spec

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [path("admin/", admin.site.urls)]
if find_spec("checkout_integration.urls"):
    urlpatterns.append(path("checkout/", include("checkout_integration.urls")))
