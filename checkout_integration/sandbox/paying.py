"""Paying on the hosted form: what was typed, the bank's question for a code, and the payment."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from werkzeug.routing import Rule
from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox.approval import Consent
from checkout_integration.sandbox.cards import CODE, Card
from checkout_integration.sandbox.failure import RefusedError
from checkout_integration.sandbox.form_pages import code_page
from checkout_integration.sandbox.form_view import FormView, not_found, to_form
from checkout_integration.sandbox.order import Order
from checkout_integration.sandbox.pay_page import STALE
from checkout_integration.sandbox.payments import PaymentDetails
from checkout_integration.sandbox.tax import with_tax
from checkout_integration.sandbox.typed import Typed, read_typed
from checkout_integration.sandbox.wire import page_answer

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_KEPT: Final = 1000
_KEPT_SHOWN: Final = ("method", "country")


class Paying:
    """The doors through which a buyer pays; cards that wait for a code stay in memory, and are forgotten with it."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Answer for `sandbox`."""
        self._sandbox = sandbox
        self._view = FormView(sandbox)
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, tuple[str, Typed]] = OrderedDict()

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        return [
            Rule("/form/pay", methods=["POST"], endpoint=self.pay),
            Rule("/form/code", methods=["POST"], endpoint=self.take_code),
        ]

    def pay(self, request: Request) -> Response:
        """Take what was typed; ask the merchant first in pre-approval mode (EVT-02), then perhaps for a code."""
        order = self._view.find(request.form.get("order_id", ""))
        if order is None:
            return not_found()
        ask_address = self._view.asks_address(order)
        if not self._view.is_open(order):
            return to_form(order.id)  # paid in another window, or too late: its page says so
        typed = read_typed(request.form, self._sandbox.clock.now(), ask_address=ask_address)
        if typed.method is None:
            return self._view.pay_page(order, request.form, typed.problems)
        try:
            return self._attempt(order, typed, request.form)
        except RefusedError:
            return to_form(order.id)  # the page says how the order stands

    def _attempt(self, order: Order, typed: Typed, form: Mapping[str, str]) -> Response:
        consent = self._sandbox.payments.ask(order.id, **self._details(order, typed))
        if consent is not Consent.GIVEN:
            kept = {name: form[name] for name in _KEPT_SHOWN if form.get(name)}
            return to_form(order.id, refused=consent, **kept)
        if isinstance(typed.method, Card) and typed.method.asks_code:
            return self._ask_code(order, typed)
        return self._conclude(order, typed)

    def take_code(self, request: Request) -> Response:
        """Take the code of the 3-D Secure step: the right one pays, any other is a decline (MTH-07)."""
        order = self._view.find(request.form.get("order_id", ""))
        if order is None:
            return not_found()
        with self._lock:
            order_id, typed = self._waiting.pop(request.form.get("step", ""), ("", None))
        if typed is None or order_id != order.id or not isinstance(typed.method, Card):
            return to_form(order.id, refused=STALE)
        right = request.form.get("code", "").strip() == CODE
        checked = replace(typed, method=replace(typed.method, secure3d=right))
        try:
            return self._conclude(order, checked)
        except RefusedError:
            return to_form(order.id)

    def _ask_code(self, order: Order, typed: Typed) -> Response:
        step = secrets.token_urlsafe(16)
        with self._lock:
            self._waiting[step] = (order.id, typed)
            while len(self._waiting) > _KEPT:
                self._waiting.popitem(last=False)
        taxed = with_tax(order, typed.country) if self._view.asks_address(order) else order
        return page_answer(code_page(taxed, step))

    def _conclude(self, order: Order, typed: Typed) -> Response:
        """Pay after the merchant's consent."""
        self._sandbox.payments.pay(order.id, typed.method, approved=True, **self._details(order, typed))
        return to_form(order.id)

    def _details(self, order: Order, typed: Typed) -> PaymentDetails:
        return typed.details(with_address=self._view.asks_address(order))
