"""The page to which the customer returns after the form. It changes nothing: it shows the stored status."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from checkout_integration.conf import app_settings
from checkout_integration.display import amount_text, csp_nonce
from checkout_integration.flows.checkout import ask_once, brought_up_to_date, checkout_of
from checkout_integration.models import Checkout
from checkout_integration.views.dispatching import JsonDispatchingResponse
from checkout_integration.views.transactions import outside_transactions


@require_safe
@never_cache
@login_not_required  # inside the form's frame the session cookie is not sent; the signed reference identifies the checkout
@xframe_options_exempt  # the form redirects inside its own frame
@outside_transactions  # stored notifications for the checkout are applied first
def return_page(request: HttpRequest, signed: str) -> HttpResponse:
    """Show whether the checkout is paid; 404 for a reference that is unknown or has expired.

    Override the template ``checkout_integration/return.html`` for the shop's own look.
    """
    checkout = _checkout(signed)
    return render(request, "checkout_integration/return.html", _context(request, checkout, signed))


@require_safe
@never_cache
@login_not_required
@outside_transactions  # it may call the service
def status(request: HttpRequest, signed: str) -> JsonResponse:
    """Return the checkout's status for the return page; query the service once for an open checkout.

    ``{"status": "open", "order_status": "created"}``: the checkout's own status, and that of its latest order. The status is
    ``processing`` while a notification of it is stored that could not be applied yet.
    """
    checkout = _checkout(signed)
    was_refreshed = not checkout.processing and ask_once(checkout)
    if was_refreshed:
        checkout = _checkout(signed)
    order = checkout.latest_order
    body = {"status": checkout.shown_status, "order_status": order.status if order else ""}
    return JsonDispatchingResponse(body) if was_refreshed else JsonResponse(body)


def _checkout(signed: str) -> Checkout:
    checkout = checkout_of(signed)
    if checkout is None:
        raise Http404("There is no such checkout, or its address has expired.")
    return brought_up_to_date(checkout)


def _context(request: HttpRequest, checkout: Checkout, signed: str) -> dict[str, Any]:
    order = checkout.latest_order
    heading, message = _words(checkout)
    return {
        "checkout": checkout,
        "order": order,
        "heading": heading,
        "message": message,
        "price": _price(checkout),
        "status": checkout.shown_status,
        "is_pending": checkout.status in Checkout.PAYABLE,
        "status_url": reverse("checkout_integration:status", args=[signed]),
        "continue_url": _continue_url(checkout),
        "csp_nonce": csp_nonce(request),
    }


def _price(checkout: Checkout) -> str:
    if checkout.price is None:
        return ""
    amount, currency = checkout.price
    return f"{amount_text(amount, currency)} {currency}"


def _continue_url(checkout: Checkout) -> str:
    """Return RETURN_CONTINUE_URL; the start page where the checkout's project is no longer in the settings."""
    project = app_settings().projects.get(checkout.project)
    return project.return_continue_url if project else "/"


def _words(checkout: Checkout) -> tuple[str, str]:
    if checkout.status in Checkout.PAYABLE:
        return _words_of_open(checkout)
    if checkout.status == Checkout.Status.PAID:
        return gettext("Paid"), gettext("Thank you. Your payment has arrived.")
    if checkout.status == Checkout.Status.REVERSED:
        return gettext("Refunded"), gettext("The payment was refunded.")
    if checkout.status == Checkout.Status.FAILED:
        return gettext("Not started"), gettext("The payment could not be started. Nothing was charged.")
    if checkout.status == Checkout.Status.REVIEW:
        return gettext("Received"), gettext("Your payment has arrived. The shop is checking it.")
    return gettext("Not paid"), gettext("The payment was not completed. Nothing was charged.")


def _words_of_open(checkout: Checkout) -> tuple[str, str]:
    if checkout.processing:
        return gettext("Processing"), gettext(
            "The shop is processing your payment. This page updates by itself."
        )
    return gettext("Waiting for the payment"), gettext(
        "Your payment has not arrived yet. This page updates by itself."
    )
