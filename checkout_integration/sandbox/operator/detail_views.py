"""The operator's pages of one order and of one exchange of the run log."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from werkzeug.routing import Rule
from werkzeug.wrappers import Request, Response

from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.sandbox.operator.order_row import OrderRow
from checkout_integration.sandbox.orders import Context
from checkout_integration.sandbox.pages import TO_OPERATOR, message_page, render
from checkout_integration.sandbox.wire import page_response, write_json

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_MARKED: Final = re.compile(r'"\\u0000([^"]*)"')


class DetailViews:
    """One order, or one exchange, on a page of its own."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Serve `sandbox`."""
        self._sandbox = sandbox

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        return [
            Rule("/_sandbox/operator/orders/<order_id>", methods=["GET"], endpoint=self.order),
            Rule("/_sandbox/operator/log/<int:number>", methods=["GET"], endpoint=self.exchange),
        ]

    def order(self, request: Request, order_id: str) -> Response:
        """Show an order: its document, its notifications, and what can be done with it."""
        order = self._sandbox.ledger.find(order_id)
        if order is None or order.reversal:
            return page_response(message_page("No such order", "It is not there.", TO_OPERATOR), 404)
        row = OrderRow(order=order, notifications=self._sandbox.outbox.of_order(order_id))
        left = order.charge_amount - order.refunded_amount
        may_refund = order.status in {OrderStatus.PROCESSED, OrderStatus.REFUNDED}
        document = write_json(self._sandbox.documents.order(order, Context.LIST))
        return page_response(
            render(
                "order",
                order=order,
                row=row,
                refundable=left if may_refund else None,
                document=_readable(document),
            )
        )

    def exchange(self, request: Request, number: int) -> Response:
        """Show a request and its response."""
        entries = {entry.number: entry for entry in self._sandbox.log.entries()}
        entry = entries.get(number)
        if entry is None:
            return page_response(
                message_page("No such exchange", "The log keeps the newest ones.", TO_OPERATOR), 404
            )
        version = f"version {entry.version}" if entry.version else "no version header"
        facts = [entry.note, version if entry.direction == "in" else ""]
        return page_response(
            render(
                "exchange",
                entry=entry,
                facts=list(filter(None, facts)),
                request=_readable(entry.request),
                answer=_readable(entry.answer),
            )
        )


def _readable(text: str) -> str:
    """Return JSON text with line breaks and its numbers unchanged; return other text as it is."""
    try:
        value = json.loads(text, parse_float=_marked, parse_int=_marked)
    except (ValueError, RecursionError):
        return text
    # Numbers are marked, since json would write them anew and could round money.
    return _MARKED.sub(r"\1", json.dumps(value, indent=2, ensure_ascii=False))


def _marked(number: str) -> str:
    return f"\x00{number}"
