"""The page to which the customer returns after the form. It changes nothing: it shows the stored status."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, TypeAlias

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.mixins import LoginRequiredMixin
from django.http import Http404, HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe
from django.views.generic import TemplateView
from django.views.generic.base import ContextMixin

from checkout_integration.conf import app_settings
from checkout_integration.display import csp_nonce, shown_price
from checkout_integration.flows.checkout import (
    Goods,
    ask_once,
    brought_up_to_date,
    checkout_of,
    claim,
    goods_of,
    is_claimable,
    signed_reference,
)
from checkout_integration.models import Checkout, Order
from checkout_integration.policy.verdict import VerdictStatus
from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.views.dispatching import DispatchingRedirect, JsonDispatchingResponse
from checkout_integration.views.transactions import outside_transactions

AnyView: TypeAlias = Callable[..., HttpResponseBase]
CHANGING = (*Checkout.PAYABLE, Checkout.Status.REVIEW)
"""Statuses that change without the customer: their page looks again."""


def without_referrer(view: AnyView) -> AnyView:
    """Return the view whose response keeps the signed reference, which is in the address, from other sites."""

    @wraps(view)
    def guarded(*args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(*args, **kwargs)
        response.headers.setdefault("Referrer-Policy", "same-origin")
        return response

    return guarded


EVERYWHERE = (
    without_referrer,
    require_safe,
    never_cache,
    login_not_required,  # the form's frame sends no session cookie; the signed reference identifies the checkout
    xframe_options_exempt,  # the form redirects inside its own frame
    outside_transactions,  # stored notifications for the checkout are applied first
)


def return_link(checkout: Checkout, view: str = "checkout_integration:return") -> str:
    """Return the address of the page that shows how the checkout stands; it expires after a week.

    ``view`` is the name of a page of the shop, a `ReturnPageMixin`; the app's own page when it is left out.
    """
    return reverse(view, args=[signed_reference(checkout.reference)])


@method_decorator(EVERYWHERE, name="dispatch")
class ReturnPageMixin(ContextMixin, View):
    """The page to which the form leads back, as a page of the shop: ``class Thanks(ReturnPageMixin, TemplateView)``.

    Its address has ``<str:signed>``, and stands in RETURN_URL with ``{reference}`` in that place. It works without a session,
    and inside the form's frame. The template is given what ``checkout_integration/return.html`` is given; 404 for a reference
    that is unknown or has expired. ``checkout`` is the checkout, brought up to date.
    """

    @cached_property
    def checkout(self) -> Checkout:
        """The checkout of the address. Raises ``Http404``."""
        return _checkout(self.kwargs["signed"])

    def get_try_again_url(self) -> str:
        """Return where a customer who has not paid can buy the same again: the page of the subject, if it has one."""
        return page_of_subject(self.checkout)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return the content of the page."""
        shown = _context(self.request, self.checkout, self.kwargs["signed"])
        return super().get_context_data(**shown, try_again_url=self.get_try_again_url(), **kwargs)


class ReturnPage(ReturnPageMixin, TemplateView):
    """Say whether the checkout is paid. Override the template for the shop's own look."""

    template_name = "checkout_integration/return.html"


@method_decorator((without_referrer, never_cache, outside_transactions), name="dispatch")
class ClaimPage(LoginRequiredMixin, TemplateView):
    """Give what a guest has bought to the account that is logged in, by POST; the buyer's signed address says what, once.

    Without a session it leads to LOGIN_URL and back. It is never in a frame, where a button could be clicked unseen.
    """

    template_name = "checkout_integration/claim.html"
    http_method_names = ["get", "head", "post", "options"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return the purchase, and whether it can be claimed."""
        checkout = _checkout(self.kwargs["signed"])
        shown: dict[str, Any] = {
            "checkout": checkout,
            "title": title_of(checkout),
            "price": price_of(checkout),
            "is_claimable": is_claimable(checkout),
        }
        is_mine = checkout.user_id is not None and checkout.user_id == self.request.user.pk
        is_guests = checkout.user_id is None and checkout.claimed_at is None
        if (is_mine or is_guests) and checkout.status != Checkout.Status.PAID:
            shown["heading"], shown["message"] = _words(checkout, checkout.latest_order, Goods.NONE)
        return super().get_context_data(
            **shown,
            is_mine=is_mine,
            account=self.request.user.get_username(),
            continue_url=_continue_url(checkout),
            csp_nonce=csp_nonce(self.request),
            **kwargs,
        )

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Claim it, and show the same page again, which says whose it is."""
        assert request.user.is_authenticated  # the mixin has seen to it
        claim(_checkout(self.kwargs["signed"]), request.user)
        return DispatchingRedirect(request.path)  # receivers may have waited for it


@without_referrer
@require_safe
@never_cache
@login_not_required
@outside_transactions  # it may call the service
def status(request: HttpRequest, signed: str) -> JsonResponse:
    """Return the checkout's status for the return page; query the service once for an open checkout.

    ``{"status": "open", "order_status": "created", "goods": ""}``: the checkout's own status, that of its latest order, and
    how far its goods are: ``granting``, ``delayed`` or ``granted`` once it is paid (`Goods`). The status is ``processing``
    while a notification of it is stored that could not be applied yet.
    """
    checkout = _checkout(signed)
    was_refreshed = not checkout.processing and ask_once(checkout)
    if was_refreshed:
        checkout = _checkout(signed)
    order = checkout.latest_order
    body = {
        "status": checkout.shown_status,
        "order_status": order.status if order else "",
        "goods": goods_of(checkout),
    }
    return JsonDispatchingResponse(body) if was_refreshed else JsonResponse(body)


def _checkout(signed: str) -> Checkout:
    checkout = checkout_of(signed)
    if checkout is None:
        raise Http404("There is no such checkout, or its address has expired.")
    return brought_up_to_date(checkout)


def _context(request: HttpRequest, checkout: Checkout, signed: str) -> dict[str, Any]:
    order, goods = checkout.latest_order, goods_of(checkout)
    heading, message = _words(checkout, order, goods)
    return {
        "checkout": checkout,
        "order": order,
        "heading": heading,
        "message": message,
        "title": title_of(checkout),
        "price": price_of(checkout),
        "status": checkout.shown_status,
        "goods": goods,
        "is_pending": checkout.status in Checkout.PAYABLE,
        "is_changing": checkout.status in CHANGING or goods in (Goods.GRANTING, Goods.DELAYED),
        "can_try_again": checkout.status in (Checkout.Status.CANCELLED, Checkout.Status.FAILED),
        "status_url": reverse("checkout_integration:status", args=[signed]),
        "claim_url": reverse("checkout_integration:claim", args=[signed]) if is_claimable(checkout) else "",
        "continue_url": _continue_url(checkout),
        "csp_nonce": csp_nonce(request),
    }


def _continue_url(checkout: Checkout) -> str:
    """Return RETURN_CONTINUE_URL; the start page where the checkout's project is no longer in the settings."""
    project = app_settings().projects.get(checkout.project)
    return project.return_continue_url if project else "/"


def page_of_subject(checkout: Checkout) -> str:
    """Return the address of the shop's own page of what is sold, "" where it has none."""
    page = getattr(checkout.subject, "get_absolute_url", None)
    return str(page()) if page else ""


def title_of(checkout: Checkout) -> str:
    """Return what is sold: the description, else the name that the service gives it, else the products."""
    order = checkout.paid_order
    return checkout.description or (order.product if order else "") or ", ".join(map(str, checkout.products))


def price_of(checkout: Checkout) -> str:
    """Return the agreed price, else what was paid; "" while neither is known."""
    order = checkout.paid_order
    return shown_price(checkout.price or ((order.amount, order.currency) if order else None))


def heading_of(checkout: Checkout, order: Order | None) -> str:
    """Return in a word or two how a checkout stands; ``order`` is the one that paid."""
    return _words(checkout, order, Goods.GRANTED)[0]


def _words(checkout: Checkout, order: Order | None, goods: Goods) -> tuple[str, str]:
    if checkout.status in Checkout.PAYABLE:
        return _words_of_open(checkout)
    if checkout.status == Checkout.Status.PAID:
        return gettext("Paid"), _words_of_goods(checkout, goods)
    if checkout.status == Checkout.Status.REVERSED:
        return _words_of_reversed(order)
    if checkout.status == Checkout.Status.FAILED:
        return gettext("Not started"), gettext("The payment could not be started. Nothing was charged.")
    if checkout.status == Checkout.Status.REVIEW:
        return gettext("Received"), gettext(
            "Your payment has arrived. Somebody is checking it. Please do not pay again."
        )
    return gettext("Not paid"), gettext("The payment was not completed. Nothing was charged.")


def _words_of_goods(checkout: Checkout, goods: Goods) -> str:
    if goods == Goods.DELAYED:
        return gettext(
            "Thank you. Your payment has arrived, but your goods are delayed. Somebody is looking into it. "
            "Please do not pay again."
        )
    if goods == Goods.GRANTING and checkout.gift:
        return gettext("Thank you. Your payment has arrived, and your gift is on its way.")
    if goods == Goods.GRANTING and is_claimable(checkout):
        return gettext(
            "Thank you. Your payment has arrived. Your goods are on their way, or wait until you add the purchase to your "
            "account."
        )
    if goods == Goods.GRANTING:
        return gettext("Thank you. Your payment has arrived, and your goods are on their way.")
    return gettext("Thank you. Your payment has arrived.")


def _words_of_reversed(order: Order | None) -> tuple[str, str]:
    if order is not None and order.status == OrderStatus.CHARGEBACK:
        return gettext("Charged back"), gettext("Your bank has taken the payment back.")
    if order is not None and order.verdict == VerdictStatus.REVOKED:
        return gettext("Taken back"), gettext(
            "The shop has taken the goods back. The payment was not refunded."
        )
    return gettext("Refunded"), gettext("The payment was refunded.")


def _words_of_open(checkout: Checkout) -> tuple[str, str]:
    if checkout.processing:
        return gettext("Processing"), gettext(
            "The shop is processing your payment. This page updates by itself."
        )
    return gettext("Waiting for the payment"), gettext(
        "Your payment has not arrived yet. This page updates by itself."
    )
