"""The shop's checkouts and grants."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.contrib.contenttypes.fields import GenericForeignKey
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.attribution import Attributed
from checkout_integration.models.columns import (
    BEGINNINGS,
    Column,
    CurrencyField,
    DocumentField,
    IdentifierField,
    InstantField,
    ListField,
    MoneyField,
    account_column,
    of_present,
    optional_instant,
    optional_row,
)
from checkout_integration.models.row import NearQuerySet, Row
from checkout_integration.policy.binding import CheckoutValue

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.db.models.fields.related_descriptors import RelatedManager

    from checkout_integration.models.order import Order


def new_reference() -> str:
    """Return an unguessable reference: 128 random bits as 32 hex digits."""
    return secrets.token_hex(16)


class CheckoutQuerySet(NearQuerySet["Checkout"]):
    """A shop's queries of its checkouts."""

    def owned_by(
        self, account: AbstractBaseUser | AnonymousUser, product: str | models.Model | None = None
    ) -> Self:
        """Return the paid checkouts that an account owns: of everything, or of one product.

        It owns what it bought and did not give away, and what others gave to it (`Checkout.owner`). ``product`` is an
        identifier in ``products``, or the shop's own object, the ``subject``. A payment counts once it is verified or
        accepted. After a refund in full or a chargeback the checkout counts no longer; after a partial refund it does.
        What was sold for some days counts until they are over (`Checkout.owned_until`). A guest owns nothing, until they
        claim it, or staff link them to an account: then it owns what they bought.
        """
        if account.pk is None:
            return self.none()
        paid = models.Q(status=Checkout.Status.PAID)  # in both parts: each is then found by its own index
        bought = models.Q(user=account.pk, gift=False) & paid
        given = models.Q(recipient=account.pk) & paid
        owned = self.filter(bought | given).exclude(owned_until__lte=datetime.now(UTC))
        if product is None:
            return owned
        if isinstance(product, str):
            return owned.filter(products__lists=product)
        subject_type = ContentType.objects.get_for_model(product)
        return owned.filter(subject_type=subject_type, subject_id=str(product.pk))

    def owns(self, account: AbstractBaseUser | AnonymousUser, product: str | models.Model) -> bool:
        """Return whether an account owns a product: whether `owned_by` has a checkout."""
        return self.owned_by(account, product).exists()


class Checkout(Attributed):
    """One thing to be sold by this shop: its products or amount, its customer, its price.

    It is committed before the service is called, and its ``reference`` travels in the order's metadata: a payment is
    compared with this row before goods are granted (`policy.verdict`).

    With ``erased_at`` its customer was erased: no later order brings personal data back.
    """

    class Status(models.TextChoices):
        """States of a checkout. ``unknown``: the service may have created the order; the sync finds it.

        Until an order is known it is ``new``, ``unknown``, ``failed`` or, with a token, ``open``; then the orders decide
        (`policy.fulfilment`).
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

    reference = IdentifierField(max_length=64, default=new_reference, editable=False)
    project = IdentifierField(max_length=64, help_text=_("Alias of the project in the settings."))
    type: Column[str] = models.CharField(max_length=32)
    expected_amount = MoneyField(currency="currency")
    currency = CurrencyField()
    products: Column[Sequence[str]] = ListField(default=list, blank=True)
    virtual_currency_amount = MoneyField()
    platform_id: Column[str] = models.CharField(max_length=32, blank=True, default="")
    description: Column[str] = models.CharField(max_length=255, blank=True, default="")
    metadata: Column[Mapping[str, str]] = DocumentField()
    test: Column[bool] = models.BooleanField(
        default=False, help_text=_("Takes test payments, and nothing but test payments.")
    )
    status: Column[str] = models.CharField(max_length=16, choices=Status.choices, default=Status.NEW)

    # Without indexes of their own: those by which an account's paid checkouts are found begin with them.
    user = account_column("checkouts")
    gift: Column[bool] = models.BooleanField(
        default=False,
        editable=False,
        help_text=_("Whether it was bought for another account, so that its buyer does not own it."),
    )
    recipient = account_column()
    by_link: Column[bool] = models.BooleanField(
        default=False,
        editable=False,
        help_text=_("Whether its account owns it by a link of staff to the guest who bought it."),
    )
    identity: Column[str] = models.CharField(
        max_length=32,
        blank=True,
        default="",
        editable=False,
        help_text=_("Key by which the customer's checkouts are found; empty for a guest."),
    )
    idempotency_key: Column[str | None] = models.CharField(
        max_length=32,
        null=True,
        blank=True,
        editable=False,
        help_text=_("By which the same request finds this checkout again, and makes no second one."),
    )
    # Without an index of its own: that of the subject begins with it.
    subject_type: Column[ContentType | None] = optional_row(ContentType, models.SET_NULL, db_index=False)
    subject_id = IdentifierField(max_length=64, blank=True, default="")
    subject = GenericForeignKey("subject_type", "subject_id")

    order_id = IdentifierField(
        blank=True, default="", help_text=_("The service's id of the order that was created.")
    )
    payment_form_url: Column[str] = models.TextField(blank=True, default="")
    paid_order: Column[Order | None] = optional_row("Order", models.PROTECT, "paid_checkouts", db_index=False)
    failure: Column[str] = models.CharField(
        max_length=255, blank=True, default="", help_text=_("Why the checkout has no form.")
    )
    recorded_at: Column[datetime] = InstantField(auto_now_add=True)
    paid_at: Column[datetime | None] = optional_instant()
    lasts_days: Column[int | None] = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text=_("Days for which each payment lasts; without them it lasts for ever."),
    )
    grace_days: Column[int] = models.PositiveSmallIntegerField(
        default=0, help_text=_("Days for which it is owned after them, so that a renewal may come late.")
    )
    owned_until: Column[datetime | None] = optional_instant(
        _(
            "Until when it is owned by the payments that stand, grace included, where they last for some days."
        ),
        editable=False,
    )
    refreshed_at: Column[datetime | None] = optional_instant(
        _("When the return page last refreshed the order from the service."), editable=False
    )
    claimed_at: Column[datetime | None] = optional_instant(
        _("When its account claimed it on the return page, as a guest's purchase."), editable=False
    )
    erased_at: Column[datetime | None] = optional_instant(editable=False)

    objects: ClassVar[CheckoutQuerySet] = CheckoutQuerySet.as_manager()  # type: ignore[assignment]  # as in `Order`

    # Rows that refer to it, for type checkers that have no plug-in for Django.
    orders: RelatedManager[Order]
    grants: RelatedManager[Grant]

    class Meta:
        verbose_name = _("checkout")
        verbose_name_plural = _("checkouts")
        # Unique by a constraint: a unique column of text has a second index on PostgreSQL, for how it begins.
        constraints = [
            models.UniqueConstraint(
                fields=["reference"], name="ci_checkout_reference", opclasses=[BEGINNINGS]
            ),
            models.UniqueConstraint(fields=["idempotency_key"], name="ci_checkout_once"),
            # A gift stays one when the account of its recipient is deleted: the buyer does not get it.
            models.CheckConstraint(
                condition=models.Q(recipient__isnull=True) | models.Q(gift=True), name="ci_checkout_gift"
            ),
        ]
        permissions = [("delete_test_data", _("Can delete all test data"))]
        indexes = [
            models.Index(fields=["order_id"], name="ci_checkout_order"),
            models.Index(fields=["status", "recorded_at"], name="ci_checkout_status"),
            # Of rows that have one; MariaDB has no such indexes, and makes whole ones.
            of_present("subject_type", "subject_id", name="ci_checkout_subject"),
            models.Index(fields=["identity"], name="ci_checkout_identity"),
            of_present("user", "status", name="ci_checkout_owned"),
            of_present("recipient", "status", name="ci_checkout_given"),
            # Of the admin's filters: few rows are tests, and days are ranges of the time.
            models.Index(
                fields=["test", "recorded_at"], name="ci_checkout_test", condition=models.Q(test=True)
            ),
            models.Index(fields=["recorded_at"], name="ci_checkout_recorded"),
            of_present("owned_until", name="ci_checkout_until"),
        ]

    def __str__(self) -> str:
        return self.reference

    @property
    def value(self) -> CheckoutValue:
        """This row as the value that payments are compared with."""
        return CheckoutValue(
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
    """Whether a notification about it is stored and not applied yet: it may be a payment (`flows.inbox.apply_for`)."""

    @property
    def is_payable(self) -> bool:
        """Whether the customer may still be sent to the hosted form."""
        return self.status in self.PAYABLE and not self.processing

    @property
    def shown_status(self) -> str:
        """The status for the customer: ``processing`` while something is to be applied that may change it."""
        return "processing" if self.processing and self.status in self.PAYABLE else self.status

    @property
    def has_ended(self) -> bool:
        """Whether what was paid for is over, because no renewal came."""
        return self.owned_until is not None and self.owned_until <= datetime.now(UTC)

    @property
    def paid_until(self) -> datetime | None:
        """Until when it is paid: `owned_until` without the grace. None where that is None."""
        return self.owned_until and self.owned_until - timedelta(days=self.grace_days)

    @property
    def renewed_at(self) -> datetime | None:
        """When the last payment that stands was made, of a checkout whose payments last for some days."""
        return self.paid_until and self.paid_until - timedelta(days=self.lasts_days or 0)

    @property
    def owner_id(self) -> Any:
        """The primary key of `owner`."""
        return self.recipient_id if self.gift else self.user_id

    @property
    def owner(self) -> Any:
        """The account to which the goods belong: the recipient of a gift, else the buyer.

        None for a guest, and where the recipient's account was deleted.
        """
        return self.recipient if self.gift else self.user

    @property
    def latest_order(self) -> Order | None:
        """The order that paid, else the latest one: "try again" on the form makes a new order of the same checkout."""
        return self.paid_order or self.orders.order_by("pk").last()

    @property
    def price(self) -> tuple[Decimal, str] | None:
        """Amount and currency that the shop set, None where the service sets the price."""
        return (self.expected_amount, self.currency) if self.expected_amount is not None else None


class Grant(Row):
    """Goods that were granted for a payment; the shop's signals follow these rows, which are never pruned.

    Each opening sends ``checkout_paid`` once and each closing ``checkout_reversed`` once. All payments of a checkout share a
    grant; a renewal, and an accepted order without a checkout, have one of their own. A payment that stands after the grant
    was closed opens another one, with the next ``number``.

    The runs of ``checkout_paid`` show which receivers began and completed. ``begun`` and ``completed`` are for receivers
    without such a run: code that deletes or restarts a run first writes the run's receiver there.
    """

    class State(models.TextChoices):
        """``open``: a payment for it is valid."""

        OPEN = "open", _("open")
        CLOSED = "closed", _("closed")

    key: Column[str] = models.CharField(max_length=32, editable=False)
    project = IdentifierField(max_length=64)
    checkout: Column[Checkout | None] = optional_row(Checkout, models.PROTECT, "grants")
    order: Column[Order] = models.ForeignKey(
        "checkout_integration.Order",
        on_delete=models.PROTECT,
        related_name="grants",
        help_text=_("The order that pays for it, or paid last."),
    )
    number: Column[int] = models.PositiveIntegerField(default=1)
    renewal: Column[bool] = models.BooleanField(default=False)
    state: Column[str] = models.CharField(max_length=16, choices=State.choices, default=State.OPEN)
    begun: Column[list[str]] = models.JSONField(
        default=list,
        blank=True,
        help_text=_("Receivers of checkout_paid that were started, if no run shows it."),
    )
    completed: Column[list[str]] = models.JSONField(
        default=list,
        blank=True,
        help_text=_("Receivers of checkout_paid that completed: marked by staff, or if no run shows it."),
    )
    pull: Column[bool] = models.BooleanField(
        default=False,
        help_text=_("Whether a game server fetches and acknowledges it (GOODS, OWNERSHIP_TOKENS)."),
    )
    opened_at: Column[datetime] = InstantField(auto_now_add=True)
    acknowledged_at: Column[datetime | None] = optional_instant(
        _("When a game server acknowledged that it has delivered the goods.")
    )
    closed_at: Column[datetime | None] = optional_instant()

    class Meta:
        verbose_name = _("grant")
        verbose_name_plural = _("grants")
        constraints = [models.UniqueConstraint(fields=["key"], name="ci_grant_key")]
        indexes = [
            # Of health: whether renewals come.
            models.Index(
                fields=["renewal", "opened_at"], name="ci_grant_renewal", condition=models.Q(renewal=True)
            ),
            # Empty in a shop whose goods are not fetched; MariaDB makes a whole one.
            models.Index(
                fields=["project", "acknowledged_at", "opened_at"],
                name="ci_grant_pull",
                condition=models.Q(pull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.checkout or self.order} ({self.number})"

    @property
    def waits_for_server(self) -> bool:
        """Whether a game server is to fetch the goods, and has not acknowledged them."""
        return self.pull and self.state == Grant.State.OPEN and self.acknowledged_at is None
