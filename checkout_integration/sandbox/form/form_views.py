"""The hosted form at {order_form_url} (chapter 6): shows an order, its end and its receipt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from werkzeug.wrappers import Request, Response

from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.sandbox.form.first_visit import ORIGIN, record_first_visit
from checkout_integration.sandbox.form.order_form import OrderForm, not_found, to_form
from checkout_integration.sandbox.form.result_pages import end_page, receipt_page
from checkout_integration.sandbox.pages.rendering import message_page
from checkout_integration.sandbox.wire.errors import RefusedError
from checkout_integration.sandbox.wire.http import page_response
from checkout_integration.sandbox.wire.json_text import NotJsonError, read_json

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

# Query parameters that say how the form is shown.
_SHOWN_WITH = ("form_mode", "language", "view_scheme", *ORIGIN)


class FormViews:
    """The customer's pages, except paying."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Serve `sandbox`."""
        self._sandbox = sandbox
        self._view = OrderForm(sandbox)

    def show(self, request: Request) -> Response:
        """Show the order's form or its result page; for a token or a project, create the order first (EP6-03, EP6-04)."""
        if request.args.get("token"):
            return self._open_new(request, {"token": request.args["token"]})
        if request.args.get("project"):
            return self._open_new(request, _purchase_of(request))
        order = self._view.find(request.args.get("order_id", ""))
        if order is None:
            return not_found()
        if not self._view.is_open(order):
            return page_response(end_page(order, expired=self._sandbox.payments.is_expired(order)))
        order = record_first_visit(self._sandbox, order, request)
        return self._view.pay_page(order, request.args, refused=request.args.get("refused", ""))

    def cancel(self, request: Request) -> Response:
        """Cancel on the customer's wish (STA-04)."""
        order_id = request.form.get("order_id", "")
        if self._view.find(order_id) is None:
            return not_found()
        try:
            self._sandbox.payments.cancel(order_id)
        except RefusedError:
            return to_form(order_id)  # already ended: its page says so
        return to_form(order_id)

    def again(self, request: Request) -> Response:
        """Try again: a new order with a new id and the same metadata."""
        order = self._view.find(request.form.get("order_id", ""))
        if order is None:
            return not_found()
        declined = order.status == OrderStatus.REJECTED and not order.paid
        if not declined and not self._sandbox.payments.is_expired(order):
            return to_form(order.id)
        return to_form(self._sandbox.creation.repeat_order(order).id)

    def receipt(self, request: Request, order_id: str, receipt_id: str) -> Response:
        """Show the receipt of a payment, or of a refund (ORD-15, RFD-06)."""
        order = self._sandbox.ledger.find(order_id)
        if order is None or receipt_id not in (order.receipt_id, order.refund_receipt_id):
            return not_found()
        return page_response(receipt_page(order, receipt_id))

    def _open_new(self, request: Request, document: dict[str, Any]) -> Response:
        try:
            order = self._sandbox.creation.create_order(document, None)
        except RefusedError as error:
            text = error.details or error.message
            return page_response(message_page("This link does not work", text), error.status)
        shown_with = {name: request.args[name] for name in _SHOWN_WITH if request.args.get(name)}
        return to_form(order.id, **shown_with)


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
