"""The service's order, as far as we know it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from django.db import models
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.attributes import SnapshotAttribute
from checkout_integration.models.columns import (
    CurrencyField,
    DocumentField,
    IdentifierField,
    InstantField,
    MoneyField,
)
from checkout_integration.models.row import NearQuerySet, Row
from checkout_integration.policy import personal
from checkout_integration.policy.verdict import VerdictStatus
from checkout_integration.protocol import order as documents
from checkout_integration.protocol.method import Method
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.refund import Refund as RefundDocument
from checkout_integration.protocol.vocabulary import OrderStatus

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

STATE_COLUMNS = frozenset(
    {"status", "verdict", "verdict_reason", "facts", "document", "checkout", "checkout_id"}
)
"""Columns that only ``flows.ledger`` writes, under the order's lock."""


class OrderQuerySet(NearQuerySet["Order"]):
    """Questions that a shop asks of its orders."""

    def paid(self) -> Self:
        """Orders that pay for something here: processed, and verified or accepted."""
        return self.filter(
            status=OrderStatus.PROCESSED, verdict__in=(VerdictStatus.VERIFIED, VerdictStatus.ACCEPTED)
        )

    def refunded(self) -> Self:
        """Orders whose payment was refunded or charged back."""
        return self.filter(status__in=(OrderStatus.REFUNDED, OrderStatus.CHARGEBACK))

    def for_user(self, user: AbstractBaseUser) -> Self:
        """Orders bound to checkouts of this account."""
        return self.filter(checkout__user=user)

    def awaiting_receivers(self) -> Self:
        """Orders with a message whose receivers have not all run."""
        # Literal states: the outbox imports this module.
        waiting = models.Q(outbox_messages__state="new") | models.Q(
            outbox_messages__runs__state__in=("due", "waiting", "running")
        )
        return self.filter(waiting).distinct()


class Order(Row):
    """An Order of the service: the merge of every notification and list row that told of it.

    Columns are what is filtered, joined, summed or listed. Every other field of the specification is an attribute that
    reads the latest document (`snapshot`). State is written by ``flows.ledger`` only; everywhere else it is read.
    """

    project = IdentifierField(max_length=64, help_text=_("Alias of the project in the settings."))
    order_id = IdentifierField(help_text=_("The service's id."))
    status = models.CharField(
        max_length=16, choices=[(s.value, s.value) for s in OrderStatus], default=OrderStatus.CREATED.value
    )
    verdict = models.CharField(
        max_length=16,
        choices=[(v.value, v.value) for v in VerdictStatus],
        default=VerdictStatus.PENDING.value,
    )
    verdict_reason = models.CharField(max_length=64, blank=True, default="")
    checkout = models.ForeignKey(
        "checkout_integration.Checkout",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="orders",
    )
    user = models.ForeignKey(
        "checkout_integration.CheckoutUser",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="orders",
    )

    live = models.BooleanField(
        null=True, blank=True, help_text=_("As the notification said; the list does not say.")
    )
    is_production = models.BooleanField(null=True, blank=True)
    transaction = IdentifierField(blank=True, default="")
    type = models.CharField(max_length=32, blank=True, default="")
    created_at = InstantField(null=True, blank=True)
    canceled_at = InstantField(null=True, blank=True)
    refunded_at = InstantField(null=True, blank=True)
    country = models.CharField(max_length=8, blank=True, default="")
    receipt_number = IdentifierField(blank=True, default="")
    recurring_id = IdentifierField(blank=True, default="")
    amount = MoneyField()
    currency = CurrencyField()
    original_amount = MoneyField()
    charge_amount = MoneyField()
    charge_currency = CurrencyField()
    tax_amount = MoneyField()
    tax_currency = CurrencyField()
    fee_amount = MoneyField()
    fee_currency = CurrencyField()
    net_revenue_amount = MoneyField()
    net_revenue_currency = CurrencyField()
    refund_amount = MoneyField()
    refund_currency = CurrencyField()
    virtual_currency_amount = MoneyField()
    method_type = models.CharField(max_length=64, blank=True, default="")

    document = DocumentField(help_text=_("The latest known document without its personal part."))
    facts = models.JSONField(default=dict, editable=False)
    stamps = models.JSONField(default=dict, editable=False)
    conflicts = models.JSONField(default=list, editable=False)
    recorded_at = InstantField(auto_now_add=True)
    changed_at = InstantField(auto_now=True)

    objects = OrderQuerySet.as_manager()  # type: ignore[misc]  # the plug-in gives Row a plain one

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
    refund = SnapshotAttribute[RefundDocument]()
    metadata = SnapshotAttribute[dict[str, str]]()
    platform_id = SnapshotAttribute[str]()
    is_buy_for_virtual_currency = SnapshotAttribute[bool]()
    vat_payer = SnapshotAttribute[str]()
    testing_case = SnapshotAttribute[str]()
    form_mode = SnapshotAttribute[str]()
    merchant_info = SnapshotAttribute[documents.MerchantInfo]()
    recurring = SnapshotAttribute[bool]()

    class Meta:
        verbose_name = _("order")
        verbose_name_plural = _("orders")
        constraints = [models.UniqueConstraint(fields=["project", "order_id"], name="ci_order_identity")]
        indexes = [
            models.Index(fields=["order_id"], name="ci_order_id"),
            models.Index(fields=["project", "transaction"], name="ci_order_transaction"),
            models.Index(fields=["status", "-created_at"], name="ci_order_status"),
            models.Index(fields=["verdict", "-created_at"], name="ci_order_verdict"),
            models.Index(fields=["-created_at"], name="ci_order_created"),
            models.Index(fields=["receipt_number"], name="ci_order_receipt"),
        ]
        permissions = [
            ("view_personal_data", _("Can see personal data of customers")),
            ("check_order", _("Can check an order with the service")),
            ("accept_payment", _("Can accept a payment that is in review or historic")),
            ("bind_order", _("Can bind an order to a checkout")),
        ]

    def __str__(self) -> str:
        return self.order_id

    @cached_property
    def snapshot(self) -> documents.Order:
        """The latest known document, typed: every field of the specification, personal ones included until erased."""
        return parse_order(self.whole_document)

    @property
    def whole_document(self) -> dict[str, Any]:
        """`document` with its personal part."""
        held = getattr(self, "personal_data", None)
        return personal.join(self.document, held.document if held else {})

    def save(
        self,
        *,
        force_insert: bool | tuple[Any, ...] = False,
        force_update: bool = False,
        using: str | None = None,
        update_fields: Iterable[str] | None = None,
    ) -> None:
        """Refuses to overwrite state: an instance read outside the order's lock may be stale (A.12).

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
        """Reads the row again, and forgets what was parsed from the old one."""
        self.__dict__.pop("snapshot", None)
        super().refresh_from_db(*args, **kwargs)


class OrderItem(Row):
    """An item of an order (ITM-01 to ITM-08)."""

    # Without an index of its own: the unique constraint begins with it.
    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="items", db_index=False)
    position = models.PositiveSmallIntegerField()
    item_id = IdentifierField(blank=True, default="")
    sku = IdentifierField(blank=True, default="")
    name = models.TextField(blank=True, default="")
    description = models.TextField(blank=True, default="")
    images = models.JSONField(default=list, blank=True)
    metadata = DocumentField()
    code = IdentifierField(
        blank=True, default="", db_index=True, help_text=_("Activation code of a game key.")
    )
    platform = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        verbose_name = _("order item")
        verbose_name_plural = _("order items")
        ordering = ["order", "position"]
        constraints = [models.UniqueConstraint(fields=["order", "position"], name="ci_item_position")]

    def __str__(self) -> str:
        return self.sku or self.item_id or str(self.position)

    @property
    def document(self) -> dict[str, Any]:
        """The item as the service sent it, unknown fields included: its part of the order's document."""
        document: dict[str, Any] = self.order.document["items"][self.position]
        return document


class Refund(Row):
    """One refund or chargeback of an order (RFD-01 to RFD-06): a reversal document, or what a notification states.

    A reversal document is an item of the transaction list with an id of its own. One that is seen before its order has no
    ``order`` yet: it is never taken for a payment. What a notification states has a row only while no document is known.
    """

    key = models.CharField(max_length=32, editable=False)
    project = IdentifierField(max_length=64)
    order = models.ForeignKey(Order, null=True, blank=True, on_delete=models.PROTECT, related_name="refunds")
    document_id = IdentifierField(
        blank=True, default="", help_text=_("The reversal document's own id, if it has one.")
    )
    transaction = IdentifierField(blank=True, default="")
    status = models.CharField(max_length=16, default=OrderStatus.REFUNDED.value)
    refunded_at = InstantField(null=True, blank=True)
    amount = MoneyField()
    currency = CurrencyField()
    reason = models.TextField(blank=True, default="")
    code = models.CharField(max_length=255, blank=True, default="")
    receipt_number = IdentifierField(blank=True, default="")
    document = DocumentField()
    observed_at = InstantField(null=True, blank=True)
    recorded_at = InstantField(auto_now_add=True)

    class Meta:
        verbose_name = _("refund")
        verbose_name_plural = _("refunds")
        constraints = [models.UniqueConstraint(fields=["key"], name="ci_refund_key")]
        indexes = [models.Index(fields=["project", "transaction"], name="ci_refund_transaction")]

    def __str__(self) -> str:
        return self.document_id or str(self.order)

    @property
    def receipt_url(self) -> str:
        """RFD-06, read from the order's personal data, so that it is erased with it; "" where it is not known."""
        told = self.order.refund if self.order else None
        return (told.receipt_url if told else None) or ""


class PersonalData(Row):
    """The personal part of an order's document, apart from it, so that one command can erase it.

    ``erased_at`` is a tombstone: it wins over every later observation.
    """

    order = models.OneToOneField(Order, on_delete=models.CASCADE, related_name="personal_data")
    document = DocumentField()
    email = models.CharField(max_length=255, blank=True, default="", db_index=True)
    last4 = models.CharField(max_length=4, blank=True, default="")
    erased_at = InstantField(null=True, blank=True)

    class Meta:
        verbose_name = _("personal data")
        verbose_name_plural = _("personal data")
        indexes = [models.Index(fields=["last4"], name="ci_personal_last4")]

    def __str__(self) -> str:
        return f"personal data of {self.order_id}"
