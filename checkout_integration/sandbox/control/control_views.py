"""The JSON control API under /_sandbox/, for the operator's page, tests and scripts.

Refunds are made here: a merchant's staff make them at the service, and its API has no operation for it (STA-10).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from werkzeug.wrappers import Request, Response

from checkout_integration.protocol.vocabulary import Event, OrderStatus, TestingCase
from checkout_integration.sandbox.control.control_request import (
    PAYMENT_FIELDS,
    ControlRequest,
    payment_details,
)
from checkout_integration.sandbox.faults.catalogue import KINDS, SUBJECTS
from checkout_integration.sandbox.faults.switchboard import read_fault
from checkout_integration.sandbox.merchant.project import SandboxProject
from checkout_integration.sandbox.orders.documents import Context
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.payments.renewals import is_renewable
from checkout_integration.sandbox.wire.errors import FORGOTTEN, Case, RefusedError
from checkout_integration.sandbox.wire.http import json_response, read_control_body
from checkout_integration.sandbox.wire.moments import write_moment

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_SHOWN: Final = 200
_DEFAULT_TESTER: Final = "tester"
_ACTIONS: Final = {
    OrderStatus.CREATED: ["pay", "decline", "cancel", "expire"],
    OrderStatus.PROCESSED: ["refund", "chargeback", "cancel"],
    OrderStatus.REFUNDED: ["refund"],
}
_ORDER_FIELDS: Final = (
    "id project_id status type description amount currency charge_currency metadata transaction reversal recurring_id"
).split()
_PROJECT_FIELDS: Final = (
    "project_id webhook_url mode live activated dynamic_urls merchant currency virtual_currency_price success_url"
    " fail_url vat_payer charge_currency charge_rate ask_billing_address title agreement_number retry_interval"
    " retry_limit retry_schedule attempt_timeout tells_expiry suspended invalid_status"
).split()


def _nothing(body: ControlRequest) -> dict[str, Any]:
    return {}


def _event(body: ControlRequest) -> dict[str, Any]:
    name = body.choice("event", list(Event))
    return {"event": Event(name) if name else None}


ACTS: Final[Mapping[str, tuple[Sequence[str], Callable[[ControlRequest], dict[str, Any]]]]] = {
    "pay": (PAYMENT_FIELDS, payment_details),
    "decline": ([], _nothing),
    "cancel": (
        ["after_payment"],
        lambda body: {"after_payment": body.boolean("after_payment") or False},
    ),
    "refund": (
        ["amount", "reason"],
        lambda body: {"amount": body.decimal("amount"), "reason": body.text("reason") or ""},
    ),
    "chargeback": ([], _nothing),
    "expire": ([], _nothing),
    "resend": (["event"], _event),
    "renew": (["declined"], lambda body: {"declined": body.boolean("declined") or False}),
}
"""The acts of `Payments` on an order: the names in a request, and how they are read as arguments."""


class ControlViews:
    """The control API; every response is JSON, every refusal an error object."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Serve `sandbox`."""
        self._sandbox = sandbox

    def orders(self, request: Request) -> Response:
        """Return the newest orders: {"count", "orders"}; `id` is how their ids begin."""
        count, orders = self._sandbox.ledger.newest(_SHOWN, request.args.get("id", ""))
        return json_response({"count": count, "orders": [self._summary(order) for order in orders]})

    def order(self, request: Request, order_id: str) -> Response:
        """Return one order with its document and its notifications."""
        return json_response(self._document_of(order_id))

    def act(self, request: Request, order_id: str, action: str) -> Response:
        """Act on an order and return it, for `pay` with its `outcome`, for `renew` the new order."""
        if action not in ACTS:
            raise RefusedError(404, "sb000001", "no such action", f"one of {', '.join(ACTS)}")
        known, read = ACTS[action]
        body = ControlRequest(request, *known)
        body.check()
        arguments = read(body)
        body.check()
        result = getattr(self._sandbox.payments, action)(order_id, **arguments)
        if action == "renew":
            return json_response(self._document_of(str(result)))
        document = self._document_of(order_id)
        return json_response(document if result is None else {"outcome": result, **document})

    def projects(self, request: Request) -> Response:
        """Return the profile, and the settings of every project: {"profile", "projects"}."""
        projects = [_settings_of(project) for project in self._sandbox.projects.all()]
        return json_response({"profile": self._sandbox.profile.name, "projects": projects})

    def project(self, request: Request, project_id: str = "") -> Response:
        """Return a project, or change its settings; without an id the first one. Secrets are never returned."""
        project = self._sandbox.projects.get(project_id)
        if request.method == "PATCH":
            try:
                project = self._sandbox.projects.update(project.project_id, **_changes(request))
            except ValueError as error:
                raise RefusedError(400, "sb000002", "the project refuses this", str(error)) from None
        return json_response(_settings_of(project))

    def clock(self, request: Request) -> Response:
        """Return the virtual time; POST {"advance": seconds} or {"back": seconds} moves it.

        POST {"running": bool} lets it run with real time, or stops it.
        """
        clock = self._sandbox.clock
        if request.method == "POST":
            body = ControlRequest(request, "advance", "back", "running")
            running, seconds, back = body.boolean("running"), body.decimal("advance"), body.decimal("back")
            body.check()
            self._move_clock(float(seconds or 0), float(back or 0))
            if running is not None:
                clock.set_running(running)
        return json_response({"now": write_moment(clock.now()), "running": clock.running})

    def faults(self, request: Request) -> Response:
        """Return the fault switchboard; PUT {"seed", "rules"} replaces it, POST adds one rule to the others."""
        try:
            if request.method == "PUT":
                self._sandbox.faults.set_from(read_control_body(request))
            elif request.method == "POST":
                self._sandbox.faults.add(read_fault(read_control_body(request)))
        except ValueError as error:
            raise RefusedError(400, "sb000003", "not a fault", str(error)) from None
        return json_response(self._sandbox.faults.document())

    def fault_kinds(self, request: Request) -> Response:
        """Return what can be switched on: {"kinds"} with a text for each, and {"subjects"}, both by point."""
        return json_response({"kinds": KINDS, "subjects": SUBJECTS})

    def testing(self, request: Request) -> Response:
        """Return the testing cases, and their newest results, newest first: {"cases", "trials"}."""
        trials = [asdict(trial) for trial in self._sandbox.testing.trials()]
        return json_response({"cases": list(TestingCase), "trials": trials})

    def run_testing_case(self, request: Request, case: str) -> Response:
        """Run a testing case for {"external_id", "project_id"}, both optional, and return its result."""
        if case not in set(TestingCase):
            raise RefusedError(404, "sb000001", "no such testing case", f"one of {', '.join(TestingCase)}")
        body = read_control_body(request)
        project = self._sandbox.projects.get(str(body.get("project_id") or ""))
        external_id = str(body.get("external_id") or _DEFAULT_TESTER)[:255]
        return json_response(asdict(self._sandbox.testing.run(project, TestingCase(case), external_id)))

    def log(self, request: Request) -> Response:
        """Return the run log, oldest first: {"entries"}."""
        return json_response({"entries": [each.document() for each in self._sandbox.log.entries()]})

    def deliver(self, request: Request) -> Response:
        """Deliver what is due now, and respond when that is done: {"idle"}."""
        body = ControlRequest(request, "timeout")
        timeout = body.decimal("timeout")
        body.check()
        self._sandbox.deliveries.wake()
        return json_response({"idle": self._sandbox.wait_idle(10.0 if timeout is None else float(timeout))})

    def _move_clock(self, seconds: float, back: float) -> None:
        try:
            self._sandbox.clock.advance(seconds)
            self._sandbox.turn_back(back)
        except ValueError as error:
            raise RefusedError(400, "sb000007", "the clock cannot be moved so far", str(error)) from None

    def _summary(self, order: Order) -> dict[str, Any]:
        notifications = self._sandbox.outbox.of_order(order.id)
        return {
            **{name: getattr(order, name) for name in _ORDER_FIELDS},
            "refundable": order.charge_amount - order.refunded_amount,
            "created_at": write_moment(order.created_at),
            "expired": self._sandbox.payments.is_expired(order),
            "payment_form_url": self._sandbox.form_url(order.id),
            "notifications": [notification.document() for notification in notifications],
            "actions": _actions_of(order, notified=bool(notifications)),
        }

    def _document_of(self, order_id: str) -> dict[str, Any]:
        order = self._sandbox.ledger.find(order_id)
        if order is None:
            raise RefusedError(404, Case.ORDER_NOT_FOUND, "order not found", FORGOTTEN)
        return {**self._summary(order), "document": self._sandbox.documents.order(order, Context.LIST)}


def _actions_of(order: Order, *, notified: bool) -> list[str]:
    """Return what can be done with an order in its state; nothing with an item of a reversal."""
    if order.reversal:
        return []
    actions = [*_ACTIONS.get(order.status, [])]
    if order.status == OrderStatus.REFUNDED and order.charge_amount == order.refunded_amount:
        actions = []
    if is_renewable(order):
        actions.append("renew")
    return actions + (["resend"] if notified else [])


def _settings_of(project: SandboxProject) -> dict[str, Any]:
    """Return the settings of a project without its secret."""
    return {name: getattr(project, name) for name in _PROJECT_FIELDS}


def _changes(request: Request) -> dict[str, Any]:
    """Return the settings to change; only the start can lift the guards against real secrets and addresses."""
    changes = read_control_body(request)
    if any(name.startswith("unsafe_") for name in changes):
        raise ValueError("what is unsafe is allowed when the sandbox is started, not later")
    return changes
