"""The data of the first visit of a form: from where and how the customer opened it, and the language."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from werkzeug.wrappers import Request

from checkout_integration.protocol.vocabulary import FormMode
from checkout_integration.sandbox.orders.language import is_locale, language_of, with_language
from checkout_integration.sandbox.orders.order import Order

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

ORIGIN: Final = ("reference", "reference_type", "utm_source", "utm_medium", "utm_campaign")
"""Query parameters that say where the customer comes from, for instance from a payment link."""
_SCHEMES: Final = {"light", "dark"}
_BY_DESTINATION: Final = {"iframe": FormMode.IFRAME, "document": FormMode.STANDALONE}


def record_first_visit(sandbox: Sandbox, order: Order, request: Request) -> Order:
    """Store `issuer`, `form_mode`, locale and colours of the first visit (ORD-21, ORD-44), and return the order."""
    if order.issuer is not None:
        return order
    # TRANSACTION: read again inside, since the order may have been paid meanwhile.
    with sandbox.store.transaction():
        current = sandbox.ledger.find(order.id) or order
        scheme, language = request.args.get("view_scheme", ""), request.args.get("language", "")
        visited = replace(
            with_language(current, language if is_locale(language) else language_of(request)),
            issuer=_issuer(request),
            form_mode=_mode(request),
            view_scheme=scheme if scheme in _SCHEMES else "",
        )
        sandbox.ledger.save(visited)
    return visited


def _mode(request: Request) -> FormMode:
    """Return how the form is shown: as it was opened with, or as the browser says (EP6-01, EP6-02); else `embed` (ORD-44)."""
    mode = request.args.get("form_mode")
    if mode in set(FormMode):
        return FormMode(mode)
    return _BY_DESTINATION.get(request.headers.get("Sec-Fetch-Dest", ""), FormMode.EMBED)


def _issuer(request: Request) -> dict[str, object]:
    referrer = (request.referrer or "")[:2048]
    try:
        host = urlsplit(referrer).hostname or ""
    except ValueError:
        host = ""
    return {
        "url": referrer,
        "embedded": request.headers.get("Sec-Fetch-Dest") == "iframe",
        **{name: request.args.get(name, "")[:255] for name in ORIGIN},
        "referrer_host": host,
    }
