"""Rows as the app itself makes them: orders and notifications go through the ledger, so that facts and document agree."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import factory
from factory.django import DjangoModelFactory

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows import ledger, operations
from checkout_integration.flows.database import installed_at
from checkout_integration.flows.inbox import apply_orders_of
from checkout_integration.flows.ledger import Cause, Step
from checkout_integration.flows.webhook import WebhookRequest, receive
from checkout_integration.models import Checkout, Notification, Order
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.signature import sign
from checkout_integration.protocol.vocabulary import SIGNATURE_SCHEME, Event, OrderStatus, OrderType
from checkout_integration.testing.payloads import NotificationDocumentFactory, OrderDocumentFactory, time_text

__all__ = [
    "CheckoutFactory",
    "NotificationFactory",
    "OrderFactory",
    "order_document_for",
    "renewal_document_for",
]

PAID_FIRST = {"status": OrderStatus.PROCESSED, "refunded": False, "refunded_at": "", "refund": None}
"""What an order that was reversed said before that."""
EVENTS: Mapping[str, tuple[Event, ...]] = {
    OrderStatus.CREATED: (),
    OrderStatus.PROCESSED: (Event.PAYMENT_SUCCESS,),
    OrderStatus.REFUNDED: (Event.PAYMENT_SUCCESS, Event.PAYMENT_REFUND),
    OrderStatus.CHARGEBACK: (Event.PAYMENT_SUCCESS, Event.PAYMENT_CHARGEBACK),
    OrderStatus.CANCELED: (Event.PAYMENT_CANCEL,),
    OrderStatus.REJECTED: (Event.PAYMENT_CANCEL,),
}
"""The events that bring an order to a status; the list alone shows the one that is not here."""
LONG_BEFORE = timedelta(days=400)
"""How much older than the installation a historic payment is."""


class CheckoutFactory(DjangoModelFactory[Checkout]):
    """A checkout that is open: 9.99 USD, type simple. It takes test payments where the project does.

    ``user`` is its account; with a ``recipient`` it is a gift. Any other column is a keyword too, such as ``description``,
    ``subject``, ``lasts_days`` and ``grace_days``.
    """

    class Meta:
        model = Checkout

    project = "default"
    type = OrderType.SIMPLE
    expected_amount = factory.LazyAttribute(lambda checkout: None if checkout.products else Decimal("9.99"))
    currency = factory.LazyAttribute(lambda checkout: "USD" if checkout.expected_amount is not None else "")
    products: Any = factory.LazyFunction(list)
    test = factory.LazyAttribute(
        lambda checkout: app_settings().project(checkout.project).accept_test_payments
    )
    user: Any = None
    recipient: Any = None
    gift = factory.LazyAttribute(lambda checkout: checkout.recipient is not None)
    status = Checkout.Status.OPEN
    order_id = factory.LazyFunction(lambda: str(uuid.uuid4()))
    payment_form_url = factory.LazyAttribute(
        lambda checkout: f"https://service.example.com/form/?order_id={checkout.order_id}"
    )


def order_document_for(checkout: Checkout, **changes: Any) -> dict[str, Any]:
    """Return the Order document that pays for a checkout, as the service would write it.

    Args:
        checkout: what is paid for.
        changes: as for `OrderDocumentFactory`, for instance ``amount=Decimal("0.01")`` for a payment to be refused.

    """
    project = app_settings().project(checkout.project)
    price = {} if checkout.price is None else dict(zip(("amount", "currency"), checkout.price, strict=True))
    paid = {
        "id": checkout.order_id,
        "type": checkout.type,
        "products": checkout.products,
        "is_production": not checkout.test,
        "metadata": {**checkout.metadata, project.reference_key: checkout.reference},
        "virtual_currency_amount": checkout.virtual_currency_amount or Decimal(0),
    }
    if checkout.recorded_at is not None:  # one order has one such time, however often its document is made
        paid["created_at"] = time_text(checkout.recorded_at)
    if checkout.user_id is not None:
        paid["user__external_id"] = str(checkout.user_id)
    document: dict[str, Any] = OrderDocumentFactory(**{**paid, **price, **changes})
    return document


def renewal_document_for(document: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the Order document of the next payment of an agreement: another order with its own id, and all else alike.

    Args:
        document: a payment of the agreement: ``order_document_for(checkout, agreement=True)``, or ``order.document``.
        changes: members that differ.

    """
    assert document["recurring_id"], "This payment began no agreement: make it with agreement=True."
    fresh = OrderDocumentFactory()
    return {**document, **{name: fresh[name] for name in ("id", "transaction", "created_at")}, **changes}


class OrderFactory(DjangoModelFactory[Order]):
    """An order that came to its ``status`` (default: processed) through the ledger, notification by notification.

    ``checkout`` binds it; any other keyword changes its document: ``OrderFactory(amount=Decimal("5"))``. The signals that
    were sent wait for ``flows.run_due()``: no receiver has run.

    ``accepted=True``, ``revoked=True`` and ``restored=True`` are
    decisions of staff: an order without a checkout is accepted, a charged-back one is restored. ``historic=True`` is a
    payment from long before the installation. ``renews=order`` is the next payment of the agreement of another order.
    """

    class Meta:
        model = Order

    class Params:
        accepted = factory.Trait(decision=operations.accept_payment)
        revoked = factory.Trait(decision=operations.revoke_payment)
        restored = factory.Trait(status=OrderStatus.CHARGEBACK, decision=operations.restore_payment)

    project = "default"
    historic = False

    @classmethod
    def _create(
        cls,
        model_class: type[Order],
        *args: Any,
        project: str,
        historic: bool,
        checkout: Checkout | None = None,
        renews: Order | None = None,
        decision: Callable[..., object] | None = None,
        **changes: Any,
    ) -> Order:
        configured = app_settings().project(project)
        if historic:
            changes["created_at"] = f"{installed_at(configured) - LONG_BEFORE:%Y-%m-%dT%H:%M:%SZ}"
        if renews:
            made = renewal_document_for({**renews.whole_document, **PAID_FIRST}, **changes)
        else:
            made = order_document_for(checkout, **changes) if checkout else OrderDocumentFactory(**changes)
        for event in (None,) if historic else EVENTS.get(made["status"]) or (None,):
            _record(configured, made, event)
        order = model_class.objects.get(project=project, order_id=made["id"])
        if decision is not None:
            decision(order, staff=None, reason="in a test")
            order.refresh_from_db()
        return order


class NotificationFactory(DjangoModelFactory[Notification]):
    """A notification that was received: signed, stored and applied by the app itself (default: a payment.success).

    ``document`` is the whole notification; keywords of its object are given as ``document__object__…``.
    """

    class Meta:
        model = Notification

    project = "default"
    document = factory.SubFactory(NotificationDocumentFactory)

    @classmethod
    def _create(
        cls, model_class: type[Notification], *args: Any, project: str, document: Mapping[str, Any]
    ) -> Notification:
        configured = app_settings().project(project)
        answer = receive(configured, _delivered(configured, document))
        assert answer.stored, f"the notification was answered {answer.status} and not stored"
        if answer.notification:
            apply_orders_of([answer.notification])
        return model_class.objects.filter(project=project, notification_id=document["id"]).latest("pk")


def _record(project: Project, document: Mapping[str, Any], event: Event | None) -> None:
    """Let the ledger record what an event says of an order, or its creation, or the list."""
    unsigned = Source.CREATION if document["status"] == OrderStatus.CREATED else Source.LIST
    source = Source.NOTIFICATION if event else unsigned
    sent = {**document, **PAID_FIRST} if event is Event.PAYMENT_SUCCESS else document
    observation = Observation(
        source=source,
        order=parse_order(sent),
        event=event or "",
        observed_at=None if source is Source.CREATION else datetime.now(UTC),
        live=sent["is_production"] if event else None,
    )
    step = Step(observation=observation, cause=Cause(source=source))
    (outcome,) = ledger.record(project, [step], ledger.consult_hooks(project, [step]))
    assert outcome.error is None, outcome.error


def _delivered(project: Project, document: Mapping[str, Any]) -> WebhookRequest:
    body = strict_json.dumps(document).encode()
    return WebhookRequest(
        body=body,
        authorization=f"{SIGNATURE_SCHEME} {sign(body, project.secrets[0])}",
        arrived_at=datetime.now(UTC),
    )
