"""The shop's own tables in the admin; payments are shown by checkout_integration."""

from __future__ import annotations

from django.contrib import admin

from example_project.shop.models import InventoryItem, Product


@admin.register(Product)
class ProductAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # cannot be subscripted at run time
    """What is for sale."""

    list_display = ["name", "kind", "price", "currency"]


@admin.register(InventoryItem)
class InventoryItemAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Who owns what."""

    list_display = ["product", "owner", "granted_at", "taken_back_at"]
    list_select_related = ["product", "owner"]
