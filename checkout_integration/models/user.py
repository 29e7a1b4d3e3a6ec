"""The customer, as the service knows them."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Any

from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.attributes import SnapshotAttribute
from checkout_integration.models.columns import (
    Column,
    DocumentField,
    IdentifierField,
    InstantField,
    account_column,
    of_present,
    optional_instant,
    searched,
)
from checkout_integration.models.row import Row
from checkout_integration.policy.validated import with_validated
from checkout_integration.protocol import user as documents


class CheckoutUser(Row):
    """A customer of a project (the specification's User).

    Found by (project, external_id) where that is not empty, else by (project, user_id). Personal data is stored with the
    orders (`PersonalData`); attributes such as ``name`` and ``email`` read the customer's latest order. Fields of
    user.validate alone (USR-13, USR-14) are in ``validated``.

    A row with ``erased_at`` is a tombstone: its ids are empty, and its ``identity`` is a keyed hash that recognises the
    customer, so that no personal data of later observations is stored. A block stays on it.
    """

    project = IdentifierField(max_length=64)
    identity: Column[str] = models.CharField(max_length=32, editable=False)
    external_id = IdentifierField(blank=True, default="", help_text=_("The customer's id in this shop."))
    user_id = IdentifierField(blank=True, default="", help_text=_("The customer's id at the service."))
    account = account_column("checkout_users")
    linked_at: Column[datetime | None] = optional_instant(
        _("Since when the account owns what the customer bought as a guest: staff have linked them.")
    )
    validated: Column[dict[str, Any]] = DocumentField(editable=False)
    blocked_at: Column[datetime | None] = optional_instant(_("Since when staff have blocked the customer."))
    recorded_at: Column[datetime] = InstantField(auto_now_add=True)
    erased_at: Column[datetime | None] = optional_instant()

    email = SnapshotAttribute[str]()
    email_verified = SnapshotAttribute[bool]()
    name = SnapshotAttribute[str]()
    phone = SnapshotAttribute[str]()
    phone_verified = SnapshotAttribute[bool]()
    ip = SnapshotAttribute[str]()
    locale = SnapshotAttribute[str]()
    address = SnapshotAttribute[documents.Address]()
    metadata = SnapshotAttribute[dict[str, str]]()
    notify_new_region = SnapshotAttribute[bool]()
    notify_new_region_email = SnapshotAttribute[str]()

    class Meta:
        verbose_name = _("customer")
        verbose_name_plural = _("customers")
        constraints = [models.UniqueConstraint(fields=["project", "identity"], name="ci_user_identity")]
        indexes = [
            searched("external_id", "ci_user_external_id"),
            models.Index(fields=["user_id"], name="ci_user_user_id"),
            of_present("account", name="ci_user_account"),
            models.Index(fields=["recorded_at"], name="ci_user_recorded"),
            # The tombstones of one person are found by their time.
            of_present("erased_at", name="ci_user_erased"),
            of_present("blocked_at", name="ci_user_blocked"),
        ]
        permissions = [
            ("erase_customer", _("Can erase the personal data of customers")),
            ("export_customer", _("Can export everything that is stored about a customer")),
            ("block_customer", _("Can block customers, and lift a block")),
            ("link_account", _("Can link a customer to an account of the shop")),
        ]

    def __str__(self) -> str:
        return self.external_id or self.user_id or (gettext("erased customer") if self.erased_at else "")

    @cached_property
    def snapshot(self) -> documents.User:
        """The customer as their latest order and user.validate describe them."""
        latest: Any = self.orders.select_related("personal_data").order_by("-created_at", "-pk").first()
        user = latest.snapshot.user if latest else None
        document = dict(user.document) if user else {}
        if self.user_id and not document.get("id"):
            document["id"] = self.user_id  # a row of the list has none
        return documents.parse_user(with_validated(document, latest.stamps if latest else {}, self.validated))
