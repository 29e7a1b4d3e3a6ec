"""The shop's pages; paying has a module of its own."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from checkout_integration.display import form_link
from checkout_integration.models import Checkout
from example_project.shop.models import InventoryItem, Product
from example_project.shop.paying import WAYS


def shop(request: HttpRequest) -> HttpResponse:
    """Everything that is for sale."""
    return render(request, "shop/shop.html", {"products": Product.objects.order_by("pk")})


def product(request: HttpRequest, slug: str) -> HttpResponse:
    """One product."""
    shown = {"product": get_object_or_404(Product, slug=slug), "ways": WAYS}
    return render(request, "shop/product.html", shown)


@login_required
def inventory(request: HttpRequest) -> HttpResponse:
    """Show what the player owns."""
    owned = InventoryItem.objects.filter(owner=request.user.pk, taken_back_at=None).select_related(
        "product", "checkout"
    )
    return render(request, "shop/inventory.html", {"items": owned})


@login_required
def purchases(request: HttpRequest) -> HttpResponse:
    """Show the player's checkouts, newest first."""
    made = (
        Checkout.objects.filter(user=request.user.pk)
        .select_related("paid_order", "recipient")
        .order_by("-pk")
    )
    checkouts = made.prefetch_related("subject")
    rows = [{"checkout": checkout, "form": form_link(checkout)} for checkout in checkouts]
    return render(request, "shop/purchases.html", {"rows": rows})
