"""The common part of the hosted form's views: find an order, redirect to its form, show the page for paying."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from werkzeug.utils import redirect
from werkzeug.wrappers import Response

from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.sandbox.form.pay_page import pay_page
from checkout_integration.sandbox.form.payment_form import method_or_card
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.orders.tax import COUNTRIES, with_tax
from checkout_integration.sandbox.pages.rendering import message_page
from checkout_integration.sandbox.wire.http import page_response

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

NOTHING: Final[Mapping[str, str]] = {}


class OrderForm:
    """The orders as the customer sees them."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Look at the orders of `sandbox`."""
        self._sandbox = sandbox

    def find(self, order_id: str) -> Order | None:
        """Return the order of that identifier; reversal items have no form."""
        order = self._sandbox.ledger.find(order_id)
        return None if order is None or order.reversal else order

    def is_open(self, order: Order) -> bool:
        """Return whether the order can still be paid."""
        return order.status == OrderStatus.CREATED and not self._sandbox.payments.is_expired(order)

    def asks_address(self, order: Order) -> bool:
        """Return whether the form asks for the billing address (ORD-25)."""
        project = self._sandbox.projects.find(order.project_id)
        return project is not None and project.ask_billing_address

    def pay_page(
        self,
        order: Order,
        chosen: Mapping[str, str],
        problems: Mapping[str, str] = NOTHING,
        *,
        refused: str = "",
    ) -> Response:
        """Show the page to pay on, with the total of the chosen country and the fields of the chosen method."""
        country = self._country(order, chosen.get("country", ""))
        page = pay_page(
            with_tax(order, country) if country else order,
            method=method_or_card(chosen.get("method")),
            ask_country=self.asks_address(order),
            country=country,
            entered=chosen,
            problems=problems,
            refused=refused,
        )
        return page_response(page, 422 if problems else 200)

    def _country(self, order: Order, chosen: str) -> str:
        if not self.asks_address(order):
            return ""
        known = chosen or (order.user.get("address") or {}).get("country", "")
        return known if known in COUNTRIES else ""


def to_form(order_id: str, **more: str) -> Response:
    """Redirect to the form of an order, which shows its status."""
    return redirect(f"/form/?{urlencode({'order_id': order_id, **more})}", 303)


def not_found() -> Response:
    """Return the page for an unknown order."""
    return page_response(message_page("No such order", "Check the address, or go back to the shop."), 404)
