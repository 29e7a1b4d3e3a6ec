"""The operator's page at /_sandbox/: orders with their buttons, projects, the clock, faults, the run log."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from werkzeug.routing import Rule
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from checkout_integration.protocol.vocabulary import TestingCase
from checkout_integration.sandbox.control import DEFAULT_TESTER
from checkout_integration.sandbox.operator.clock_views import span_in_words
from checkout_integration.sandbox.operator.fault_views import fault_form
from checkout_integration.sandbox.operator.order_row import OrderRow
from checkout_integration.sandbox.pages import TO_OPERATOR, message_page, render
from checkout_integration.sandbox.wire import RefusedError, page_response, read_decimal, write_moment

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_SHOWN: Final = 50


class OverviewViews:
    """The operator's page, and the buttons of its orders."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Serve `sandbox`."""
        self._sandbox = sandbox
        payments = sandbox.payments
        self._actions: dict[str, Callable[[str], object]] = {
            "pay": payments.pay,
            "decline": payments.decline,
            "cancel": lambda order_id: payments.cancel(order_id, after_payment=True),
            "expire": payments.expire,
            "refund": payments.refund,
            "chargeback": payments.chargeback,
            "renew": payments.renew,
            "resend": payments.resend,
        }

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        return [
            Rule("/_sandbox/", methods=["GET"], endpoint=self.show),
            Rule("/_sandbox/operator/orders/<order_id>/<action>", methods=["POST"], endpoint=self.act),
        ]

    def show(self, request: Request) -> Response:
        """Show the operator page."""
        sandbox = self._sandbox
        count, orders = sandbox.ledger.newest(_SHOWN)
        return page_response(
            render(
                "operator",
                profile=sandbox.profile.name,
                now=write_moment(sandbox.clock.now().replace(microsecond=0)),
                ahead=span_in_words(sandbox.clock.ahead()),
                running=sandbox.clock.running,
                projects=sandbox.projects.all(),
                cases=list(TestingCase),
                tester=DEFAULT_TESTER,
                trials=sandbox.testing.trials(),
                fault_form=fault_form(sandbox.faults.document()["rules"]),
                count=count,
                rows=[
                    OrderRow(order=order, notifications=sandbox.outbox.of_order(order.id)) for order in orders
                ],
                entries=sandbox.log.entries()[-_SHOWN:][::-1],
            )
        )

    def act(self, request: Request, order_id: str, action: str) -> Response:
        """Act on an order by one of its buttons."""
        if action not in self._actions:
            return page_response(message_page("No such action", "It is not there.", TO_OPERATOR), 404)
        try:
            if action == "refund" and request.form.get("amount"):
                self._sandbox.payments.refund(
                    order_id,
                    amount=read_decimal(request.form["amount"]),
                    reason=request.form.get("reason", ""),
                )
            else:
                self._actions[action](order_id)
        except RefusedError as error:
            return page_response(message_page("Not possible", error.text(), TO_OPERATOR), error.status)
        return self._back(f"operator/orders/{order_id}" if request.form.get("then") == "order" else "")

    def _back(self, place: str = "") -> Response:
        """Redirect to the page after a moment, so that it shows what was queued and delivered."""
        self._sandbox.wait_idle(2.0)
        return redirect(f"/_sandbox/{place}", 303)
