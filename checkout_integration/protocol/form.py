"""Addresses and options for displaying the Checkout Form.

The redirect and the inline frame use ``payment_form_url`` as it came (EP6-01, EP6-02), if it may be linked at all.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from urllib.parse import quote

from checkout_integration.protocol.address import is_secure

FRAME_SANDBOX: Final = (
    "allow-forms allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox "
    "allow-top-navigation-by-user-activation"
)
"""What the form may do in an inline frame: pop-ups are for 3-D Secure and wallets, the top is left only by a click."""


def form_address(order_form_url: str, order_id: str) -> str:
    """Return ``{order_form_url}/?order_id=<order_id>`` (EP6-03)."""
    return f"{order_form_url.rstrip('/')}/?order_id={quote(order_id, safe='')}"


def build_form_options(order_form_url: str, order_id: str) -> dict[str, str]:
    """Return options of the client-side object for an order; the page then calls its ``renderPage()`` (EP6-03)."""
    return {"formUrl": form_address(order_form_url, order_id)}


def build_token_options(token: str) -> dict[str, str]:
    """Return options of the client-side object for the token flow: the token and nothing else (EP6-04)."""
    return {"token": token}


def safe_address(address: str | None, *, loopback: bool = False, hosts: Collection[str] = ()) -> str:
    """Return the address if a page may link, frame or load it, else "".

    That is https (AUT-01), and http to ``hosts`` or, with ``loopback``, to this machine: never ``javascript:``, never with a
    name and password, from any sender.
    """
    return address or "" if is_secure(address, loopback=loopback, hosts=hosts) else ""
