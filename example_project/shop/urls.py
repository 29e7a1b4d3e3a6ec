"""Addresses of the shop's pages."""

from __future__ import annotations

from django.urls import path

from example_project.shop import paying, views

urlpatterns = [
    path("", views.shop, name="shop"),
    path("products/<slug:slug>/", views.product, name="product"),
    path("products/<slug:slug>/buy/", paying.Buy.as_view(), name="buy"),
    path("pay/<slug:way>/<slug:reference>/", paying.pay, name="pay"),
    path("purchase/<str:signed>/", paying.Purchase.as_view(), name="purchase"),
    path("inventory/", views.inventory, name="inventory"),
    path("purchases/", views.Purchases.as_view(), name="purchases"),
]
