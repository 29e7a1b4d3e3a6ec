"""Addresses for game servers, for ``path("api/server/", include("checkout_integration.api.server_urls"))``.

The token of the request names the project, so one include serves all of them.
"""

from __future__ import annotations

from django.apps import apps
from django.urls import path

from checkout_integration.api.server import Acknowledgement, GrantList, OwnedList

if apps.is_installed("drf_spectacular"):
    from checkout_integration.api import description  # noqa: F401  # drf-spectacular knows it from then on

app_name = "checkout_server"

urlpatterns = [
    path("owned/", OwnedList.as_view(), name="owned-list"),
    path("grants/", GrantList.as_view(), name="grant-list"),
    path("grants/<str:key>/acknowledge/", Acknowledgement.as_view(), name="grant-acknowledge"),
]
