"""The JSON control API under /_sandbox/: what an operator, a test or a script can make the service do."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from werkzeug.routing import Rule
from werkzeug.wrappers import Request, Response

from checkout_integration.protocol.vocabulary import Event
from checkout_integration.sandbox.cards import Card
from checkout_integration.sandbox.documents import Context
from checkout_integration.sandbox.failure import RefusedError
from checkout_integration.sandbox.methods import CryptoCurrency, PaymentMethod, Wallet
from checkout_integration.sandbox.moments import write_moment
from checkout_integration.sandbox.order import Order
from checkout_integration.sandbox.wire import json_answer, read_asked, read_decimal

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_SHOWN: Final = 200
_TOLD: Final = (
    "project_id webhook_url mode live activated dynamic_urls merchant currency success_url fail_url vat_payer"
    " ask_billing_address title agreement_number retry_interval retry_limit retry_schedule attempt_timeout"
    " tells_expiry suspended invalid_status"
).split()


class Control:
    """The control API; answers are JSON, refusals the error object."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Answer for `sandbox`."""
        self._sandbox = sandbox
        self._actions: dict[str, Callable[[str, dict[str, Any]], str | None]] = {
            "pay": self._pay,
            "decline": lambda order_id, _: sandbox.payments.decline(order_id),
            "cancel": lambda order_id, asked: sandbox.payments.cancel(
                order_id, after_payment=bool(asked.get("after_payment"))
            ),
            "refund": self._refund,
            "chargeback": lambda order_id, _: sandbox.payments.chargeback(order_id),
            "expire": lambda order_id, _: sandbox.payments.expire(order_id),
            "resend": self._resend,
        }

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        return [
            Rule("/_sandbox/orders", methods=["GET"], endpoint=self.orders),
            Rule("/_sandbox/orders/<order_id>", methods=["GET"], endpoint=self.order),
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
            raise RefusedError(404, "sb000001", "no such action", f"one of {', '.join(self._actions)}")
        outcome = self._actions[action](order_id, read_asked(request))
        told = self._told_fully(order_id)
        return json_answer(told if outcome is None else {"outcome": outcome, **told})

    def project(self, request: Request, project_id: str = "") -> Response:
        """Tell a project, or change its settings; without an id the first one. Secrets are never told."""
        project = self._sandbox.projects.named(project_id)
        if request.method == "PATCH":
            try:
                project = self._sandbox.projects.update(project.project_id, **read_asked(request))
            except (ValueError, TypeError) as error:
                raise RefusedError(400, "sb000002", "the project refuses this", str(error)) from None
        return json_answer({name: _plain(getattr(project, name)) for name in _TOLD})

    def clock(self, request: Request) -> Response:
        """Tell the virtual time; POST {"advance": seconds} moves it, {"running": bool} lets it run or stand."""
        clock = self._sandbox.clock
        if request.method == "POST":
            asked = read_asked(request)
            if isinstance(asked.get("running"), bool):
                clock.set_running(asked["running"])
            clock.advance(float(read_decimal(asked.get("advance")) or 0))
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
        timeout = float(read_decimal(read_asked(request).get("timeout")) or 10)
        self._sandbox.deliveries.wake()
        return json_answer({"idle": self._sandbox.wait_idle(timeout)})

    def _pay(self, order_id: str, asked: dict[str, Any]) -> str:
        def text(name: str) -> str:
            return str(asked.get(name) or "")[:254]

        return self._sandbox.payments.pay(
            order_id,
            _method_of(asked),
            saved=asked.get("saved") is True,
            receipt_email=text("receipt_email"),
            billing_country=text("billing_country"),
            billing_state=text("billing_state"),
            billing_zip=text("billing_zip"),
        )

    def _refund(self, order_id: str, asked: dict[str, Any]) -> None:
        amount = read_decimal(asked.get("amount"))
        self._sandbox.payments.refund(order_id, amount=amount, reason=str(asked.get("reason") or ""))

    def _resend(self, order_id: str, asked: dict[str, Any]) -> None:
        name = asked.get("event")
        if name is not None and name not in set(Event):
            raise RefusedError(400, "sb000004", "no such event")
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
            "expired": self._sandbox.payments.is_expired(order),
            "payment_form_url": self._sandbox.form_url(order.id),
            "notifications": [delivery.document() for delivery in deliveries],
        }

    def _told_fully(self, order_id: str) -> dict[str, Any]:
        order = self._sandbox.ledger.find(order_id)
        if order is None:
            raise RefusedError(404, "fm000004", "order not found")
        return {**self._told(order), "document": self._sandbox.documents.order(order, Context.LIST)}


def _method_of(asked: dict[str, Any]) -> PaymentMethod | None:
    """Return what is paid with: a card's number, a wallet's account or a crypto currency's address."""
    if asked.get("wallet"):
        return Wallet(account=str(asked["wallet"])[:120])
    if asked.get("crypto_currency"):
        return CryptoCurrency(address=str(asked["crypto_currency"])[:120])
    if not asked.get("card"):
        return None
    secure3d = asked.get("secure3d")
    return Card(number=str(asked["card"])[:19], secure3d=secure3d if isinstance(secure3d, bool) else None)


def _plain(value: Any) -> Any:
    """Return the value with floats as Decimals, which is what the JSON writer takes."""
    if isinstance(value, float):
        return Decimal(str(value))
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value
