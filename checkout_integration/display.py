"""Data for pages with the Checkout Form: addresses, options, and the client-side script.

The template tags of ``{% load checkout %}`` are thin over this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.utils.formats import date_format, number_format
from django.utils.translation import get_language, gettext

from checkout_integration.conf import SETTING, Project, app_settings
from checkout_integration.protocol.form import (
    build_form_options,
    build_token_options,
    form_address,
    safe_address,
)
from checkout_integration.protocol.values import amount_text

if TYPE_CHECKING:
    from checkout_integration.flows import IssuedToken
    from checkout_integration.models import Checkout

    Payable: TypeAlias = Checkout | IssuedToken
    """A checkout with an order, or an issued token."""

__all__ = [
    "ClientScript",
    "amount_text",
    "client_script",
    "csp_nonce",
    "form_link",
    "form_options",
    "shown_amount",
    "token_options",
]

_CLASS_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class ClientScript:
    """The client-side object: the address of its script and the name of its class."""

    address: str
    class_name: str


def shown_amount(amount: Decimal, currency: str = "") -> str:
    """Return the amount of `amount_text` as people write it in the active language: 1.234,50 in German.

    For pages. Files, JSON and attributes of pages have plain digits.
    """
    return number_format(amount_text(amount, currency), force_grouping=True)


def shown_number(number: Decimal | int) -> str:
    """Return a number with all its digits, as people write it in the active language."""
    return number_format(format(number, "f" if isinstance(number, Decimal) else "d"), force_grouping=True)


def shown_part(stated: int, unstated: int) -> str:
    """Return of how many things a sum is, if it is not complete: "2 of 3", or "0 of 3"; "" for a complete one."""
    if not unstated:
        return ""
    part, whole = shown_number(stated), shown_number(stated + unstated)
    return gettext("%(part)s of %(whole)s") % {"part": part, "whole": whole}


def shown_day(day: date) -> str:
    """Return a day in the short form of the active language.

    In English as 2026-11-25: some of its countries write the month first, others the day.
    """
    is_english = (get_language() or "en").startswith("en")
    return date_format(day, "Y-m-d" if is_english else "SHORT_DATE_FORMAT")


def shown_price(price: tuple[Decimal | None, str] | None) -> str:
    """Return an amount with its currency, as `shown_amount` writes it; "" for an unknown one."""
    amount, currency = price or (None, "")
    return "" if amount is None else f"{shown_amount(amount, currency)} {currency}".strip()


def linkable(address: str | None) -> str:
    """Return the address if a page may link it, else "": plain HTTP only in a shop that has a sandbox there."""
    projects = app_settings().projects.values()
    loopback = any(project.allow_http_loopback for project in projects)
    hosts = {host for project in projects for host in project.allow_http_hosts}
    return safe_address(address, loopback=loopback, hosts=hosts) if isinstance(address, str) else ""


def form_link(checkout: Payable) -> str:
    """Return the address of the hosted form, to open in a new window or a frame (EP6-01, EP6-02).

    "" when there is none to link, or nothing left to pay.
    """
    if not _checkout_of(checkout).is_payable:
        return ""
    project = app_settings().projects.get(
        _checkout_of(checkout).project
    )  # None: taken out of the settings since
    return safe_address(checkout.payment_form_url, **(project.plain_http if project else {}))


def form_options(checkout: Checkout) -> dict[str, str]:
    """Return the options of the client-side object for the order of a checkout (EP6-03).

    Raises ``ImproperlyConfigured`` when ORDER_FORM_URL is not set, and ``ValueError`` for a checkout without an order.
    """
    project = _project_of(checkout)
    if not checkout.order_id:
        raise ValueError(f"The checkout is {checkout.status} and has no order to show a form for.")
    if not safe_address(form_address(project.order_form_url, ""), **project.plain_http):
        raise _not_set("ORDER_FORM_URL", project)
    return build_form_options(project.order_form_url, checkout.order_id)


def token_options(issued: IssuedToken) -> dict[str, str]:
    """Return options of the client-side object for a payment token (EP6-04). The token is for this customer's page only."""
    return build_token_options(issued.token)


def client_script(checkout: Payable) -> ClientScript:
    """Return the script and class of the client-side object. Raises ``ImproperlyConfigured`` when they are not set."""
    project = _project_of(checkout)
    address = safe_address(project.client_script_url, **project.plain_http)
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


def _project_of(checkout: Payable) -> Project:
    return app_settings().project(_checkout_of(checkout).project)


def _checkout_of(payable: Payable) -> Checkout:
    either: Any = payable
    checkout: Checkout = getattr(either, "checkout", either)
    return checkout


_AT_THE_SANDBOX: Final = {"ORDER_FORM_URL": "/form", "CLIENT_SCRIPT_URL": "/client.js"}


def _not_set(name: str, project: Project) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"{name} of the project {project.alias!r} is not set to an https:// address: set it in {SETTING}. "
        f"The sandbox has it at {_AT_THE_SANDBOX[name]} (docs/sandbox.md)."
    )
