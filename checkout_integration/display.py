"""Data for pages with the Checkout Form: addresses, options, the client-side script, and sources for a content policy.

The template tags of ``{% load checkout %}`` are thin over this. Nothing here needs the apps to be loaded, so that a settings
module may import it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.utils.formats import date_format, number_format
from django.utils.translation import get_language

from checkout_integration.conf import SETTING, Project, app_settings
from checkout_integration.protocol.form import (
    build_form_options,
    build_token_options,
    form_address,
    origin,
    safe_address,
)
from checkout_integration.protocol.values import minor_units

if TYPE_CHECKING:
    from checkout_integration.flows import IssuedToken
    from checkout_integration.models import Checkout

    Payable: TypeAlias = Checkout | IssuedToken
    """A checkout with an order, or an issued token."""

__all__ = [
    "ClientScript",
    "allow_form",
    "amount_text",
    "client_script",
    "csp_nonce",
    "form_link",
    "form_options",
    "merge_csp",
    "missing_sources",
    "shown_amount",
    "token_options",
]

_CLASS_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*", re.ASCII)
_FALLBACKS: Final[Mapping[str, tuple[str, ...]]] = {
    "frame-src": ("frame-src", "child-src", "default-src"),
    "script-src": ("script-src", "default-src"),
    "script-src-elem": ("script-src-elem",),
    "connect-src": ("connect-src", "default-src"),
    "form-action": ("form-action",),
}
"""Where a browser looks for the sources of a directive that a policy does not have."""


@dataclass(frozen=True, kw_only=True)
class ClientScript:
    """The client-side object: the address of its script and the name of its class."""

    address: str
    class_name: str


def amount_text(amount: Decimal, currency: str = "") -> str:
    """Return the amount in plain digits, with as many decimal places as its currency has, and more only where it has more.

    Without a known currency there are no zeros at the end.
    """
    places = minor_units(currency) or 0
    exact = amount.normalize()
    return format(exact, f".{max(-int(exact.as_tuple().exponent), places, 0)}f")


def shown_amount(amount: Decimal, currency: str = "") -> str:
    """Return the amount of `amount_text` as people write it in the active language: 1.234,50 in German.

    For pages. Files, JSON and attributes of pages have plain digits.
    """
    return number_format(amount_text(amount, currency), force_grouping=True)


def shown_number(number: Decimal | int) -> str:
    """Return a number with all its digits, as people write it in the active language."""
    return number_format(format(number, "f" if isinstance(number, Decimal) else "d"), force_grouping=True)


def shown_day(day: date) -> str:
    """Return a day in the short form of the active language.

    In English as 2026-11-25: some of its countries write the month first, others the day.
    """
    is_english = (get_language() or "en").startswith("en")
    return date_format(day, "Y-m-d" if is_english else "SHORT_DATE_FORMAT")


def form_link(checkout: Payable) -> str:
    """Return the address of the hosted form, to open in a new window or a frame (EP6-01, EP6-02).

    "" when there is none to link, or nothing left to pay.
    """
    if not _checkout_of(checkout).is_payable:
        return ""
    project = app_settings().projects.get(
        _checkout_of(checkout).project
    )  # None: taken out of the settings since
    return safe_address(
        checkout.payment_form_url, loopback=project is not None and project.allow_http_loopback
    )


def form_options(checkout: Checkout) -> dict[str, str]:
    """Return the options of the client-side object for the order of a checkout (EP6-03).

    Raises ``ImproperlyConfigured`` when ORDER_FORM_URL is not set, and ``ValueError`` for a checkout without an order.
    """
    project = _project_of(checkout)
    if not checkout.order_id:
        raise ValueError(f"The checkout is {checkout.status} and has no order to show a form for.")
    if not safe_address(form_address(project.order_form_url, ""), loopback=project.allow_http_loopback):
        raise _not_set("ORDER_FORM_URL", project)
    return build_form_options(project.order_form_url, checkout.order_id)


def token_options(issued: IssuedToken) -> dict[str, str]:
    """Return options of the client-side object for a payment token (EP6-04). The token is for this customer's page only."""
    return build_token_options(issued.token)


def client_script(checkout: Payable) -> ClientScript:
    """Return the script and class of the client-side object. Raises ``ImproperlyConfigured`` when they are not set."""
    project = _project_of(checkout)
    address = safe_address(project.client_script_url, loopback=project.allow_http_loopback)
    if not address:
        raise _not_set("CLIENT_SCRIPT_URL", project)
    if not _CLASS_NAME.fullmatch(project.client_class):
        raise ImproperlyConfigured(f"CLIENT_CLASS of {SETTING} is not the name of a class: set it to one.")
    return ClientScript(address=address, class_name=project.client_class)


def csp_nonce(request: HttpRequest | None) -> str:
    """Return the nonce of the page for its scripts; "" where no middleware gives one.

    Django's nonce is false until it is read, so its truth value must not be tested.
    """
    nonce = getattr(request, "csp_nonce", None)
    return "" if nonce is None else str(nonce)


def allow_form(policy: Mapping[str, Any], project: str = "default") -> dict[str, Any]:
    """Return a content security policy that also allows the form of a project, for Django's ``csp_override`` and the like.

    ``policy`` maps directives to sources, as SECURE_CSP does, and stays as it is. In a settings module, where
    CHECKOUT_INTEGRATION cannot be read yet, use `merge_csp`.
    """
    configured = app_settings().project(project)
    return merge_csp(
        policy,
        order_form_url=configured.order_form_url,
        client_script_url=configured.client_script_url,
        checkout_url=configured.checkout_url,
    )


def merge_csp(
    policy: Mapping[str, Any], *, order_form_url: str, client_script_url: str = "", checkout_url: str = ""
) -> dict[str, Any]:
    """Return the policy with the sources of the form added; everything that it allowed before stays allowed.

    A directive that the policy lacks begins as a copy of the one that browsers fall back to: a bare ``frame-src`` would
    otherwise forbid what ``default-src`` allowed. A policy without any of these directives needs no source.
    """
    merged = dict(policy)
    for directive, sources in _needed(order_form_url, client_script_url, checkout_url).items():
        allowed = _allowed(policy, directive)
        if allowed and any(sources):
            merged[directive] = _with_sources(allowed, sources)
    return merged


def missing_sources(
    policy: Mapping[str, Any], *, order_form_url: str, client_script_url: str = "", checkout_url: str = ""
) -> dict[str, list[str]]:
    """Return what a content security policy does not allow and the form needs: sources by directive; empty if all is well."""
    missing = {}
    for directive, sources in _needed(order_form_url, client_script_url, checkout_url).items():
        allowed = _allowed(policy, directive)
        listed = _with_sources(allowed, ()) if allowed else ["*"]
        missing[directive] = [
            each for each in dict.fromkeys(sources) if each and not _covered(listed, each, directive)
        ]
    return {directive: sources for directive, sources in missing.items() if sources}


def _needed(order_form_url: str, client_script_url: str, checkout_url: str) -> dict[str, tuple[str, ...]]:
    """Return the sources that the form needs, by directive."""
    form, script, service = (origin(each) for each in (order_form_url, client_script_url, checkout_url))
    return {
        "frame-src": (form, script),
        "script-src": (script,),
        "script-src-elem": (script,),
        "connect-src": (form, script, service),
        "form-action": (form,),  # a shop's form whose response redirects to the hosted one
    }


def _allowed(policy: Mapping[str, Any], directive: str) -> object:
    """Return the sources that a browser applies for a directive; None where the policy says nothing of it."""
    return next((policy[each] for each in _FALLBACKS[directive] if policy.get(each)), None)


def _covered(listed: Iterable[object], needed: str, directive: str) -> bool:
    """Return whether sources of a policy allow an origin. The template tags give scripts the nonce of the page."""
    nonce = directive.startswith("script-") and any("nonce" in str(each).lower() for each in listed)
    return nonce or any(_covers(each, needed) for each in listed)


def _covers(source: object, needed: str) -> bool:
    """Return whether a source of a policy allows an origin: itself, its scheme, its host, or a wildcard of it.

    A path after the origin is taken to be that of the form.
    """
    scheme, _, host = needed.partition("://")
    text = str(source).lower()
    if text in ("*", f"{scheme}:"):
        return True
    given_scheme, separator, rest = text.rpartition("://")
    if separator and given_scheme != scheme:
        return False
    pattern = rest.partition("/")[0]
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern


def _with_sources(allowed: object, sources: Iterable[str]) -> list[str]:
    """Return the sources of a directive and ours, each once; ``'none'`` stands alone or means nothing."""
    if isinstance(allowed, str):
        listed: list[str] = allowed.split()
    else:
        listed = list(allowed) if isinstance(allowed, Iterable) else []
    return list(dict.fromkeys(each for each in (*listed, *sources) if each and each != "'none'"))


def _project_of(checkout: Payable) -> Project:
    return app_settings().project(_checkout_of(checkout).project)


def _checkout_of(payable: Payable) -> Checkout:
    either: Any = payable
    checkout: Checkout = getattr(either, "checkout", either)
    return checkout


def _not_set(name: str, project: Project) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"{name} of the project {project.alias!r} is not set to an https:// address: set it in {SETTING}."
    )
