"""Selling a product, and showing the service's form in the way that the customer picks."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.generic import TemplateView

from checkout_integration import flows
from checkout_integration.hooks import CheckoutTerms
from checkout_integration.models import Checkout
from checkout_integration.protocol.creation import Customer
from checkout_integration.protocol.vocabulary import OrderType
from checkout_integration.views.returning import ReturnPageMixin, return_link
from checkout_integration.views.selling import SellMixin
from example_project.catalogue import LASTING
from example_project.shop.models import Product

WAYS = {
    "window": _("In a new window"),
    "frame": _("In a frame on our page"),
    "page": _("On our page, by the form's script"),
    "token": _("By the form's script, with a payment token"),
    "server": _("With a payment token that we redeem"),
}
"""The ways to show the form, as the product's page names them; ``templates/shop/pay/`` has a page for each."""
TOKENS = "payment_tokens"
"""In the customer's session: tokens by reference of their checkouts. They are for this customer's pages only."""


class Buy(SellMixin):
    """Sell a product: lead to the form, or to the page of the chosen way. A guest may add it to an account later."""

    guests = True

    @cached_property
    def product(self) -> Product:
        """Return what is sold. Raises ``Http404``."""
        return get_object_or_404(Product, slug=self.kwargs["slug"])

    @property
    def player(self) -> str:
        """The name of the player who gets it as a gift; "" for the buyer."""
        return self.request.POST.get("player", "").strip()

    @cached_property
    def recipient(self) -> User | None:
        """Return that player; None where there is none."""
        return User.objects.filter(username=self.player, is_active=True).first() if self.player else None

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Sell, unless the gift is for nobody."""
        if self.player and self.recipient is None:
            messages.error(request, _("There is no player of that name."))
            return redirect(self.product)
        return super().post(request, *args, **kwargs)

    @property
    def way(self) -> str:
        """How the customer wants to see the form."""
        return self.request.POST.get("way", "")

    def get_terms(self) -> CheckoutTerms:
        """Return what is sold, the same for every way; the price is the shop's."""
        product, buyer = self.product, self.request.user
        known = buyer if isinstance(buyer, User) else None
        return {
            "type": OrderType(product.kind),
            "amount": product.price,
            "currency": product.currency,
            "products": [] if product.kind == Product.Kind.GEMS else [product.slug],
            "description": product.name,
            "customer": Customer(name=known.get_full_name(), email=known.email) if known else None,
            "idempotency_key": "" if known else self.request.POST.get("once", ""),
            "subject": product,
            "lasts_days": LASTING.get(product.slug),
            "recipient": self.recipient,
        }

    def create(self) -> Checkout:
        """Create the checkout, or a token for it."""
        if self.way not in ("token", "server"):
            return super().create()
        issued = flows.create_token(user=self.request.user, **self.get_arguments())
        if self.way == "server":
            return flows.create_order_from_token(issued)
        self.request.session[TOKENS] = {issued.checkout.reference: issued.token}
        return issued.checkout

    def created(self, checkout: Checkout) -> HttpResponseBase:
        """Lead on by a redirect, so that reloading the next page buys nothing."""
        return (
            redirect("pay", self.way, checkout.reference) if self.way in WAYS else super().created(checkout)
        )

    def not_created(self, error: flows.CheckoutError | flows.CreationError) -> HttpResponseBase:
        """Say so on the product's page."""
        if isinstance(error, flows.CustomerBlocked):
            messages.error(
                self.request, _("You cannot buy here. If you do not know why, please write to us.")
            )
            return redirect(self.product)
        advice = (
            _("Please look at your purchases before you try again.")
            if isinstance(error, flows.CheckoutError) and error.outcome_unknown
            else _("Please try again.")
        )
        text = _("The payment could not be started, and nothing was charged.")
        messages.error(self.request, f"{text} {advice}")
        return redirect(self.product)


@login_required
@never_cache  # a payment token may stand in the page
def pay(request: HttpRequest, way: str, reference: str) -> HttpResponse:
    """Show the form of this customer's checkout; its purchase once there is nothing left to pay."""
    checkout = get_object_or_404(Checkout, reference=reference, user=request.user.pk)
    if way not in WAYS:
        raise Http404
    if checkout.status != Checkout.Status.OPEN:
        return redirect(_purchase(checkout))
    shown: dict[str, Any] = {"checkout": checkout, "way": WAYS[way], "purchase_url": _purchase(checkout)}
    if way == "token":
        shown["issued"] = _issued(request, checkout)
    return render(request, f"shop/pay/{way}.html", shown)


def _issued(request: HttpRequest, checkout: Checkout) -> flows.IssuedToken:
    """Return the token of the checkout that this session was given. Raises ``Http404``."""
    token = request.session.get(TOKENS, {}).get(checkout.reference)
    if not token:
        raise Http404
    return flows.IssuedToken(checkout=checkout, token=token, payment_form_url=checkout.payment_form_url)


class Purchase(ReturnPageMixin, TemplateView):
    """Show how a checkout stands. The form leads back here (RETURN_URL), and so do the shop's own pages."""

    template_name = "shop/purchase.html"


def _purchase(checkout: Checkout) -> str:
    return return_link(checkout, "purchase")
