"""The hosted form at {order_form_url} (chapter 6): shows an order, takes the card, leads back to the merchant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode, urlsplit

from werkzeug.routing import Rule
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from checkout_integration.protocol.vocabulary import FormMode, OrderStatus
from checkout_integration.sandbox.card_form import read_typed
from checkout_integration.sandbox.failure import RefusedError
from checkout_integration.sandbox.form_pages import end_page, message_page, pay_page, receipt_page
from checkout_integration.sandbox.order import Order
from checkout_integration.sandbox.payments import Outcome
from checkout_integration.sandbox.tax import COUNTRIES, with_tax
from checkout_integration.sandbox.wire import page_answer

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_NOTHING: Final[Mapping[str, str]] = {}


class Form:
    """The buyer's pages."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Answer for `sandbox`."""
        self._sandbox = sandbox

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        return [
            Rule("/form/", methods=["GET"], endpoint=self.show),
            Rule("/form/pay", methods=["POST"], endpoint=self.pay),
            Rule("/form/cancel", methods=["POST"], endpoint=self.cancel),
            Rule("/form/again", methods=["POST"], endpoint=self.again),
            Rule("/receipt/<order_id>/<receipt_id>", methods=["GET"], endpoint=self.receipt),
        ]

    def show(self, request: Request) -> Response:
        """Show the order's form or its end; a token makes a new order first."""
        token = request.args.get("token")
        if token:
            return self._show_token(request, token)
        order = self._find(request.args.get("order_id", ""))
        if order is None:
            return _not_found()
        if order.status != OrderStatus.CREATED or self._sandbox.payments.is_expired(order):
            return page_answer(end_page(order, expired=self._sandbox.payments.is_expired(order)))
        self._note_visit(order, request)
        country = self._country(order, request.args.get("country", ""))
        refused = request.args.get("refused") == "1"
        return self._pay_page(order, country, _NOTHING, _NOTHING, refused=refused)

    def pay(self, request: Request) -> Response:
        """Take the card; ask the merchant first in pre-approval mode (EVT-02)."""
        order = self._find(request.form.get("order_id", ""))
        if order is None:
            return _not_found()
        typed = read_typed(request.form, self._sandbox.clock.now())
        if typed.card is None:
            country = self._country(order, typed.country)
            return self._pay_page(order, country, request.form, typed.problems, status=422)
        try:
            outcome = self._sandbox.payments.pay(
                order.id,
                typed.card,
                receipt_email=typed.email,
                billing_country=typed.country if self._asks_country(order) else "",
                billing_state=typed.state,
                billing_zip=typed.zip,
            )
        except RefusedError:
            return self._to_form(order.id)  # the page says how the order stands
        return self._to_form(order.id, refused="1") if outcome is Outcome.REFUSED else self._to_form(order.id)

    def cancel(self, request: Request) -> Response:
        """Cancel on the customer's wish (STA-04)."""
        order_id = request.form.get("order_id", "")
        if self._find(order_id) is None:
            return _not_found()
        try:
            self._sandbox.payments.cancel(order_id)
        except RefusedError:
            return self._to_form(order_id)  # already ended: its page says so
        return self._to_form(order_id)

    def again(self, request: Request) -> Response:
        """Try again: a new order with a new id and the same metadata (field notes)."""
        order = self._find(request.form.get("order_id", ""))
        if order is None:
            return _not_found()
        if order.status != OrderStatus.REJECTED and not self._sandbox.payments.is_expired(order):
            return self._to_form(order.id)
        return self._to_form(self._sandbox.creation.order_again(order).id)

    def receipt(self, request: Request, order_id: str, receipt_id: str) -> Response:
        """Show a receipt (ORD-15)."""
        order = self._find(order_id)
        if order is None or order.receipt_id != receipt_id:
            return _not_found()
        return page_answer(receipt_page(order))

    def _find(self, order_id: str) -> Order | None:
        order = self._sandbox.ledger.find(order_id)
        return None if order is None or order.reversal else order

    def _show_token(self, request: Request, token: str) -> Response:
        try:
            order = self._sandbox.creation.order_from_token(token)
        except RefusedError as error:
            return page_answer(message_page("This link does not work", error.message), 400)
        mode = request.args.get("form_mode")
        return self._to_form(order.id, **({"form_mode": mode} if mode else {}))

    def _to_form(self, order_id: str, **more: str) -> Response:
        query = urlencode({"order_id": order_id, **more})
        return redirect(f"/form/?{query}", 303)

    def _asks_country(self, order: Order) -> bool:
        project = self._sandbox.projects.find(order.project_id)
        return project is not None and project.ask_billing_address

    def _country(self, order: Order, chosen: str) -> str:
        if not self._asks_country(order):
            return ""
        known = chosen or (order.user.get("address") or {}).get("country", "")
        return known if known in COUNTRIES else ""

    def _pay_page(
        self,
        order: Order,
        country: str,
        typed: Mapping[str, str],
        problems: Mapping[str, str],
        *,
        refused: bool = False,
        status: int = 200,
    ) -> Response:
        shown = with_tax(order, country) if country else order
        page = pay_page(
            shown,
            ask_country=self._asks_country(order),
            country=country,
            typed=typed,
            problems=problems,
            refused=refused,
        )
        return page_answer(page, status)

    def _note_visit(self, order: Order, request: Request) -> None:
        """Keep where the form was opened from: `issuer` and `form_mode` (ORD-21, ORD-44)."""
        if order.issuer is not None:
            return
        mode = request.args.get("form_mode", FormMode.EMBED)
        # TRANSACTION: read again inside, since the order may have been paid meanwhile.
        with self._sandbox.store.transaction():
            current = self._sandbox.ledger.find(order.id)
            if current is not None:
                kept = mode if mode in set(FormMode) else FormMode.EMBED
                self._sandbox.ledger.save(replace(current, issuer=_issuer(request), form_mode=str(kept)))


def _issuer(request: Request) -> dict[str, object]:
    referrer = (request.referrer or "")[:2048]
    try:
        host = urlsplit(referrer).hostname or ""
    except ValueError:
        host = ""
    return {
        "url": referrer,
        "embedded": request.headers.get("Sec-Fetch-Dest") == "iframe",
        "reference": "",
        "reference_type": "",
        "utm_source": request.args.get("utm_source", "")[:255],
        "utm_medium": request.args.get("utm_medium", "")[:255],
        "utm_campaign": request.args.get("utm_campaign", "")[:255],
        "referrer_host": host,
    }


def _not_found() -> Response:
    return page_answer(message_page("No such order", "Check the address, or go back to the shop."), 404)
