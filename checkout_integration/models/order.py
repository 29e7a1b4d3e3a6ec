"""The service's order, as far as we know it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.db import models
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.attributes import SnapshotAttribute
from checkout_integration.models.attribution import Attributed
from checkout_integration.models.columns import (
    BEGINNINGS,
    Column,
    CurrencyField,
    DocumentField,
    IdentifierField,
    InstantField,
    MoneyField,
    RateField,
    searched,
)
from checkout_integration.models.row import NearQuerySet, Row
from checkout_integration.policy import facts as fact_rules
from checkout_integration.policy import fields as field_rules
from checkout_integration.policy import personal
from checkout_integration.policy.facts import slot_key
from checkout_integration.policy.observation import Source
from checkout_integration.policy.state import SETTLED_KINDS, OrderState
from checkout_integration.policy.verdict import VerdictStatus
from checkout_integration.protocol import order as documents
from checkout_integration.protocol.order import ITEM, Method, parse_order
from checkout_integration.protocol.order import OrderItem as Item
from checkout_integration.protocol.order import Refund as RefundDocument
from checkout_integration.protocol.vocabulary import OrderStatus

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser
    from django.db.models.fields.related_descriptors import RelatedManager

    from checkout_integration.models import Checkout, CheckoutUser, Grant, Refund

STATE_COLUMNS = frozenset(
    {"status", "verdict", "verdict_reason", "facts", "document", "checkout", "checkout_id"}
)
"""Columns that only ``flows.ledger`` writes, under the order's lock."""


IS_TEST = models.Q(is_production=False) | models.Q(live=False)
"""The condition of payments that are tests."""

REVERSED = ("refunded", "chargeback")
"""Statuses of an order whose payment went back to the customer, in full or in part."""

IN_REVIEW = models.Q(verdict=VerdictStatus.REVIEW.value) & (
    ~models.Q(status__in=REVERSED) | models.Q(partly_refunded=True)
)
"""The condition of payments that wait for staff: something of them is with the shop (`OrderState.fully_reversed`)."""

IS_PAYMENT = models.Q(status__in=SETTLED_KINDS) | models.Q(
    status__in=(OrderStatus.CANCELED, OrderStatus.REJECTED),
    facts__slots__has_any_keys=[slot_key(kind, source) for kind in SETTLED_KINDS for source in Source],
)
"""The condition of orders with a known success or reversal, whatever they are shown as: ``OrderState.settled``.

An order that is canceled after its success is shown as canceled, until staff decide. No other status hides a payment.
"""


class OrderQuerySet(NearQuerySet["Order"]):
    """A shop's queries of its orders."""

    def paid(self) -> Self:
        """Return orders that pay for something here: processed, and verified or accepted."""
        return self.filter(
            status=OrderStatus.PROCESSED, verdict__in=(VerdictStatus.VERIFIED, VerdictStatus.ACCEPTED)
        )

    def refunded(self) -> Self:
        """Return orders whose payment was refunded or charged back."""
        return self.filter(status__in=REVERSED)

    def for_user(self, user: AbstractBaseUser) -> Self:
        """Return orders bound to checkouts of this account."""
        return self.filter(checkout__user=user)

    def awaiting_receivers(self) -> Self:
        """Return orders with a message that not all receivers have run for."""
        # Literal states: the outbox imports this module.
        return self.filter(outbox_messages__runs__state__in=("due", "waiting", "running")).distinct()


class Order(Attributed):
    """An Order of the service: the merge of every notification and list row about it.

    Fields that are filtered, joined, summed or listed are columns. Every other field of the specification is an attribute
    that reads the latest document (`snapshot`), whose members SQL can query (docs/analysis.md). Only ``flows.ledger`` writes
    state; all other code only reads it.
    """

    project = IdentifierField(max_length=64, help_text=_("Alias of the project in the settings."))
    order_id = IdentifierField(help_text=_("The service's id."))
    status: Column[str] = models.CharField(
        max_length=16, choices=[(s.value, s.value) for s in OrderStatus], default=OrderStatus.CREATED.value
    )
    verdict: Column[str] = models.CharField(
        max_length=16,
        choices=[(v.value, v.value) for v in VerdictStatus],
        default=VerdictStatus.PENDING.value,
    )
    verdict_reason: Column[str] = models.CharField(max_length=64, blank=True, default="")
    checkout: Column[Checkout | None] = models.ForeignKey(
        "checkout_integration.Checkout",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="orders",
    )
    user: Column[CheckoutUser | None] = models.ForeignKey(
        "checkout_integration.CheckoutUser",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="orders",
    )

    live: Column[bool | None] = models.BooleanField(
        null=True, blank=True, help_text=_("As the notification says; the list does not have it.")
    )
    is_production: Column[bool | None] = models.BooleanField(null=True, blank=True)
    transaction = IdentifierField(blank=True, default="")
    type: Column[str] = models.CharField(max_length=32, blank=True, default="")
    created_at: Column[datetime | None] = InstantField(null=True, blank=True)
    canceled_at: Column[datetime | None] = InstantField(null=True, blank=True)
    refunded_at: Column[datetime | None] = InstantField(null=True, blank=True)
    country: Column[str] = models.CharField(max_length=8, blank=True, default="")
    receipt_number = IdentifierField(blank=True, default="")
    recurring_id = IdentifierField(blank=True, default="")
    product = IdentifierField(
        blank=True,
        default="",
        help_text=_("The name of the first item, else the shop's words for what it sold."),
    )
    amount = MoneyField(currency="currency")
    currency = CurrencyField()
    original_amount = MoneyField(currency="currency")
    charge_amount = MoneyField(currency="charge_currency")
    charge_currency = CurrencyField()
    tax_amount = MoneyField(currency="tax_currency")
    tax_currency = CurrencyField()
    tax_rate = RateField()
    vat_payer: Column[str] = models.CharField(max_length=16, blank=True, default="")
    fee_amount = MoneyField(currency="fee_currency")
    fee_currency = CurrencyField()
    net_revenue_amount = MoneyField(currency="net_revenue_currency")
    net_revenue_currency = CurrencyField()
    refund_amount = MoneyField(currency="refund_currency")
    refund_currency = CurrencyField()
    partly_refunded: Column[bool] = models.BooleanField(
        default=False, help_text=_("Whether less was refunded than was charged.")
    )
    virtual_currency_amount = MoneyField()
    method_type: Column[str] = models.CharField(max_length=64, blank=True, default="")

    document: Column[dict[str, Any]] = DocumentField(
        help_text=_("The latest known document without its personal part.")
    )
    facts: Column[dict[str, Any]] = models.JSONField(default=dict, editable=False)
    stamps: Column[dict[str, Any]] = models.JSONField(default=dict, editable=False)
    conflicts: Column[dict[str, Any]] = models.JSONField(default=list, editable=False)
    recorded_at: Column[datetime] = InstantField(auto_now_add=True)
    changed_at: Column[datetime] = InstantField(auto_now=True)
    ordered_at: Column[datetime] = models.GeneratedField(
        expression=Coalesce("created_at", "recorded_at"),
        output_field=InstantField(),
        db_persist=True,
        help_text=_(
            "When the customer ordered: as the service says, or until it says so, when the row was written."
        ),
    )

    objects: ClassVar[OrderQuerySet] = OrderQuerySet.as_manager()  # type: ignore[assignment]  # the plug-in gives Row a plain one

    description = SnapshotAttribute[str]()
    canceled = SnapshotAttribute[bool]()
    cancellation = SnapshotAttribute[documents.Cancellation]()
    refunded = SnapshotAttribute[bool]()
    receipt_email = SnapshotAttribute[str]()
    receipt_phone = SnapshotAttribute[str]()
    receipt_url = SnapshotAttribute[str]()
    receipt_id = SnapshotAttribute[str]()
    agreement_version = SnapshotAttribute[str]()
    agreement_accepted = SnapshotAttribute[bool]()
    notify_sale = SnapshotAttribute[bool]()
    notify_sale_email = SnapshotAttribute[str]()
    issuer = SnapshotAttribute[documents.Issuer]()
    billing_address = SnapshotAttribute[documents.BillingAddress]()
    tax = SnapshotAttribute[documents.Tax]()
    net_revenue = SnapshotAttribute[documents.MoneyAmount]()
    fee = SnapshotAttribute[documents.MoneyAmount]()
    method = SnapshotAttribute[Method]()
    metadata = SnapshotAttribute[dict[str, str]]()
    platform_id = SnapshotAttribute[str]()
    is_buy_for_virtual_currency = SnapshotAttribute[bool]()
    testing_case = SnapshotAttribute[str]()
    form_mode = SnapshotAttribute[str]()
    merchant_info = SnapshotAttribute[documents.MerchantInfo]()
    recurring = SnapshotAttribute[bool]()

    # Rows that refer to it, for type checkers that have no plug-in for Django.
    items: RelatedManager[OrderItem]
    refunds: RelatedManager[Refund]
    grants: RelatedManager[Grant]

    class Meta:
        verbose_name = _("order")
        verbose_name_plural = _("orders")
        # The id first: staff search for it without a project, and by how it begins.
        constraints = [
            models.UniqueConstraint(
                fields=["order_id", "project"],
                name="ci_order_identity",
                opclasses=[BEGINNINGS, "varchar_ops"],
            )
        ]
        indexes = [
            searched("transaction", "ci_order_transaction"),
            models.Index(fields=["status", "-ordered_at", "-id"], name="ci_order_status"),
            models.Index(fields=["verdict", "-ordered_at", "-id"], name="ci_order_verdict"),
            models.Index(fields=["-ordered_at", "-id"], name="ci_order_time"),
            searched("receipt_number", "ci_order_receipt"),
            # Of the filter by origin, for rows of any number.
            models.Index(fields=["utm_source"], name="ci_order_source"),
            models.Index(fields=["utm_campaign"], name="ci_order_campaign"),
            models.Index(fields=["referrer_host"], name="ci_order_host"),
            # Of the filters by what staff know of a payment.
            models.Index(fields=["product"], name="ci_order_product"),
            models.Index(fields=["amount"], name="ci_order_amount"),
            models.Index(fields=["currency"], name="ci_order_currency"),
            models.Index(fields=["country"], name="ci_order_country"),
            models.Index(fields=["method_type"], name="ci_order_method"),
            # Of staff's queues: few rows, found without reading those that are settled. No other index begins with their
            # columns, so PostgreSQL cannot take another one for their sequence. MariaDB has no such indexes.
            models.Index(fields=["recorded_at"], name="ci_order_review", condition=IN_REVIEW),
            models.Index(
                fields=["refunded_at"],
                name="ci_order_chargeback",
                condition=models.Q(status=OrderStatus.CHARGEBACK.value),
            ),
            models.Index(fields=["-ordered_at", "-id"], name="ci_order_test", condition=IS_TEST),
            # For the health of one project beside others: how its newest payments became known.
            models.Index(fields=["project", "status", "-created_at"], name="ci_order_project"),
        ]
        permissions = [
            ("view_personal_data", _("Can see personal data of customers")),
            ("check_order", _("Can check an order with the service")),
            ("accept_payment", _("Can accept a payment that is in review or historic")),
            ("bind_order", _("Can bind an order to a checkout")),
            ("download_evidence", _("Can download the evidence of an order")),
        ]

    def __str__(self) -> str:
        return self.order_id

    @cached_property
    def snapshot(self) -> documents.Order:
        """The latest known document, typed: every field of the specification, personal ones included until erased."""
        return parse_order(self.whole_document)

    @property
    def refund(self) -> RefundDocument | None:
        """RFD-01 to RFD-06: the latest refund, with what was refunded in all (`refund_amount`) in place of its own amount."""
        refund = self.snapshot.refund
        if refund is None or self.refund_amount is None:
            return refund
        return replace(refund, amount=self.refund_amount, currency=self.refund_currency)

    @property
    def whole_document(self) -> dict[str, Any]:
        """`document` with its personal part."""
        personal_data = getattr(self, "personal_data", None)
        return personal.join(self.document, personal_data.document if personal_data else {})

    def save(
        self,
        *,
        force_insert: bool | tuple[Any, ...] = False,
        force_update: bool = False,
        using: str | None = None,
        update_fields: Iterable[str] | None = None,
    ) -> None:
        """Refuse to overwrite state: an instance read outside the order's lock may be stale.

        Raises ``TypeError`` when an existing row's state columns would be written.
        """
        written = STATE_COLUMNS if update_fields is None else STATE_COLUMNS & set(update_fields)
        if written and not self._state.adding:
            raise TypeError(
                "The state of an order is written by checkout_integration.flows only. "
                "Save your own columns with save(update_fields=[…]), or use Order.objects.filter(pk=…).update(…)."
            )
        super().save(
            force_insert=force_insert, force_update=force_update, using=using, update_fields=update_fields
        )

    def refresh_from_db(self, *args: Any, **kwargs: Any) -> None:
        """Read the row again, and discard the parsed snapshot of the old one."""
        self.__dict__.pop("snapshot", None)
        super().refresh_from_db(*args, **kwargs)


class OrderItem(Row):
    """An item of an order (ITM-01 to ITM-08). Fields without a search are read from the order's document (`snapshot`)."""

    # Without an index of its own: the unique constraint begins with it.
    order: Column[Order] = models.ForeignKey(
        Order, on_delete=models.CASCADE, related_name="items", db_index=False
    )
    position: Column[int] = models.PositiveSmallIntegerField()
    item_id = IdentifierField(blank=True, default="")
    sku = IdentifierField(blank=True, default="")
    name: Column[str] = models.TextField(blank=True, default="")
    code = IdentifierField(blank=True, default="", help_text=_("Activation code of a game key."))
    platform: Column[str] = models.CharField(max_length=64, blank=True, default="")

    description = SnapshotAttribute[str]()
    images = SnapshotAttribute[tuple[str, ...]]()
    metadata = SnapshotAttribute[Mapping[str, str]]()

    class Meta:
        verbose_name = _("order item")
        verbose_name_plural = _("order items")
        ordering = ["order", "position"]
        constraints = [models.UniqueConstraint(fields=["order", "position"], name="ci_item_position")]
        indexes = [searched("code", "ci_item_code"), models.Index(fields=["sku"], name="ci_item_sku")]

    def __str__(self) -> str:
        return self.sku or self.item_id or str(self.position)

    @cached_property
    def snapshot(self) -> Item:
        """The item as the service sent it, typed."""
        return ITEM(self.document)

    @property
    def document(self) -> dict[str, Any]:
        """The item as the service sent it, unknown fields included: its part of the order's document."""
        document: dict[str, Any] = self.order.document["items"][self.position]
        return document


# The state of an order as its row has it.


def state_of(row: Order) -> OrderState:
    """Return the state in a row."""
    return _state_of(row, row.whole_document)


def public_state_of(row: Order) -> OrderState:
    """Return the state in a row without its personal data, which payments do not depend on."""
    return _state_of(row, row.document)


def _state_of(row: Order, document: Mapping[str, Any]) -> OrderState:
    stamps = field_rules.stamps_from_json(row.stamps, field_rules.stored_values(document, row.live))
    merged = field_rules.from_stored(document, row.live, stamps, row.conflicts)
    return OrderState(facts=fact_rules.from_json(row.facts), merged=merged)
