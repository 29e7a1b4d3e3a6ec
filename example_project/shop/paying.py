"""Selling a product, and showing the service's form in the way that the customer picks."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from checkout_integration import flows
from checkout_integration.client.errors import CheckoutError
from checkout_integration.flows.checkout import signed_reference
from checkout_integration.models import Checkout
from checkout_integration.protocol.creation import Customer
from example_project.shop.models import Product

WAYS = {
    "window": "In a new window",
    "frame": "In a frame on our page",
    "page": "On our page, by the form's script",
    "token": "By the form's script, with a payment token",
    "server": "With a payment token that we redeem",
}
"""The ways to show the form, as the product's page names them; ``templates/shop/pay/`` has a page for each."""


@require_POST
@login_required
@never_cache  # a payment token may stand in the page
def buy(request: HttpRequest, slug: str) -> HttpResponse:
    """Sell a product: redirect to the form, or to the page of the chosen way."""
    sold = get_object_or_404(Product, slug=slug)
    way = request.POST.get("way", "")
    arguments = _terms(request, sold)
    try:
        if way == "token":
            issued = flows.create_token(**arguments)
            return _page(request, way, issued.checkout, issued)
        if way == "server":
            checkout = flows.create_order_from_token(flows.create_token(**arguments))
        else:
            checkout = flows.create_checkout(**arguments)
    except CheckoutError:
        messages.error(
            request, "The payment could not be started, and nothing was charged. Please try again."
        )
        return redirect(sold)
    return redirect("pay", way, checkout.reference) if way in WAYS else redirect(checkout.payment_form_url)


@login_required
@never_cache
def pay(request: HttpRequest, way: str, reference: str) -> HttpResponse:
    """Show the form of this customer's checkout; its purchase once there is nothing left to pay."""
    checkout = get_object_or_404(Checkout, reference=reference, user=request.user.pk)
    if (
        way not in WAYS or way == "token"
    ):  # the token was in the response to the customer's press, and nowhere else
        raise Http404
    if checkout.status != Checkout.Status.OPEN:
        return redirect(_purchase(checkout))
    return _page(request, way, checkout)


def _terms(request: HttpRequest, sold: Product) -> dict[str, Any]:
    """Return the arguments of the checkout; they are the same for every way to show the form."""
    buyer: User = request.user  # type: ignore[assignment]  # login_required
    return {
        "type": sold.kind,
        "amount": sold.price,
        "currency": sold.currency,
        "products": [] if sold.kind == Product.Kind.GEMS else [sold.slug],
        "description": sold.name,
        "user": buyer,
        "customer": Customer(name=buyer.get_full_name(), email=buyer.email),
        "subject": sold,
        "request": request,
    }


def _page(
    request: HttpRequest, way: str, checkout: Checkout, issued: flows.IssuedToken | None = None
) -> HttpResponse:
    shown = {"checkout": checkout, "issued": issued, "way": WAYS[way], "purchase_url": _purchase(checkout)}
    return render(request, f"shop/pay/{way}.html", shown)


def _purchase(checkout: Checkout) -> str:
    """Return the page that shows how the checkout stands; the form leads back to it too."""
    return reverse("checkout_integration:return", args=[signed_reference(checkout.reference)])
