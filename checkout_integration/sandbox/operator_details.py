"""The operator's pages of one order and of one exchange of the run log."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from markupsafe import Markup
from werkzeug.routing import Rule
from werkzeug.wrappers import Request, Response

from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.sandbox.currencies import display_money
from checkout_integration.sandbox.documents import Context
from checkout_integration.sandbox.form_pages import TO_OPERATOR, message_page
from checkout_integration.sandbox.json_text import write_json
from checkout_integration.sandbox.operator_parts import TONES, buttons_part, told_part
from checkout_integration.sandbox.pages import fill, page
from checkout_integration.sandbox.wire import page_answer

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_MARKED: Final = re.compile(r'"\\u0000([^"]*)"')


class OperatorDetails:
    """Shows one thing on a page of its own."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Answer for `sandbox`."""
        self._sandbox = sandbox

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        return [
            Rule("/_sandbox/operator/orders/<order_id>", methods=["GET"], endpoint=self.order),
            Rule("/_sandbox/operator/log/<int:number>", methods=["GET"], endpoint=self.exchange),
        ]

    def order(self, request: Request, order_id: str) -> Response:
        """Show an order: its document, what the merchant was told, and what can be done with it."""
        order = self._sandbox.ledger.find(order_id)
        if order is None or order.reversal:
            return page_answer(message_page("No such order", "It is not there.", TO_OPERATOR), 404)
        deliveries = self._sandbox.outgoing.of_order(order_id)
        left = order.charge_amount - order.refunded_amount
        refundable = left and order.status in {OrderStatus.PROCESSED, OrderStatus.REFUNDED}
        refund = fill("refund", order_id=order.id, whole=left) if refundable else ""
        content = fill(
            "order_page",
            order_id=order.id,
            description=order.description,
            status=order.status,
            tone=TONES.get(order.status, "bad"),
            amount=display_money(order.amount, order.currency),
            refund=refund,
            buttons=buttons_part(order, deliveries, then="order"),
            told=told_part(deliveries) or Markup('<p class="soft">Nothing yet.</p>'),
            document=_readable(write_json(self._sandbox.documents.order(order, Context.LIST))),
        )
        return page_answer(page(f"Order {order.id}", content, width="wide"))

    def exchange(self, request: Request, number: int) -> Response:
        """Show a request and its answer."""
        entry = next((each for each in self._sandbox.log.entries() if each.number == number), None)
        if entry is None:
            return page_answer(
                message_page("No such exchange", "The log keeps the newest ones.", TO_OPERATOR), 404
            )
        version = f"version {entry.version}" if entry.version else "no version header"
        content = fill(
            "log_page",
            number=entry.number,
            time=entry.at,
            direction="to the merchant" if entry.direction == "out" else "to the service",
            method=entry.method,
            url=entry.url,
            tone="good" if 200 <= entry.status < 400 else "bad",
            status=entry.status or "no answer",
            facts=" · ".join(filter(None, [entry.note, version if entry.direction == "in" else ""])),
            request=_body(entry.request, "Body of the request"),
            answer=_body(entry.answer, "Body of the answer"),
        )
        return page_answer(page(f"Exchange {entry.number}", content, width="wide"))


def _body(text: str, label: str) -> Markup:
    if not text:
        return Markup('<p class="soft">No body.</p>')
    return Markup('<pre tabindex="0" aria-label="{}">{}</pre>').format(label, _readable(text))


def _readable(text: str) -> str:
    """Return a JSON text with line breaks, its numbers as they were written; other texts as they are."""
    try:
        value = json.loads(text, parse_float=_marked, parse_int=_marked)
    except (ValueError, RecursionError):
        return text
    # WHY marked: these pages must not round money, and json would write a number of its own.
    return _MARKED.sub(r"\1", json.dumps(value, indent=2, ensure_ascii=False))


def _marked(number: str) -> str:
    return f"\x00{number}"
