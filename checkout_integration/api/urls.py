"""Addresses of the customer's REST interface, for ``path("api/checkout/", include("checkout_integration.api.urls"))``.

A shop with several projects names the one that sells here: ``path(…, include(…), {"project": "eu"})``; default is "default".
"""

from __future__ import annotations

from django.apps import apps
from django.urls import path

from checkout_integration.api.views import CheckoutDetail, CheckoutList, OrderDetail, OrderList, OwnedList

if apps.is_installed("drf_spectacular"):
    from checkout_integration.api import description  # noqa: F401  # drf-spectacular knows it from then on

app_name = "checkout_api"

urlpatterns = [
    path("checkouts/", CheckoutList.as_view(), name="checkout-list"),
    path("checkouts/<str:reference>/", CheckoutDetail.as_view(), name="checkout-detail"),
    path("orders/", OrderList.as_view(), name="order-list"),
    path("orders/<str:order_id>/", OrderDetail.as_view(), name="order-detail"),
    path("owned/", OwnedList.as_view(), name="owned-list"),
]
