"""The shop's sale."""

from __future__ import annotations

import secrets
from decimal import Decimal
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.contenttypes.fields import GenericForeignKey
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.columns import (
    CurrencyField,
    DocumentField,
    IdentifierField,
    InstantField,
    MoneyField,
)
from checkout_integration.models.row import Row
from checkout_integration.policy.binding import Sale

if TYPE_CHECKING:
    from checkout_integration.models.order import Order


def new_reference() -> str:
    """An unguessable reference: 128 random bits as 32 hex digits."""
    return secrets.token_hex(16)


class Checkout(Row):
    """A sale of this shop: what was asked for, by whom, at what price.

    It is committed before the service is called, and its ``reference`` travels in the order's metadata: a payment is
    compared with this row before goods are granted (`policy.verdict`).

    With ``erased_at`` its buyer was erased: no order that comes for it brings anything personal back.
    """

    class Status(models.TextChoices):
        """States of a checkout. ``unknown``: the service may or may not have made the order, the sync finds it.

        ``new``, ``unknown`` and ``failed`` hold until an order is known; then the orders decide (`policy.fulfilment`).
        """

        NEW = "new", _("new")
        UNKNOWN = "unknown", _("unknown")
        OPEN = "open", _("open")
        REVIEW = "review", _("in review")
        PAID = "paid", _("paid")
        REVERSED = "reversed", _("reversed")
        CANCELLED = "cancelled", _("cancelled")
        FAILED = "failed", _("failed")

    PAYABLE = (Status.NEW, Status.UNKNOWN, Status.OPEN)
    """States in which the hosted form is offered: no payment has come yet."""

    reference = IdentifierField(max_length=64, unique=True, default=new_reference, editable=False)
    project = IdentifierField(max_length=64, help_text=_("Alias of the project in the settings."))
    type = models.CharField(max_length=32)
    expected_amount = MoneyField()
    currency = CurrencyField()
    products = models.JSONField(default=list, blank=True)
    virtual_currency_amount = MoneyField()
    platform_id = models.CharField(max_length=32, blank=True, default="")
    description = models.CharField(max_length=255, blank=True, default="")
    metadata = DocumentField()
    test = models.BooleanField(
        default=False, help_text=_("Takes test payments, and nothing but test payments.")
    )
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.NEW)

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="checkouts"
    )
    identity = models.CharField(
        max_length=32,
        blank=True,
        default="",
        editable=False,
        help_text=_("By which the buyer's sales are found; empty for a guest."),
    )
    # Without an index of its own: that of the subject begins with it.
    subject_type = models.ForeignKey(
        ContentType, null=True, blank=True, on_delete=models.SET_NULL, db_index=False
    )
    subject_id = IdentifierField(max_length=64, blank=True, default="")
    subject = GenericForeignKey("subject_type", "subject_id")

    order_id = IdentifierField(
        blank=True, default="", help_text=_("The service's id of the order that was created.")
    )
    payment_form_url = models.TextField(blank=True, default="")
    paid_order = models.ForeignKey(
        "checkout_integration.Order",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="paid_checkouts",
    )
    failure = models.CharField(
        max_length=255, blank=True, default="", help_text=_("Why the sale has no form.")
    )
    recorded_at = InstantField(auto_now_add=True)
    paid_at = InstantField(null=True, blank=True)
    asked_at = InstantField(
        null=True,
        blank=True,
        editable=False,
        help_text=_("When the return page asked the service for the order."),
    )
    erased_at = InstantField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = _("checkout")
        verbose_name_plural = _("checkouts")
        indexes = [
            models.Index(fields=["project", "order_id"], name="ci_checkout_order"),
            models.Index(fields=["status", "recorded_at"], name="ci_checkout_status"),
            models.Index(fields=["subject_type", "subject_id"], name="ci_checkout_subject"),
            models.Index(fields=["identity"], name="ci_checkout_identity"),
        ]

    def __str__(self) -> str:
        return self.reference

    @property
    def sale(self) -> Sale:
        """This row as the value that payments are compared with."""
        return Sale(
            primary_key=self.pk,
            project=self.project,
            reference=self.reference,
            order_id=self.order_id,
            type=self.type,
            expected_amount=self.expected_amount,
            currency=self.currency,
            products=tuple(self.products),
            virtual_currency_amount=self.virtual_currency_amount,
            test=self.test,
        )

    processing = False
    """Whether a notification of it is stored and not applied yet: what it says may be a payment (`flows.apply_for`)."""

    @property
    def is_payable(self) -> bool:
        """Whether the customer may still be sent to the hosted form."""
        return self.status in self.PAYABLE and not self.processing

    @property
    def shown_status(self) -> str:
        """The status for the customer: ``processing`` while something is to be applied that may change it."""
        return "processing" if self.processing and self.status in self.PAYABLE else self.status

    @property
    def latest_order(self) -> Order | None:
        """The order that paid, else the latest one: "try again" on the form makes a new order of the same sale."""
        return self.paid_order or self.orders.order_by("pk").last()

    @property
    def price(self) -> tuple[Decimal, str] | None:
        """Amount and currency that the shop asked for, None where the service sets the price."""
        return (self.expected_amount, self.currency) if self.expected_amount is not None else None


class Grant(Row):
    """Goods that were granted for a payment; the shop's signals follow these rows, which are never pruned.

    Each opening sends ``checkout_paid`` once and each closing ``checkout_reversed`` once. All payments of a checkout share a
    grant; a renewal, and an accepted order without a checkout, have one of their own. A payment that stands after the grant
    was closed opens another one, with the next ``number``.
    """

    class State(models.TextChoices):
        """``open``: a payment for it stands."""

        OPEN = "open", _("open")
        CLOSED = "closed", _("closed")

    key = models.CharField(max_length=32, editable=False)
    project = IdentifierField(max_length=64)
    checkout = models.ForeignKey(
        Checkout, null=True, blank=True, on_delete=models.PROTECT, related_name="grants"
    )
    order = models.ForeignKey(
        "checkout_integration.Order",
        on_delete=models.PROTECT,
        related_name="grants",
        help_text=_("The order that pays for it, or paid last."),
    )
    number = models.PositiveIntegerField(default=1)
    renewal = models.BooleanField(default=False)
    state = models.CharField(max_length=16, choices=State.choices, default=State.OPEN)
    begun = models.JSONField(
        default=list, blank=True, help_text=_("Receivers of checkout_paid that were started.")
    )
    completed = models.JSONField(
        default=list, blank=True, help_text=_("Receivers of checkout_paid that completed.")
    )
    opened_at = InstantField(auto_now_add=True)
    closed_at = InstantField(null=True, blank=True)

    class Meta:
        verbose_name = _("grant")
        verbose_name_plural = _("grants")
        constraints = [models.UniqueConstraint(fields=["key"], name="ci_grant_key")]

    def __str__(self) -> str:
        return f"{self.checkout or self.order} ({self.number})"
