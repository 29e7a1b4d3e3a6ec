"""Addresses and options for displaying the Checkout Form.

The redirect and the inline frame use ``payment_form_url`` as it came (EP6-01, EP6-02).
"""

from __future__ import annotations

from urllib.parse import quote


def form_address(order_form_url: str, order_id: str) -> str:
    """``{order_form_url}/?order_id=<order_id>`` (EP6-03)."""
    return f"{order_form_url.rstrip('/')}/?order_id={quote(order_id, safe='')}"


def build_form_options(order_form_url: str, order_id: str) -> dict[str, str]:
    """Options of the client-side object for an order; the page then calls its ``renderPage()`` (EP6-03)."""
    return {"formUrl": form_address(order_form_url, order_id)}


def build_token_options(token: str) -> dict[str, str]:
    """Options of the client-side object for the token flow: the token and nothing else (EP6-04)."""
    return {"token": token}
