"""The shop's pages; paying has a module of its own."""

from __future__ import annotations

import secrets

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from checkout_integration.models import Checkout
from checkout_integration.views.purchases import PurchasesPage
from example_project.shop.models import InventoryItem, Product
from example_project.shop.paying import WAYS


def shop(request: HttpRequest) -> HttpResponse:
    """Everything that is for sale."""
    return render(request, "shop/shop.html", {"products": Product.objects.order_by("pk")})


def product(request: HttpRequest, slug: str) -> HttpResponse:
    """One product. The key tells a guest's double click from a second purchase."""
    product = get_object_or_404(Product, slug=slug)
    shown = {"product": product, "ways": WAYS, "once": secrets.token_urlsafe()}
    return render(request, "shop/product.html", shown)


@login_required
def inventory(request: HttpRequest) -> HttpResponse:
    """Show what the player owns."""
    owned = InventoryItem.objects.filter(owner=request.user.pk, taken_back_at=None).select_related(
        "product", "checkout"
    )
    return render(request, "shop/inventory.html", {"items": owned})


class Purchases(PurchasesPage):
    """Show what the player bought, gave and was given."""

    base_template = "shop/base.html"

    def get_title(self, checkout: Checkout) -> str:
        """Return the product's name."""
        return str(checkout.subject or super().get_title(checkout))

    def get_recipient_name(self, checkout: Checkout) -> str:
        """Return the player's name, by which players know each other."""
        return checkout.recipient.get_username() if checkout.recipient else ""
