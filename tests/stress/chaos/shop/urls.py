"""The shop's addresses: nothing but the app's."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [path("checkout/", include("checkout_integration.urls"))]
