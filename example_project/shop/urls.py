"""Addresses of the shop's pages."""

from __future__ import annotations

from django.urls import path

from example_project.shop import views

urlpatterns = [
    path("", views.shop, name="shop"),
    path("products/<slug:slug>/", views.product, name="product"),
    path("products/<slug:slug>/buy/", views.buy, name="buy"),
    path("inventory/", views.inventory, name="inventory"),
    path("purchases/", views.purchases, name="purchases"),
]
