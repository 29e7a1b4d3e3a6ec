"""The operator's page at /_sandbox/: orders with their buttons, projects, the clock, faults, the run log."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from werkzeug.routing import Rule
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox.failure import RefusedError
from checkout_integration.sandbox.form_pages import TO_OPERATOR, message_page
from checkout_integration.sandbox.moments import write_moment
from checkout_integration.sandbox.operator_clock import clock_part
from checkout_integration.sandbox.operator_faults import faults_part
from checkout_integration.sandbox.operator_parts import log_part, orders_part, project_part
from checkout_integration.sandbox.pages import fill, joined, page
from checkout_integration.sandbox.testing_door import testing_part
from checkout_integration.sandbox.wire import page_answer, read_decimal

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_SHOWN: Final = 50


class OperatorPage:
    """The operator's HTML pages."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Answer for `sandbox`."""
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
        """Show everything."""
        sandbox = self._sandbox
        count, orders = sandbox.ledger.newest(_SHOWN)
        content = fill(
            "operator",
            profile=sandbox.profile.name,
            clock=clock_part(sandbox.clock),
            now=write_moment(sandbox.clock.now().replace(microsecond=0)),
            projects=joined([project_part(project) for project in sandbox.projects.all()]),
            testing=testing_part(sandbox.projects.all(), sandbox.testing.trials()),
            faults=faults_part(sandbox.faults.document()["rules"]),
            orders=orders_part(count, [(order, sandbox.outgoing.of_order(order.id)) for order in orders]),
            log=log_part(sandbox.log.entries()[-_SHOWN:][::-1]),
        )
        return page_answer(page("Operator", content, width="wide"))

    def act(self, request: Request, order_id: str, action: str) -> Response:
        """Press one of an order's buttons."""
        if action not in self._actions:
            return page_answer(message_page("No such action", "It is not there.", TO_OPERATOR), 404)
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
            return page_answer(message_page("Not possible", error.text(), TO_OPERATOR), error.status)
        return self._back(f"operator/orders/{order_id}" if request.form.get("then") == "order" else "")

    def _back(self, place: str = "") -> Response:
        """Return to the page, after a moment in which what was queued can be delivered and be seen there."""
        self._sandbox.wait_idle(2.0)
        return redirect(f"/_sandbox/{place}", 303)
