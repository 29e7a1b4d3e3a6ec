"""Addresses and options for displaying the Checkout Form.

The redirect and the inline frame use ``payment_form_url`` as it came (EP6-01, EP6-02), if it may be linked at all.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import SplitResult, quote, urlsplit

FRAME_SANDBOX: Final = (
    "allow-forms allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox "
    "allow-top-navigation-by-user-activation"
)
"""What the form may do in an inline frame: pop-ups are for 3-D Secure and wallets, the top is left only by a click."""

_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_NOT_IN_ADDRESSES: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029]")
"""Browsers drop some of these and read the rest as something else."""
_HOST_AND_PORT: Final = re.compile(r"[\w.\-:\[\]]+", re.ASCII)
"""A semicolon or comma in a host would begin a directive of its own."""


def form_address(order_form_url: str, order_id: str) -> str:
    """``{order_form_url}/?order_id=<order_id>`` (EP6-03)."""
    return f"{order_form_url.rstrip('/')}/?order_id={quote(order_id, safe='')}"


def build_form_options(order_form_url: str, order_id: str) -> dict[str, str]:
    """Options of the client-side object for an order; the page then calls its ``renderPage()`` (EP6-03)."""
    return {"formUrl": form_address(order_form_url, order_id)}


def build_token_options(token: str) -> dict[str, str]:
    """Options of the client-side object for the token flow: the token and nothing else (EP6-04)."""
    return {"token": token}


def safe_address(address: str | None, *, loopback: bool = False) -> str:
    """The address if a page may link, frame or load it, else "".

    That is https (AUT-01), and http to this machine where ``loopback`` allows it: never ``javascript:``, never with a
    name and password, whoever sent it.
    """
    parts = _parts(address or "")
    if parts is None or not parts.hostname or parts.username or parts.password:
        return ""
    allowed = parts.scheme == "https" or (loopback and parts.scheme == "http" and parts.hostname in _LOOPBACK)
    return address or "" if allowed else ""


def origin(address: str) -> str:
    """Scheme, host and port, as a policy of sources names them; "" for what `safe_address` would not link anywhere."""
    if not safe_address(address, loopback=True):
        return ""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}" if _HOST_AND_PORT.fullmatch(parts.netloc) else ""


def _parts(address: str) -> SplitResult | None:
    if _NOT_IN_ADDRESSES.search(address):
        return None
    try:
        parts = urlsplit(address)
        return None if parts.port == 0 else parts  # the port is read late, and may be no number
    except ValueError:
        return None
