"""The Order resource: the payload of payment.* notifications and the rows of the transaction list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from checkout_integration.protocol.decoder import (
    Decoder,
    Snapshot,
    array_of,
    attributes,
    flag,
    moment,
    money,
    nested,
    text,
    text_or_false,
    texts,
)
from checkout_integration.protocol.user import USER, User
from checkout_integration.protocol.values import Document


@dataclass(frozen=True, kw_only=True)
class Card(Snapshot):
    """The card of a card method (MTH-07)."""

    first6: str | None = text(personal=True)
    last4: str | None = text(personal=True)
    expiry_month: str | None = text(personal=True)
    expiry_year: str | None = text(personal=True)
    brand: str | None = text()
    fingerprint: str | None = text(personal=True)
    secure3d: bool | None = flag()

    @property
    def masked(self) -> str | None:
        """The masked number, built from first6 and last4.

        The one that was sent is not read: it may cut the number elsewhere, and two different cuts of one
        number together reveal more of it than PCI DSS allows.
        """
        if not self.first6 or not self.last4:
            return None
        return f"{self.first6[:6]}******{self.last4[-4:]}"


@dataclass(frozen=True, kw_only=True)
class Wallet(Snapshot):
    """The wallet of an integrated wallet method (MTH-08)."""

    brand: str | None = text()
    account: str | None = text(personal=True)


@dataclass(frozen=True, kw_only=True)
class CryptoCurrency(Snapshot):
    """The crypto currency of such a method (MTH-09)."""

    brand: str | None = text()
    address: str | None = text(personal=True)


@dataclass(frozen=True, kw_only=True)
class Method(Snapshot):
    """The payment method (MTH-01 to MTH-11)."""

    title: str | None = text()
    external_id: str | None = text()
    payment_system_id: str | None = text()
    type: str | None = text()
    handler: str | None = text()
    saved: bool | None = flag()
    card: Card | None = nested(Decoder(Card))
    wallet: Wallet | None = nested(Decoder(Wallet))
    crypto_currency: CryptoCurrency | None = nested(Decoder(CryptoCurrency))
    refund_allowed: bool | None = flag()
    recurring_allowed: bool | None = flag()


METHOD: Decoder[Method] = Decoder(Method)


@dataclass(frozen=True, kw_only=True)
class OrderItem(Snapshot):
    """An item of an order (ITM-01 to ITM-08), with the further fields that deployed services send.

    ``platform`` is also sent as ``platform_id`` and reads as both; ``code`` and ``platform`` may be missing.
    """

    id: str | None = text()
    sku: str | None = text()
    name: str | None = text()
    description: str | None = text()
    images: tuple[str, ...] | None = texts()
    metadata: Mapping[str, str] | None = attributes()
    code: str | None = text(personal=True)
    platform: str | None = text(alias="platform_id")
    platform_id: str | None = text(alias="platform")
    object: str | None = text()
    amount: Decimal | None = money()
    currency: str | None = text()
    url: str | None = text()
    created_at: datetime | None = moment()
    updated_at: datetime | None = moment()


ITEM: Decoder[OrderItem] = Decoder(OrderItem)


@dataclass(frozen=True, kw_only=True)
class Refund(Snapshot):
    """A refund (RFD-01 to RFD-06). Amount and currency may differ from those of the order."""

    amount: Decimal | None = money()
    currency: str | None = text()
    reason: str | None = text(personal=True)
    code: str | None = text()
    receipt_number: str | None = text()
    receipt_url: str | None = text(personal=True)


REFUND: Decoder[Refund] = Decoder(Refund)


@dataclass(frozen=True, kw_only=True)
class Issuer(Snapshot):
    """The origin of the order (ORD-21)."""

    url: str | None = text(personal=True)
    embedded: bool | None = flag()
    reference: str | None = text()
    reference_type: str | None = text()
    utm_source: str | None = text()
    utm_medium: str | None = text()
    utm_campaign: str | None = text()
    referrer_host: str | None = text()


@dataclass(frozen=True, kw_only=True)
class Cancellation(Snapshot):
    """Why the order was cancelled (ORD-09). The code is text: "02" keeps its zero."""

    code: str | None = text()
    reason: str | None = text()


@dataclass(frozen=True, kw_only=True)
class BillingAddress(Snapshot):
    """The address from the form (ORD-25): a country, for the USA also state and zip."""

    country: str | None = text(personal=True)
    state: str | None = text(personal=True)
    zip: str | None = text(personal=True)
    city: str | None = text(personal=True)
    postal_code: str | None = text(personal=True)


@dataclass(frozen=True, kw_only=True)
class Tax(Snapshot):
    """Sales tax or VAT (ORD-26)."""

    type: str | None = text()
    rate: Decimal | None = money()
    amount: Decimal | None = money()
    currency: str | None = text()


@dataclass(frozen=True, kw_only=True)
class MoneyAmount(Snapshot):
    """An amount with its own currency: ``net_revenue`` (ORD-27) and ``fee`` (ORD-28)."""

    amount: Decimal | None = money()
    currency: str | None = text()


@dataclass(frozen=True, kw_only=True)
class MerchantInfo(Snapshot):
    """The merchant as the service knows it (ORD-45)."""

    company_name: str | None = text()
    agreement_number: str | None = text()


@dataclass(frozen=True, kw_only=True)
class Order(Snapshot):
    """An order (ORD-01 to ORD-47), in the specification's sequence of fields.

    Nothing is checked across fields: one message can contradict itself. Values of ``status``, ``type`` and
    the other word lists stay as sent, unknown ones included. ``testing_case`` false reads as None; any
    other value that is no text reads as a text that is not empty, so that a possible test never passes for a payment.
    """

    id: str | None = text()
    transaction: str | None = text()
    object: str | None = text()
    status: str | None = text()
    description: str | None = text(personal=True)
    created_at: datetime | None = moment()
    canceled: bool | None = flag()
    canceled_at: datetime | None = moment()
    cancellation: Cancellation | None = nested(Decoder(Cancellation))
    refunded: bool | None = flag()
    refunded_at: datetime | None = moment()
    receipt_email: str | None = text(personal=True)
    receipt_phone: str | None = text(personal=True)
    receipt_number: str | None = text()
    receipt_url: str | None = text(personal=True)
    receipt_id: str | None = text()
    agreement_version: str | None = text()
    agreement_accepted: bool | None = flag()
    notify_sale: bool | None = flag()
    notify_sale_email: str | None = text(personal=True)
    issuer: Issuer | None = nested(Decoder(Issuer))
    amount: Decimal | None = money()
    currency: str | None = text()
    user: User | None = nested(USER)
    billing_address: BillingAddress | None = nested(Decoder(BillingAddress), personal=True)
    tax: Tax | None = nested(Decoder(Tax))
    net_revenue: MoneyAmount | None = nested(Decoder(MoneyAmount))
    fee: MoneyAmount | None = nested(Decoder(MoneyAmount))
    method: Method | None = nested(METHOD)
    items: tuple[OrderItem, ...] | None = array_of(ITEM)
    refund: Refund | None = nested(REFUND)
    metadata: Mapping[str, str] | None = attributes()
    original_amount: Decimal | None = money()
    country: str | None = text()
    type: str | None = text()
    platform_id: str | None = text()
    virtual_currency_amount: Decimal | None = money()
    is_buy_for_virtual_currency: bool | None = flag()
    charge_currency: str | None = text()
    charge_amount: Decimal | None = money()
    vat_payer: str | None = text()
    is_production: bool | None = flag()
    testing_case: str | None = text_or_false()
    form_mode: str | None = text()
    merchant_info: MerchantInfo | None = nested(Decoder(MerchantInfo))
    recurring: bool | None = flag()
    recurring_id: str | None = text()


ORDER: Decoder[Order] = Decoder(Order)


def parse_order(document: Document) -> Order:
    """Return the snapshot of an Order object. Never raises: see ``Order.problems``."""
    return ORDER(document)
