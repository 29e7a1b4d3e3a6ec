"""Documents in the specification's shapes, as plain dicts; ``seen=True`` writes an order as deployed services do.

Every part may be changed by keyword, parts of parts with two underscores: ``OrderDocumentFactory(user__name="Ada")``. Money
is Decimal: write documents as JSON with ``protocol.strict_json.dumps``.
"""

from __future__ import annotations

import hashlib
import uuid
from datetime import UTC, datetime
from decimal import Decimal

import factory

from checkout_integration.protocol.vocabulary import (
    OBJECT_LIST,
    OBJECT_ORDER,
    OBJECT_USER,
    TYPE_NOTIFICATION,
    Event,
    FormMode,
    OrderStatus,
    OrderType,
    Platform,
    VatPayer,
)

__all__ = [
    "AddressDocumentFactory",
    "CardDocumentFactory",
    "CursorPageFactory",
    "ErrorDocumentFactory",
    "IssuerDocumentFactory",
    "ListedOrderDocumentFactory",
    "ListedUserDocumentFactory",
    "MethodDocumentFactory",
    "NotificationDocumentFactory",
    "OrderDocumentFactory",
    "OrderItemDocumentFactory",
    "RefundDocumentFactory",
    "TokenDocumentFactory",
    "TransactionPageFactory",
    "UserDocumentFactory",
]

ZERO_TIME = "0001-01-01T00:00:00Z"
"""How the deployed service writes "never"."""
STOPPED = (OrderStatus.CANCELED, OrderStatus.REJECTED)
REVERSED = (OrderStatus.REFUNDED, OrderStatus.CHARGEBACK)
PAID = (OrderStatus.PROCESSED, *REVERSED)


def time_text(at: datetime) -> str:
    """Return a time, as the service writes times."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def now_text() -> str:
    """Return the present time, as the service writes times."""
    return time_text(datetime.now(UTC))


class AddressDocumentFactory(factory.DictFactory):
    """``user.address`` (USR-11)."""

    country = "DE"
    city = "Berlin"
    postal_code = "10115"
    state = "BE"


class UserDocumentFactory(factory.DictFactory):
    """The User of an order, and the payload of user.validate."""

    id = factory.LazyFunction(lambda: uuid.uuid4().hex)
    object = OBJECT_USER
    external_id = factory.Sequence(lambda number: f"player-{number}")
    name = "Ada Lovelace"
    email = factory.LazyAttribute(lambda user: f"{user.external_id}@example.com")
    email_verified = True
    phone = "+4930901820"
    phone_verified = False
    ip = "203.0.113.7"
    locale = "en-US"
    address = factory.SubFactory(AddressDocumentFactory)
    metadata = factory.LazyFunction(dict)
    notify_new_region = False
    notify_new_region_email = ""


class ListedUserDocumentFactory(UserDocumentFactory):
    """The User of the transaction list: without ``id`` (ORD-48)."""

    class Meta:
        exclude = ("id",)


class IssuerDocumentFactory(factory.DictFactory):
    """``issuer``: where the form was opened."""

    url = "https://shop.example.com/"
    embedded = False
    reference = ""
    reference_type = ""
    utm_source = ""
    utm_medium = ""
    utm_campaign = ""
    referrer_host = "shop.example.com"


class CardDocumentFactory(factory.DictFactory):
    """The document of ``method.card``."""

    first6 = "424242"
    last4 = "4242"
    masked = "424242******4242"
    expiry_month = "12"
    expiry_year = "2034"
    brand = "VISA"
    fingerprint = "b5bb9d8014a0f9b1d61e21e796d78dcc"
    secure3d = True


class MethodDocumentFactory(factory.DictFactory):
    """``method``: a card."""

    title = "Bank card"
    external_id = "BANKCARD"
    payment_system_id = "5d1a1f5e0c1d4e0001a1b2c3"
    type = "bank_card"
    saved = False
    card = factory.SubFactory(CardDocumentFactory)
    wallet = None
    crypto_currency = None
    refund_allowed = True
    recurring_allowed = False


class OrderItemDocumentFactory(factory.DictFactory):
    """An element of ``items``; one of a key also has ``code`` and ``platform``: ``paid_key=True``."""

    class Params:
        paid_key = factory.Trait(code="AB3D5-FG7H9-JK2M4", platform=Platform.STEAM)

    id = factory.Sequence(lambda number: f"product-{number}")
    sku = factory.SelfAttribute("id")
    name = "Product"
    description = "A product"
    images = factory.LazyFunction(list)
    metadata = factory.LazyFunction(dict)


class RefundDocumentFactory(factory.DictFactory):
    """``refund`` of an order."""

    amount = Decimal("9.99")
    currency = "USD"
    reason = "Requested by the customer"
    code = "requested_by_customer"
    receipt_number = factory.Sequence(lambda number: f"REFUND-{number}")
    receipt_url = factory.LazyAttribute(lambda refund: f"https://service.example.com/{refund.receipt_number}")


class OrderDocumentFactory(factory.DictFactory):
    """An Order whose parts agree with its ``status`` (default: processed).

    ``products`` makes items of these ids; ``seen=True`` writes what is not there as null or the zero time; ``agreement=True``
    begins an agreement, which `renewal_document_for` goes on with; ``partly_refunded=True`` pays back 1.00 of the charge.
    """

    class Params:
        agreement = factory.Trait(recurring=True, recurring_id=factory.LazyFunction(lambda: uuid.uuid4().hex))
        partly_refunded = False
        paid_back = factory.LazyAttribute(
            lambda order: Decimal(1) if order.partly_refunded else order.charge_amount
        )
        seen = False
        products = ()
        gone = factory.LazyAttribute(lambda order: order.status in STOPPED)
        reversed = factory.LazyAttribute(lambda order: order.status in REVERSED)
        never = factory.LazyAttribute(lambda order: ZERO_TIME if order.seen else "")
        share = factory.LazyAttribute(lambda order: order.status in PAID and not order.seen)

    id = factory.LazyFunction(lambda: str(uuid.uuid4()))
    transaction = factory.LazyFunction(lambda: uuid.uuid4().hex)
    object = OBJECT_ORDER
    status = factory.Maybe("partly_refunded", OrderStatus.REFUNDED, OrderStatus.PROCESSED)
    description = "500 gems"
    created_at = factory.LazyFunction(now_text)
    canceled = factory.LazyAttribute(lambda order: order.status == OrderStatus.CANCELED)
    canceled_at = factory.LazyAttribute(lambda order: now_text() if order.canceled else order.never)
    cancellation = factory.LazyAttribute(
        lambda order: {"code": "02", "reason": "Declined"} if order.gone else None
    )
    refunded = factory.SelfAttribute("reversed")
    refunded_at = factory.LazyAttribute(lambda order: now_text() if order.reversed else order.never)
    receipt_email = factory.LazyAttribute(lambda order: order.user["email"])
    receipt_phone = ""
    receipt_number = factory.Sequence(lambda number: f"RECEIPT-{number}")
    receipt_url = factory.LazyAttribute(lambda order: f"https://service.example.com/{order.receipt_number}")
    receipt_id = factory.LazyFunction(lambda: uuid.uuid4().hex)
    agreement_version = "1.0"
    agreement_accepted = True
    notify_sale = False
    notify_sale_email = ""
    issuer = factory.Maybe("seen", None, factory.SubFactory(IssuerDocumentFactory))
    amount = Decimal("9.99")
    currency = "USD"
    user = factory.SubFactory(UserDocumentFactory)
    billing_address = factory.LazyAttribute(lambda order: None if order.seen else {"country": "DE"})
    tax = factory.LazyAttribute(
        lambda order: {"type": "VAT", "rate": Decimal(0), "amount": Decimal(0), "currency": order.currency}
    )
    net_revenue = factory.LazyAttribute(
        lambda order: {"amount": order.amount, "currency": order.currency} if order.share else None
    )
    fee = factory.LazyAttribute(
        lambda order: {"amount": Decimal(0), "currency": order.currency} if order.share else None
    )
    method = factory.SubFactory(MethodDocumentFactory)
    items = factory.LazyAttribute(
        lambda order: (
            [
                OrderItemDocumentFactory(
                    id=each, paid_key=order.type == OrderType.KEY and order.status in PAID
                )
                for each in order.products
            ]
            or None
        )
    )
    refund = factory.Maybe(
        "reversed",
        factory.SubFactory(
            RefundDocumentFactory,
            amount=factory.SelfAttribute("..paid_back"),
            currency=factory.SelfAttribute("..charge_currency"),
        ),
        None,
    )
    metadata = factory.LazyFunction(dict)
    original_amount = factory.SelfAttribute("amount")
    country = "DE"
    type = OrderType.SIMPLE
    platform_id = factory.LazyAttribute(lambda order: Platform.STEAM if order.type == OrderType.KEY else "")
    virtual_currency_amount = Decimal(0)
    is_buy_for_virtual_currency = False
    charge_currency = factory.SelfAttribute("currency")
    charge_amount = factory.SelfAttribute("amount")
    vat_payer = VatPayer.NOBODY
    is_production = False
    testing_case = ""
    form_mode = FormMode.EMBED
    merchant_info = factory.LazyFunction(
        lambda: {"company_name": "Sandbox Games", "agreement_number": "SBX-0001"}
    )
    recurring = False
    recurring_id = ""


class ListedOrderDocumentFactory(OrderDocumentFactory):
    """An Order of the transaction list: no ``user.id``, and a ``method.handler`` (ORD-48, MTH-05)."""

    user = factory.SubFactory(ListedUserDocumentFactory)
    method = factory.SubFactory(MethodDocumentFactory, handler="cardpay")


class NotificationDocumentFactory(factory.DictFactory):
    """A Webhook object. Its ``id`` is a hash of order and event, the same for every attempt, as of deployed services."""

    class Params:
        validates = factory.LazyAttribute(lambda notification: notification.event == Event.USER_VALIDATE)

    id = factory.LazyAttribute(
        lambda notification: _same_for_every_attempt(notification.object["id"], notification.event)
    )
    type = TYPE_NOTIFICATION
    event = Event.PAYMENT_SUCCESS
    live = factory.LazyAttribute(lambda notification: bool(notification.object.get("is_production", False)))
    created_at = factory.LazyFunction(now_text)
    expires_at = ""
    delivery_try = factory.LazyAttribute(lambda notification: 1 if notification.validates else 0)
    object = factory.Maybe(
        "validates", factory.SubFactory(UserDocumentFactory), factory.SubFactory(OrderDocumentFactory)
    )


class TokenDocumentFactory(factory.DictFactory):
    """The response to token creation."""

    token = factory.LazyFunction(lambda: uuid.uuid4().hex)
    payment_form_url = factory.LazyAttribute(
        lambda answer: f"https://service.example.com/form/?token={answer.token}"
    )


class TransactionPageFactory(factory.DictFactory):
    """A page of the transaction list; an empty one says null, as deployed services do."""

    items = None
    count = factory.LazyAttribute(lambda page: len(page.items or ()))


class CursorPageFactory(factory.DictFactory):
    """A page of a list with cursors (LST-01 to LST-05)."""

    object = OBJECT_LIST
    data = factory.LazyFunction(list)
    has_more = False
    has_before = False
    total_count = factory.LazyAttribute(lambda page: len(page.data))


class ErrorDocumentFactory(factory.DictFactory):
    """The error object."""

    code = "fm000048"
    message = "invalid request data"
    details = ""


def _same_for_every_attempt(order_id: str, event: str) -> str:
    return hashlib.sha256(f"{order_id}{event}".encode()).hexdigest()
