"""``{% load checkout %}``: the five ways of showing the Checkout Form.

| way | tag |
|---|---|
| redirect, in a new window (EP6-01) | ``{% checkout_link checkout %}`` |
| inline frame (EP6-02) | ``{% checkout_frame checkout %}`` |
| standalone page with the client-side object (EP6-03) | ``{% checkout_page checkout %}`` |
| token flow (EP6-04) | ``{% checkout_token_page issued %}`` |
| token flow on the server (EP6-05) | link or frame, once the order is made |

``checkout`` is what ``flows.create_checkout`` returned, ``issued`` what ``flows.create_token`` did; link and frame take
either.
Each tag renders a template of the folder ``checkout_integration/display/``, which a shop may override. An address that is
not https (or http to this machine, where ALLOW_HTTP_LOOPBACK is on) is never linked, framed or loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.template import Context, Library
from django.utils.html import json_script
from django.utils.translation import gettext

from checkout_integration import display
from checkout_integration.protocol.form import FRAME_SANDBOX

if TYPE_CHECKING:
    from checkout_integration.flows import IssuedToken
    from checkout_integration.models import Checkout

register = Library()


@register.inclusion_tag("checkout_integration/display/link.html")
def checkout_link(checkout: Checkout | IssuedToken, text: str = "", css_class: str = "") -> dict[str, Any]:
    """Render a link that opens the form in a new window (EP6-01). ``text`` defaults to "Pay"."""
    return {"address": display.form_link(checkout), "text": text or gettext("Pay"), "css_class": css_class}


@register.inclusion_tag("checkout_integration/display/frame.html")
def checkout_frame(
    checkout: Checkout | IssuedToken,
    title: str = "",
    height: int = 700,
    css_class: str = "",
    by_script: bool = False,
) -> dict[str, Any]:
    """Render the form in an inline frame (EP6-02), with a link to a new window where the frame does not work.

    ``by_script``: ``mountForms`` of the app's ES module makes the frame, so that it hears the form from its first message on;
    without script the frame is there all the same.
    """
    return {
        **_link_beside(checkout),
        "title": title or gettext("Payment form"),
        "height": str(height),  # a number would be written as people of the language write it
        "css_class": css_class,
        "sandbox": FRAME_SANDBOX,
        "by_script": by_script,
    }


@register.inclusion_tag("checkout_integration/display/client.html", takes_context=True)
def checkout_page(context: Context, checkout: Checkout, target: str = "", nonce: str = "") -> dict[str, Any]:
    """Render the client-side object for the order of a checkout (EP6-03).

    As in the specification, ``renderPage()`` is called without an argument: deployed services then empty the whole body of
    the page. ``target``, a CSS selector, names an element that gives way instead. ``nonce`` defaults to the request's.
    """
    return _client(context, checkout, checkout.reference, display.form_options(checkout), target, nonce)


@register.inclusion_tag("checkout_integration/display/client.html", takes_context=True)
def checkout_token_page(
    context: Context, issued: IssuedToken, target: str = "", nonce: str = ""
) -> dict[str, Any]:
    """Render the client-side object for a payment token, its single option (EP6-04). Arguments as for `checkout_page`.

    The token is in the page: it is for the customer of the checkout only, and such a page must not be cached.
    """
    return _client(context, issued, issued.checkout.reference, display.token_options(issued), target, nonce)


def _client(
    context: Context,
    checkout: Checkout | IssuedToken,
    reference: str,
    options: Mapping[str, str],
    target: str,
    nonce: str,
) -> dict[str, Any]:
    """Return the template's context; values reach the script as separate JSON, never as text inside it."""
    options_id, target_id = f"checkout-options-{reference}", f"checkout-target-{reference}"
    return {
        **_link_beside(checkout),
        "script": display.client_script(checkout),
        "options": json_script(options, options_id),
        "options_id": options_id,
        "target": json_script(target, target_id) if target else "",
        "target_id": target_id,
        "nonce": nonce or display.csp_nonce(context.get("request")),
    }


def _link_beside(checkout: Checkout | IssuedToken) -> dict[str, str]:
    return {"address": display.form_link(checkout), "text": gettext("Open the payment form")}
