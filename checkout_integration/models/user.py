"""The customer, as the service knows them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.conf import settings
from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from checkout_integration.models.attributes import SnapshotAttribute
from checkout_integration.models.columns import DocumentField, IdentifierField, InstantField
from checkout_integration.models.row import Row
from checkout_integration.policy.validated import with_validated
from checkout_integration.protocol import user as documents


class CheckoutUser(Row):
    """A customer of a project (the specification's User).

    Found by (project, external_id) where that is not empty, else by (project, user_id). What is personal is kept with the
    orders (`PersonalData`); attributes such as ``name`` and ``email`` read the customer's latest order. What only
    user.validate says (USR-13, USR-14) is in ``validated``.

    A row with ``erased_at`` is a tombstone: its ids are empty, its ``identity`` is a keyed hash by which the customer is
    known again, so that nothing personal is kept of any later news.
    """

    project = IdentifierField(max_length=64)
    identity = models.CharField(max_length=32, editable=False)
    external_id = IdentifierField(blank=True, default="", help_text=_("The customer's id in this shop."))
    user_id = IdentifierField(blank=True, default="", help_text=_("The customer's id at the service."))
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="checkout_users",
    )
    validated = DocumentField(editable=False)
    recorded_at = InstantField(auto_now_add=True)
    erased_at = InstantField(null=True, blank=True)

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
        verbose_name = _("user")
        verbose_name_plural = _("users")
        constraints = [models.UniqueConstraint(fields=["project", "identity"], name="ci_user_identity")]
        indexes = [
            models.Index(fields=["external_id"], name="ci_user_external_id"),
            models.Index(fields=["user_id"], name="ci_user_user_id"),
        ]
        permissions = [("erase_customer", _("Can erase the personal data of customers"))]

    def __str__(self) -> str:
        return self.external_id or self.user_id or (gettext("erased customer") if self.erased_at else "")

    @cached_property
    def snapshot(self) -> documents.User:
        """The customer as their latest order and user.validate describe them."""
        latest: Any = self.orders.select_related("personal_data").order_by("-created_at", "-pk").first()
        user = latest.snapshot.user if latest else None
        document = user.document if user else {}
        return documents.parse_user(with_validated(document, latest.stamps if latest else {}, self.validated))
