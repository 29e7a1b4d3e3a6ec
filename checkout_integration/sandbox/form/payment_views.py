"""Pay on the hosted form: the posted fields, the bank's question for a code, and the payment."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox.form.order_form import OrderForm, not_found, to_form
from checkout_integration.sandbox.form.pay_page import STALE
from checkout_integration.sandbox.form.payment_form import PaymentForm, read_payment_form
from checkout_integration.sandbox.form.result_pages import code_page
from checkout_integration.sandbox.notify.user_validation import Consent
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.orders.payment_methods import CODE, Card
from checkout_integration.sandbox.orders.tax import with_tax
from checkout_integration.sandbox.payments.payments import PaymentDetails
from checkout_integration.sandbox.wire.errors import RefusedError
from checkout_integration.sandbox.wire.http import page_response

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_MOST_WAITING: Final = 1000
_FORM_STATE: Final = ("method", "country")


class PaymentViews:
    """The views by which a customer pays; cards that wait for a code stay in memory only."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Serve `sandbox`."""
        self._sandbox = sandbox
        self._view = OrderForm(sandbox)
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, tuple[str, PaymentForm]] = OrderedDict()

    def pay(self, request: Request) -> Response:
        """Pay with the posted fields: user.validate first in pre-approval mode (EVT-02), then perhaps a code."""
        order = self._view.find(request.form.get("order_id", ""))
        if order is None:
            return not_found()
        ask_address = self._view.asks_address(order)
        if not self._view.is_open(order):
            return to_form(order.id)  # paid in another window, or too late: its page says so
        payment = read_payment_form(request.form, self._sandbox.clock.now(), ask_address=ask_address)
        if payment.method is None:
            return self._view.pay_page(order, request.form, payment.problems)
        try:
            return self._attempt(order, payment, request.form)
        except RefusedError:
            return to_form(order.id)  # the page shows the order's status

    def _attempt(self, order: Order, payment: PaymentForm, form: Mapping[str, str]) -> Response:
        consent = self._sandbox.payments.ask(order.id, **self._details(order, payment))
        if consent is not Consent.GIVEN:
            state = {name: form[name] for name in _FORM_STATE if form.get(name)}
            return to_form(order.id, refused=consent, **state)
        if isinstance(payment.method, Card) and payment.method.asks_code:
            return self._ask_code(order, payment)
        return self._conclude(order, payment)

    def take_code(self, request: Request) -> Response:
        """Take the code of the 3-D Secure step: the right one pays, any other is a decline (MTH-07)."""
        order = self._view.find(request.form.get("order_id", ""))
        if order is None:
            return not_found()
        with self._lock:
            order_id, payment = self._waiting.pop(request.form.get("step", ""), ("", None))
        if payment is None or order_id != order.id or not isinstance(payment.method, Card):
            return to_form(order.id, refused=STALE)
        right = request.form.get("code", "").strip() == CODE
        checked = replace(payment, method=replace(payment.method, secure3d=right))
        try:
            return self._conclude(order, checked)
        except RefusedError:
            return to_form(order.id)

    def _ask_code(self, order: Order, payment: PaymentForm) -> Response:
        step = secrets.token_urlsafe(16)
        with self._lock:
            self._waiting[step] = (order.id, payment)
            while len(self._waiting) > _MOST_WAITING:
                self._waiting.popitem(last=False)
        taxed = with_tax(order, payment.country) if self._view.asks_address(order) else order
        return page_response(code_page(taxed, step))

    def _conclude(self, order: Order, payment: PaymentForm) -> Response:
        """Pay after the merchant's consent."""
        self._sandbox.payments.pay(order.id, payment.method, approved=True, **self._details(order, payment))
        return to_form(order.id)

    def _details(self, order: Order, payment: PaymentForm) -> PaymentDetails:
        return payment.details(with_address=self._view.asks_address(order))
