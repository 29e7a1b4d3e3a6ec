"""The request of each line of the table of rights, with rows of its own to ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import User
from django.db.models import Model
from django.test import Client
from django.test.client import MULTIPART_CONTENT
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from checkout_integration.admin.site.buttons import ButtonAdmin
from checkout_integration.flows.checkout import signed_reference
from checkout_integration.hooks import Hooks
from checkout_integration.models import Checkout
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.admin import rows
from tests.support.admin.offered import OFFERED, buttons
from tests.support.admin.rights import Right
from tests.support.admin.screens import SCREENS, make_row

OURS: Final = "checkout_integration_"
FORM: Final = "application/x-www-form-urlencoded"
FORM_TOKEN: Final = "token-of-a-form"
REST: Final = ("checkout-list", "checkout-detail", "order-list", "order-detail", "owned-list")


class Shop(Hooks):
    """Sells gems."""

    def build_checkout(self, request: Any, data: dict[str, Any]) -> Any:
        """Return the shop's price."""
        return {"amount": Decimal("9.99"), "currency": "USD", "description": "500 gems"}


@dataclass(frozen=True, kw_only=True)
class PlannedRequest:
    """A request: its address and what it sends."""

    address: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def send(self, method: str, user: User | None, *, client: Client | None = None, query: str = "") -> Any:
        """Send it for an account, or for nobody; an exception is a 500, as in production."""
        client = client or Client(raise_request_exception=False)
        if user is not None:
            client.force_login(user)
        address = self.address + query
        if method != "POST":
            return client.generic(method, address, urlencode(self.data, doseq=True), FORM)
        kind = "application/json" if address.startswith("/api/") else MULTIPART_CONTENT
        return client.post(address, self.data, content_type=kind)


def all_requests() -> Iterator[str]:
    """What the table must have, from the addresses, the buttons, the actions of lists and the REST operations."""
    yield from ("GET index", "GET app_list")
    pressed = {f"{screen}_{button}" for screen, button in buttons()}
    for pattern in _patterns(get_resolver("tests.admin.urls").url_patterns):
        name = str(pattern.name)
        if name.startswith(OURS):
            yield f"GET {name.removeprefix(OURS)}"
            if name.removeprefix(OURS) in pressed:
                yield f"POST {name.removeprefix(OURS)}"
        elif pattern.callback.__module__.startswith("checkout_integration."):
            yield from (f"{method} {name}" for method in _methods(pattern))
    for model, screen in admin.site._registry.items():
        if isinstance(screen, ButtonAdmin):
            for button in screen.list_buttons:
                yield f"POST {model._meta.model_name}_changelist {button.name}"


def _patterns(patterns: Any) -> Iterator[URLPattern]:
    """Yield the addresses that have a name: the others are a second form of one of these."""
    for each in patterns:
        if isinstance(each, URLResolver):
            yield from _patterns(each.url_patterns)
        elif each.name:
            yield each


def _methods(pattern: URLPattern) -> list[str]:
    if "webhook" in str(pattern.name):
        return ["GET", "POST"]
    view: Any = getattr(pattern.callback, "cls", None)
    return [method for method in ("GET", "POST") if hasattr(view, method.lower())] if view else ["GET"]


def request_for(right: Right, user: User | None) -> PlannedRequest:
    """Make the rows that a line is about, and return its request."""
    if right.name in ("index", "app_list"):
        return PlannedRequest(
            address=reverse(f"admin:{right.name}", args=["checkout_integration"] * (right.name != "index"))
        )
    if right.name in REST:
        return _of_rest(right, user)
    screen, _bar, page = right.name.rpartition("_")
    return _of_admin(right, screen, page) if screen else _of_app(right)


def _of_admin(right: Right, screen: str, page: str) -> PlannedRequest:
    row: Model | None = make_row(screen) if screen in SCREENS else None
    if screen == "checkout":
        row = rows.make_checkout(payment_form_url=f"https://service.example/form/?token={FORM_TOKEN}")
    data: Mapping[str, Any] = {}
    if (screen, page) in OFFERED:
        row, data = OFFERED[screen, page]()
    if right.case:
        row = OFFERED[_SELECTED[right.case]]()[0]
        data = {"action": right.case, ACTION_CHECKBOX_NAME: [row.pk], "index": "0", "confirmed": "yes"}
    arguments = (
        [] if row is None or page in ("changelist", "csv", "add", "find", "ask", "test-data") else [row.pk]
    )
    return PlannedRequest(address=reverse(f"admin:{OURS}{right.name}", args=arguments), data=data)


_SELECTED: Final = {
    "check_selected": ("order", "check"),
    "run_selected": ("order", "run"),
    "apply_selected": ("notification", "apply"),
}


def _of_rest(right: Right, user: User | None) -> PlannedRequest:
    other = User.objects.create_user(f"other-{rows.next_number()}")
    checkout: Checkout = CheckoutFactory(user=user if user and not right.case else other)
    order = OrderFactory(checkout=checkout)
    keys = {"checkout-detail": [checkout.reference], "order-detail": [order.order_id]}
    return PlannedRequest(address=reverse(f"checkout_api:{right.name}", args=keys.get(right.name, [])))


def _of_app(right: Right) -> PlannedRequest:
    paid: Checkout = CheckoutFactory()  # the service is asked about one that is open
    OrderFactory(checkout=paid)
    args = {
        "health-project": [right.case or "default"],
        "webhook-project": ["default"],
        "return": [signed_reference(paid.reference)],
        "claim": [signed_reference(paid.reference)],
        "status": [signed_reference(paid.reference)],
    }
    return PlannedRequest(
        address=reverse(f"checkout_integration:{right.name}", args=args.get(right.name, []))
    )
