"""The hosted form at {order_form_url} (chapter 6): shows an order, takes the payment, shows its end and its receipt."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from checkout_integration.protocol.vocabulary import OrderStatus, VatPayer
from checkout_integration.sandbox.form.first_visit import ORIGIN, record_first_visit
from checkout_integration.sandbox.form.payment_form import (
    METHODS,
    PaymentForm,
    method_or_card,
    read_payment_form,
)
from checkout_integration.sandbox.form.result_pages import code_page, end_page, receipt_page
from checkout_integration.sandbox.notify.user_validation import Consent
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.orders.payment_methods import CODE, CRYPTO_CURRENCIES, WALLETS, Card
from checkout_integration.sandbox.orders.tax import COUNTRIES, with_tax
from checkout_integration.sandbox.pages.rendering import message_page, render
from checkout_integration.sandbox.wire.errors import RefusedError
from checkout_integration.sandbox.wire.http import page_response
from checkout_integration.sandbox.wire.json_text import NotJsonError, read_json

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

# Query parameters that say how the form is shown.
_SHOWN_WITH = ("form_mode", "language", "view_scheme", *ORIGIN)
_MOST_WAITING: Final = 1000
_FORM_STATE: Final = ("method", "country")
_VAT: Final = {
    VatPayer.BUYER: "Taxes of your country are added to the price.",
    VatPayer.SELLER: "Taxes of your country are included in the price.",
    VatPayer.NOBODY: "This purchase is exempt from VAT.",
}
_STALE: Final = "stale"
_REFUSALS: Final[Mapping[str, tuple[str, str]]] = {
    Consent.DENIED: ("The payment was refused.", "The seller did not approve this customer."),
    Consent.FAILED: (
        "The payment was refused.",
        "The seller could not approve it just now. You can try again.",
    ),
    Consent.UNANSWERED: ("The payment was refused.", "The seller did not answer in time. You can try again."),
    _STALE: ("The payment was not confirmed.", "Your bank's question is no longer open. Please pay again."),
}
_CONSENTS: Final[Mapping[str, str]] = {
    "saved": "Save this method for next time",
    "notify_sale": "Tell me about special offers by e-mail",
    "notify_new_region": "Tell me by e-mail when payments open in new regions",
}
_RECURRING: Final[Mapping[str, str]] = {"recurring": "Renew this payment automatically"}


class FormViews:
    """The customer's pages; cards that wait for a code stay in memory only."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Serve `sandbox`."""
        self._sandbox = sandbox
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, tuple[str, PaymentForm]] = OrderedDict()

    def show(self, request: Request) -> Response:
        """Show the order's form or its result page; for a token or a project, create the order first (EP6-03, EP6-04)."""
        if request.args.get("token"):
            return self._open_new(request, {"token": request.args["token"]})
        if request.args.get("project"):
            return self._open_new(request, _purchase_of(request))
        order = self._find(request.args.get("order_id", ""))
        if order is None:
            return _not_found()
        if not self._is_open(order):
            return page_response(end_page(order, expired=self._sandbox.payments.is_expired(order)))
        order = record_first_visit(self._sandbox, order, request)
        return self._pay_page(order, request.args, {}, refused=request.args.get("refused", ""))

    def cancel(self, request: Request) -> Response:
        """Cancel on the customer's wish (STA-04)."""
        order_id = request.form.get("order_id", "")
        if self._find(order_id) is None:
            return _not_found()
        try:
            self._sandbox.payments.cancel(order_id)
        except RefusedError:
            return _to_form(order_id)  # already ended: its page says so
        return _to_form(order_id)

    def again(self, request: Request) -> Response:
        """Try again: a new order with a new id and the same metadata."""
        order = self._find(request.form.get("order_id", ""))
        if order is None:
            return _not_found()
        declined = order.status == OrderStatus.REJECTED and not order.paid
        if not declined and not self._sandbox.payments.is_expired(order):
            return _to_form(order.id)
        return _to_form(self._sandbox.creation.repeat_order(order).id)

    def receipt(self, request: Request, order_id: str, receipt_id: str) -> Response:
        """Show the receipt of a payment, or of a refund (ORD-15, RFD-06)."""
        order = self._sandbox.ledger.find(order_id)
        if order is None or receipt_id not in (order.receipt_id, order.refund_receipt_id):
            return _not_found()
        return page_response(receipt_page(order, receipt_id))

    def pay(self, request: Request) -> Response:
        """Pay with the posted fields: user.validate first in pre-approval mode (EVT-02), then perhaps a code."""
        order = self._find(request.form.get("order_id", ""))
        if order is None:
            return _not_found()
        if not self._is_open(order):
            return _to_form(order.id)  # paid in another window, or too late: its page says so
        payment = read_payment_form(
            request.form, self._sandbox.clock.now(), ask_address=self._asks_address(order)
        )
        if payment.method is None:
            return self._pay_page(order, request.form, payment.problems)
        try:
            return self._attempt(order, payment, request.form)
        except RefusedError:
            return _to_form(order.id)  # the page shows the order's status

    def _attempt(self, order: Order, payment: PaymentForm, form: Mapping[str, str]) -> Response:
        consent = self._sandbox.payments.ask(order.id, **payment.details)
        if consent is not Consent.GIVEN:
            state = {name: form[name] for name in _FORM_STATE if form.get(name)}
            return _to_form(order.id, refused=consent, **state)
        if isinstance(payment.method, Card) and payment.method.asks_code:
            return self._ask_code(order, payment)
        return self._conclude(order, payment)

    def take_code(self, request: Request) -> Response:
        """Take the code of the 3-D Secure step: the right one pays, any other is a decline (MTH-07)."""
        order = self._find(request.form.get("order_id", ""))
        if order is None:
            return _not_found()
        with self._lock:
            order_id, payment = self._waiting.pop(request.form.get("step", ""), ("", None))
        if payment is None or order_id != order.id or not isinstance(payment.method, Card):
            return _to_form(order.id, refused=_STALE)
        right = request.form.get("code", "").strip() == CODE
        checked = replace(payment, method=replace(payment.method, secure3d=right))
        try:
            return self._conclude(order, checked)
        except RefusedError:
            return _to_form(order.id)

    def _ask_code(self, order: Order, payment: PaymentForm) -> Response:
        step = secrets.token_urlsafe(16)
        with self._lock:
            self._waiting[step] = (order.id, payment)
            while len(self._waiting) > _MOST_WAITING:
                self._waiting.popitem(last=False)
        country = payment.details["billing_country"]
        taxed = with_tax(order, country) if country else order
        return page_response(code_page(taxed, step))

    def _conclude(self, order: Order, payment: PaymentForm) -> Response:
        """Pay after the merchant's consent."""
        self._sandbox.payments.pay(order.id, payment.method, approved=True, **payment.details)
        return _to_form(order.id)

    def _open_new(self, request: Request, document: dict[str, Any]) -> Response:
        try:
            order = self._sandbox.creation.create_order(document, None)
        except RefusedError as error:
            text = error.details or error.message
            return page_response(message_page("This link does not work", text), error.status)
        shown_with = {name: request.args[name] for name in _SHOWN_WITH if request.args.get(name)}
        return _to_form(order.id, **shown_with)

    def _find(self, order_id: str) -> Order | None:
        """Return the order of that identifier; reversal items have no form."""
        order = self._sandbox.ledger.find(order_id)
        return None if order is None or order.reversal else order

    def _is_open(self, order: Order) -> bool:
        """Return whether the order can still be paid."""
        return order.status == OrderStatus.CREATED and not self._sandbox.payments.is_expired(order)

    def _asks_address(self, order: Order) -> bool:
        """Return whether the form asks for the billing address (ORD-25)."""
        project = self._sandbox.projects.find(order.project_id)
        return project is not None and project.ask_billing_address

    def _pay_page(
        self, order: Order, chosen: Mapping[str, str], problems: Mapping[str, str], *, refused: str = ""
    ) -> Response:
        """Show the page to pay on, with the total of the chosen country and the fields of the chosen method.

        A card's own fields are never filled again. ``refused``: why the last attempt came to nothing.
        """
        country, method = (
            self._country(order, chosen.get("country", "")),
            method_or_card(chosen.get("method")),
        )
        page = render(
            "pay",
            order=with_tax(order, country) if country else order,
            vat=_VAT[order.vat_payer],
            method=method,
            methods=METHODS,
            wallets={name: name for name in WALLETS},
            crypto_currencies={name: name for name in CRYPTO_CURRENCIES},
            ask_country=self._asks_address(order),
            country=country,
            countries={"": "Choose a country", **COUNTRIES},
            values={**chosen, "email": chosen.get("email", order.user.get("email", ""))},
            problems=problems,
            refusal=_REFUSALS.get(refused),
            # Renewals with a card only (MTH-11).
            consents={**_CONSENTS, **(_RECURRING if method == "card" else {})},
            event="formRendered",
            scheme=order.view_scheme,
        )
        return page_response(page, 422 if problems else 200)

    def _country(self, order: Order, chosen: str) -> str:
        if not self._asks_address(order):
            return ""
        known = chosen or (order.user.get("address") or {}).get("country", "")
        return known if known in COUNTRIES else ""


def _to_form(order_id: str, **more: str) -> Response:
    """Redirect to the form of an order, which shows its status."""
    return redirect(f"/form/?{urlencode({'order_id': order_id, **more})}", 303)


def _not_found() -> Response:
    """Return the page for an unknown order."""
    return page_response(message_page("No such order", "Check the address, or go back to the shop."), 404)


def _purchase_of(request: Request) -> dict[str, Any]:
    """Return the order body of an address with a project, as the client-side object opens it."""
    document: dict[str, Any] = {
        name: request.args[name] for name in ("project", "type", "currency") if request.args.get(name)
    }
    if request.args.getlist("products"):
        document["products"] = request.args.getlist("products")
    if request.args.get("amount"):
        try:
            document["amount"] = read_json(request.args["amount"])
        except NotJsonError:
            document["amount"] = request.args["amount"]  # which is then refused as no number
    return document
