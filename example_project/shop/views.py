"""The shop's pages."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from checkout_integration import flows
from checkout_integration.client.errors import CheckoutError
from checkout_integration.models import Checkout
from checkout_integration.protocol.creation import Customer
from example_project.shop.models import InventoryItem, Product


def shop(request: HttpRequest) -> HttpResponse:
    """Everything that is for sale."""
    return render(request, "shop/shop.html", {"products": Product.objects.order_by("pk")})


def product(request: HttpRequest, slug: str) -> HttpResponse:
    """One product."""
    return render(request, "shop/product.html", {"product": get_object_or_404(Product, slug=slug)})


@require_POST
@login_required
def buy(request: HttpRequest, slug: str) -> HttpResponse:
    """Sell a product: make the sale, and send the buyer to the service's form."""
    sold = get_object_or_404(Product, slug=slug)
    buyer: User = request.user  # type: ignore[assignment]  # login_required
    try:
        checkout = flows.create_checkout(
            type=sold.kind,
            amount=sold.price,
            currency=sold.currency,
            products=[] if sold.kind == Product.Kind.GEMS else [sold.slug],
            description=sold.name,
            user=buyer,
            customer=Customer(name=buyer.get_full_name(), email=buyer.email),
            subject=sold,
            request=request,
        )
    except CheckoutError:
        messages.error(
            request, "The payment could not be started, and nothing was charged. Please try again."
        )
        return redirect(sold)
    return redirect(checkout.payment_form_url)


@login_required
def inventory(request: HttpRequest) -> HttpResponse:
    """What the player owns."""
    owned = InventoryItem.objects.filter(owner=request.user.pk, taken_back_at=None).select_related("product")
    return render(request, "shop/inventory.html", {"items": owned})


@login_required
def purchases(request: HttpRequest) -> HttpResponse:
    """The player's sales, newest first."""
    made = Checkout.objects.filter(user=request.user.pk).select_related("paid_order").order_by("-pk")
    return render(request, "shop/purchases.html", {"checkouts": made.prefetch_related("subject")})
