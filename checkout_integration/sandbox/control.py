"""The JSON control API under /_sandbox/: what an operator, a test or a script can make the service do.

Refunds too: the merchant's staff make them at the service, and no operation of its API is shown (STA-10).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from werkzeug.routing import Rule
from werkzeug.wrappers import Request, Response

from checkout_integration.protocol.vocabulary import Event
from checkout_integration.sandbox.asked import PAYING, Asked, payment_of
from checkout_integration.sandbox.documents import Context
from checkout_integration.sandbox.error_codes import Case
from checkout_integration.sandbox.failure import RefusedError
from checkout_integration.sandbox.moments import write_moment
from checkout_integration.sandbox.order import Order
from checkout_integration.sandbox.wire import json_answer, read_asked

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_SHOWN: Final = 200
_TOLD: Final = (
    "project_id webhook_url mode live activated dynamic_urls merchant currency virtual_currency_price success_url"
    " fail_url vat_payer charge_currency charge_rate ask_billing_address title agreement_number retry_interval"
    " retry_limit retry_schedule attempt_timeout tells_expiry suspended invalid_status"
).split()


class Control:
    """The control API; answers are JSON, refusals the error object."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Answer for `sandbox`."""
        self._sandbox = sandbox
        payments = sandbox.payments
        self._actions: dict[str, tuple[list[str], Callable[[str, Asked], str | None]]] = {
            "pay": (PAYING, lambda order_id, asked: payments.pay(order_id, **payment_of(asked))),
            "decline": ([], lambda order_id, _: payments.decline(order_id)),
            "cancel": (["after_payment"], self._cancel),
            "refund": (["amount", "reason"], self._refund),
            "chargeback": ([], lambda order_id, _: payments.chargeback(order_id)),
            "expire": ([], lambda order_id, _: payments.expire(order_id)),
            "resend": (["event"], self._resend),
        }

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        return [
            Rule("/_sandbox/orders", methods=["GET"], endpoint=self.orders),
            Rule("/_sandbox/orders/<order_id>", methods=["GET"], endpoint=self.order),
            Rule("/_sandbox/orders/<order_id>/renew", methods=["POST"], endpoint=self.renew),
            Rule("/_sandbox/orders/<order_id>/<action>", methods=["POST"], endpoint=self.act),
            Rule("/_sandbox/project", methods=["GET", "PATCH"], endpoint=self.project),
            Rule("/_sandbox/project/<project_id>", methods=["GET", "PATCH"], endpoint=self.project),
            Rule("/_sandbox/clock", methods=["GET", "POST"], endpoint=self.clock),
            Rule("/_sandbox/faults", methods=["GET", "PUT"], endpoint=self.faults),
            Rule("/_sandbox/log", methods=["GET"], endpoint=self.log),
            Rule("/_sandbox/deliver", methods=["POST"], endpoint=self.deliver),
        ]

    def orders(self, request: Request) -> Response:
        """Tell the newest orders: {"count", "orders"}."""
        count, orders = self._sandbox.ledger.newest(_SHOWN)
        return json_answer({"count": count, "orders": [self._told(order) for order in orders]})

    def order(self, request: Request, order_id: str) -> Response:
        """Tell one order with its document and its messages."""
        return json_answer(self._told_fully(order_id))

    def act(self, request: Request, order_id: str, action: str) -> Response:
        """Do something with an order; answers the order, for `pay` with its `outcome`."""
        if action not in self._actions:
            raise RefusedError(404, "sb000001", "no such action", f"one of {', '.join(self._actions)}, renew")
        known, act = self._actions[action]
        asked = Asked(request, *known)
        asked.check()
        outcome = act(order_id, asked)
        told = self._told_fully(order_id)
        return json_answer(told if outcome is None else {"outcome": outcome, **told})

    def renew(self, request: Request, order_id: str) -> Response:
        """Take the next payment of a recurring agreement; answers the new order."""
        asked = Asked(request, "declined")
        declined = asked.boolean("declined") or False
        asked.check()
        return json_answer(self._told_fully(self._sandbox.payments.renew(order_id, declined=declined)))

    def project(self, request: Request, project_id: str = "") -> Response:
        """Tell a project, or change its settings; without an id the first one. Secrets are never told."""
        project = self._sandbox.projects.named(project_id)
        if request.method == "PATCH":
            try:
                project = self._sandbox.projects.update(project.project_id, **_changes(request))
            except ValueError as error:
                raise RefusedError(400, "sb000002", "the project refuses this", str(error)) from None
        return json_answer({name: _plain(getattr(project, name)) for name in _TOLD})

    def clock(self, request: Request) -> Response:
        """Tell the virtual time; POST {"advance": seconds} or {"back": seconds} moves it.

        POST {"running": bool} lets it run with real time, or stand.
        """
        clock = self._sandbox.clock
        if request.method == "POST":
            asked = Asked(request, "advance", "back", "running")
            running, seconds, back = asked.boolean("running"), asked.decimal("advance"), asked.decimal("back")
            asked.check()
            self._move_clock(float(seconds or 0), float(back or 0))
            if running is not None:
                clock.set_running(running)
        return json_answer({"now": write_moment(clock.now()), "running": clock.running})

    def faults(self, request: Request) -> Response:
        """Tell the fault switchboard; PUT {"seed", "rules"} replaces it."""
        if request.method == "PUT":
            try:
                self._sandbox.faults.set_from(read_asked(request))
            except ValueError as error:
                raise RefusedError(400, "sb000003", "not a fault", str(error)) from None
        return json_answer(_plain(self._sandbox.faults.document()))

    def log(self, request: Request) -> Response:
        """Tell the run log, oldest first: {"entries"}."""
        return json_answer({"entries": self._sandbox.log.documents()})

    def deliver(self, request: Request) -> Response:
        """Deliver what is due now, and answer when that is done: {"idle"}."""
        asked = Asked(request, "timeout")
        timeout = asked.decimal("timeout")
        asked.check()
        self._sandbox.deliveries.wake()
        return json_answer({"idle": self._sandbox.wait_idle(10.0 if timeout is None else float(timeout))})

    def _move_clock(self, seconds: float, back: float) -> None:
        try:
            self._sandbox.clock.advance(seconds)
            self._sandbox.turn_back(back)
        except ValueError as error:
            raise RefusedError(400, "sb000007", "the clock cannot be moved so far", str(error)) from None

    def _cancel(self, order_id: str, asked: Asked) -> None:
        after_payment = asked.boolean("after_payment") or False
        asked.check()
        self._sandbox.payments.cancel(order_id, after_payment=after_payment)

    def _refund(self, order_id: str, asked: Asked) -> None:
        amount, reason = asked.decimal("amount"), asked.text("reason")
        asked.check()
        self._sandbox.payments.refund(order_id, amount=amount, reason=reason or "")

    def _resend(self, order_id: str, asked: Asked) -> None:
        name = asked.choice("event", list(Event))
        asked.check()
        self._sandbox.payments.resend(order_id, Event(name) if name else None)

    def _told(self, order: Order) -> dict[str, Any]:
        deliveries = self._sandbox.outgoing.of_order(order.id)
        return {
            "id": order.id,
            "project_id": order.project_id,
            "status": order.status,
            "type": order.type,
            "amount": order.amount,
            "currency": order.currency,
            "created_at": write_moment(order.created_at),
            "metadata": order.metadata,
            "transaction": order.transaction,
            "reversal": order.reversal,
            "recurring_id": order.recurring_id,
            "expired": self._sandbox.payments.is_expired(order),
            "payment_form_url": self._sandbox.form_url(order.id),
            "notifications": [delivery.document() for delivery in deliveries],
        }

    def _told_fully(self, order_id: str) -> dict[str, Any]:
        order = self._sandbox.ledger.find(order_id)
        if order is None:
            raise RefusedError(404, Case.ORDER_NOT_FOUND, "order not found")
        return {**self._told(order), "document": self._sandbox.documents.order(order, Context.LIST)}


def _changes(request: Request) -> dict[str, Any]:
    """Return the settings to change; the guards against real secrets and addresses are lifted at the start alone."""
    changes = read_asked(request)
    if any(name.startswith("unsafe_") for name in changes):
        raise ValueError("what is unsafe is allowed when the sandbox is started, not later")
    return changes


def _plain(value: Any) -> Any:
    """Return the value with floats as Decimals, which is what the JSON writer takes."""
    if isinstance(value, float):
        return Decimal(str(value))
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value
