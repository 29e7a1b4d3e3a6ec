"""An order as the service stores it: a frozen value, and its JSON for the database row."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from checkout_integration.protocol.vocabulary import OBJECT_USER, OrderStatus, OrderType, VatPayer
from checkout_integration.sandbox.wire.json_text import read_json, write_json
from checkout_integration.sandbox.wire.moments import read_moment, write_moment


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """One order, or one reversal item of the `field` profile's list.

    Attributes:
        secret_key, webhook_url, live: copied from the project when the order is created, so that
            a later rotation does not change them.
        paid: True from the payment on; it never becomes False again.
        reversal: this is the list's second item of a refund or chargeback, not a payment.
        charge_rate: units of `charge_currency` for one of `currency`.
        items: item documents without code and platform; None for an order without products.
        user: the User document; None without customer data.
        view_scheme: light or dark, if the page that opened the form chose one.
        All other names are those of the specification's Order object.
    """

    id: str
    project_id: str
    secret_key: str = field(repr=False)
    webhook_url: str
    live: bool
    type: OrderType
    status: OrderStatus
    created_at: datetime
    description: str
    amount: Decimal
    original_amount: Decimal
    currency: str
    user: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    items: list[dict[str, Any]] | None = None
    platform_id: str = ""
    virtual_currency_amount: Decimal = Decimal(0)
    is_buy_for_virtual_currency: bool = False
    url_success: str = ""
    url_fail: str = ""
    button_caption: str = ""
    transaction: str = ""
    paid: bool = False
    reversal: bool = False
    expired: bool = False
    canceled: bool = False
    canceled_at: datetime | None = None
    cancellation: dict[str, str] | None = None
    refunded: bool = False
    refunded_at: datetime | None = None
    refund: dict[str, Any] | None = None
    receipt_email: str = ""
    receipt_phone: str = ""
    receipt_number: str = ""
    receipt_id: str = ""
    receipt_url: str = ""
    issuer: dict[str, Any] | None = None
    form_mode: str = "embed"
    billing_country: str = ""
    billing_state: str = ""
    billing_zip: str = ""
    vat_payer: VatPayer = VatPayer.NOBODY
    tax_type: str = ""
    tax_rate: Decimal = Decimal(0)
    tax_amount: Decimal = Decimal(0)
    charge_amount: Decimal = Decimal(0)
    charge_currency: str = ""
    charge_rate: Decimal = Decimal(1)
    method: dict[str, Any] | None = None
    company_name: str = ""
    agreement_number: str = ""
    agreement_accepted: bool = False
    notify_sale: bool = False
    recurring: bool = False
    recurring_id: str = ""
    recurring_subscription_id: str = ""
    recurring_plan_id: str = ""
    view_scheme: str = ""

    @property
    def refunded_amount(self) -> Decimal:
        """The part of the charge that was refunded or charged back so far."""
        amount: Decimal = self.refund["amount"] if self.refund else Decimal(0)
        return amount

    @property
    def refund_receipt_id(self) -> str:
        """The end of the address of the refund's receipt, which has a number of its own (RFD-05, RFD-06)."""
        return self.refund["receipt_url"].rpartition("/")[2] if self.refund else ""

    @property
    def account(self) -> str:
        """The customer's identifier in the merchant project, which the list's `account` filter searches."""
        return str(self.user.get("external_id") or "")

    @property
    def customer(self) -> str:
        """Texts in which deployed services search for `account`, one a line, in lower case (EP3-06)."""
        method = self.method or {}
        paid_with = [
            (method.get(kind) or {}).get(name)
            for kind, name in (("card", "masked"), ("wallet", "account"), ("crypto_currency", "address"))
        ]
        known = [*(self.user.get(name) for name in ("external_id", "phone", "email")), *paid_with]
        return "\n".join(one_line(text) for text in known if text).casefold()


NO_USER: Final[dict[str, Any]] = {
    "id": "",
    "object": OBJECT_USER,
    "external_id": "",
    "name": "",
    "email": "",
    "email_verified": False,
    "phone": "",
    "phone_verified": False,
    "ip": "",
    "locale": "",
    "address": None,
    "metadata": None,
    "notify_new_region": False,
    "notify_new_region_email": "",
}


def one_line(text: str) -> str:
    """Return the text without line breaks, which separate the texts of `customer`."""
    return text.replace("\n", " ")


_COLUMNS: Final = {"id", "project_id", "status", "paid", "reversal"}
_MONEY: Final = {
    "amount",
    "original_amount",
    "virtual_currency_amount",
    "tax_rate",
    "tax_amount",
    "charge_amount",
    "charge_rate",
}
_TIMES: Final = {"created_at", "canceled_at", "refunded_at"}
_WORDS: Final = {"type": OrderType, "vat_payer": VatPayer}


def write_row_json(order: Order) -> str:
    """Write everything that has no column of its own and is not its default."""
    sheet: dict[str, Any] = {}
    for column in fields(order):
        value = getattr(order, column.name)
        if column.name in _COLUMNS or value == column.default or value in (None, {}):
            continue
        sheet[column.name] = write_moment(value) if column.name in _TIMES else value
    # Most customers are unknown, and a million of them must fit into memory.
    sheet["user"] = {name: value for name, value in order.user.items() if value != NO_USER.get(name)}
    return write_json(sheet)


def read_row_json(sheet_text: str, **columns: Any) -> Order:
    """Build the order from what `write_row_json` wrote and the other columns."""
    sheet = read_json(sheet_text)
    sheet["user"] = {**NO_USER, **sheet["user"]}
    for name in _MONEY & sheet.keys():
        sheet[name] = Decimal(sheet[name])
    if "refund" in sheet:
        sheet["refund"]["amount"] = Decimal(sheet["refund"]["amount"])
    for name in _TIMES & sheet.keys():
        sheet[name] = read_moment(sheet[name])
    for name, word in _WORDS.items():
        if name in sheet:
            sheet[name] = word(sheet[name])
    return Order(**columns, **sheet)
