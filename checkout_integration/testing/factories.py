"""Rows as the app itself makes them: orders and notifications go through the ledger, so that facts and document agree."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import factory
from django.db.models import Q
from factory.django import DjangoModelFactory

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows import apply_due, ledger
from checkout_integration.flows.ledger import Cause, Step
from checkout_integration.flows.webhook.receive import Delivered, receive
from checkout_integration.models import Checkout, Notification, Order
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.signature import sign
from checkout_integration.protocol.vocabulary import SIGNATURE_SCHEME, Event, OrderStatus, OrderType
from checkout_integration.testing.payloads import NotificationDocumentFactory, OrderDocumentFactory

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
"""The events that bring an order to a status."""


class CheckoutFactory(DjangoModelFactory):
    """A sale that is open: 9.99 USD, simple checkout. It takes test payments where the project does."""

    class Meta:
        model = Checkout

    project = "default"
    type = OrderType.SIMPLE
    expected_amount = factory.LazyAttribute(lambda sale: None if sale.products else Decimal("9.99"))
    currency = factory.LazyAttribute(lambda sale: "USD" if sale.expected_amount is not None else "")
    products: Any = factory.LazyFunction(list)
    test = factory.LazyAttribute(lambda sale: app_settings().project(sale.project).accept_test_payments)
    status = Checkout.Status.OPEN
    order_id = factory.LazyFunction(lambda: str(uuid.uuid4()))
    payment_form_url = factory.LazyAttribute(
        lambda sale: f"https://service.example.com/form/?order_id={sale.order_id}"
    )


def order_document_for(checkout: Checkout, **changes: Any) -> dict[str, Any]:
    """The Order document that pays for a sale, as the service would write it.

    Args:
        checkout: the sale.
        changes: as for `OrderDocumentFactory`, for instance ``amount=Decimal("0.01")`` for a payment to be refused.

    """
    project = app_settings().project(checkout.project)
    price = {} if checkout.price is None else dict(zip(("amount", "currency"), checkout.price, strict=True))
    told = {
        "id": checkout.order_id,
        "type": checkout.type,
        "products": checkout.products,
        "is_production": not checkout.test,
        "metadata": {**checkout.metadata, project.reference_key: checkout.reference},
        "virtual_currency_amount": checkout.virtual_currency_amount or Decimal(0),
    }
    if checkout.user_id is not None:
        told["user__external_id"] = str(checkout.user_id)
    document: dict[str, Any] = OrderDocumentFactory(**{**told, **price, **changes})
    return document


class OrderFactory(DjangoModelFactory):
    """An order that came to its ``status`` (default: processed) through the ledger, notification by notification.

    ``checkout`` binds it to a sale; any other keyword changes its document: ``OrderFactory(amount=Decimal("5"))``. What the
    ledger announced waits for ``flows.run_due()``: no receiver has run.
    """

    class Meta:
        model = Order

    project = "default"

    @classmethod
    def _create(
        cls,
        model_class: type[Order],
        *args: Any,
        project: str,
        checkout: Checkout | None = None,
        **changes: Any,
    ) -> Order:
        made = order_document_for(checkout, **changes) if checkout else OrderDocumentFactory(**changes)
        for event in EVENTS[made["status"]] or (None,):
            _record(app_settings().project(project), made, event)
        return model_class.objects.get(project=project, order_id=made["id"])


class NotificationFactory(DjangoModelFactory):
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
            apply_due(among=Q(key=answer.notification.key, body_hash=answer.notification.body_hash))
        return model_class.objects.filter(project=project, notification_id=document["id"]).latest("pk")


def _record(project: Project, document: Mapping[str, Any], event: Event | None) -> None:
    """Has the ledger record what an event told of an order, or its creation."""
    source = Source.NOTIFICATION if event else Source.CREATION
    told = {**document, **PAID_FIRST} if event is Event.PAYMENT_SUCCESS else document
    news = Observation(
        source=source,
        order=parse_order(told),
        event=event or "",
        observed_at=datetime.now(UTC) if event else None,
        live=told["is_production"] if event else None,
    )
    step = Step(observations=(news,), cause=Cause(source=source))
    (outcome,) = ledger.record(project, [step], ledger.consult_hooks(project, [step]))
    assert outcome.error is None, outcome.error


def _delivered(project: Project, document: Mapping[str, Any]) -> Delivered:
    body = strict_json.dumps(document).encode()
    return Delivered(
        body=body,
        authorization=f"{SIGNATURE_SCHEME} {sign(body, project.secrets[0])}",
        arrived_at=datetime.now(UTC),
    )
