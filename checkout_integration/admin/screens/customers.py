"""Customers, as the service knows them, found by id or e-mail, with the buttons to link, export and erase one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.admin.screens.link_account import LINK
from checkout_integration.admin.screens.orders_inline import OrdersInline
from checkout_integration.admin.screens.personal_data import ERASE, EXPORT
from checkout_integration.admin.site import (
    DateFilter,
    ProjectFilter,
    SearchedAdmin,
    Value,
    Viewer,
    of_account,
    within,
)
from checkout_integration.models import CheckoutUser

if TYPE_CHECKING:
    Customers: TypeAlias = QuerySet[CheckoutUser]

PERSONAL: Final = (
    *("name", "email", "phone", "ip", "locale", "address", "metadata"),
    *("notify_new_region", "notify_new_region_email"),
)


@admin.register(CheckoutUser)
class CustomerAdmin(SearchedAdmin):
    """The customer's ids, the linked account, and their orders."""

    list_display = ("customer", "user_id", "account", "recorded_at")
    list_filter = (ProjectFilter, ("recorded_at", DateFilter))
    ordering = ("-recorded_at", "-pk")
    csv_columns = ("external_id", "user_id", "project", "account_id", "recorded_at", "erased_at")
    list_select_related = ("account",)
    search_fields = ("external_id", "user_id")
    search_help_text = gettext_lazy(
        "The customer's id in this shop, or at the service. With the permission to see personal data: an e-mail address, or "
        "the login name of the account."
    )
    page_related = ("account",)
    fieldsets = (
        (None, {"fields": ("external_id", "user_id", "account", "project", "recorded_at", "erased_at")}),
        (gettext_lazy("From the latest order and user.validate"), {"fields": PERSONAL}),
    )
    inlines = (OrdersInline,)
    headings = {
        "customer": gettext_lazy("id in this shop"),
        "external_id": gettext_lazy("id in this shop"),
        "user_id": gettext_lazy("id at the service"),
        "recorded_at": gettext_lazy("first seen"),
    }
    personal_fields = PERSONAL
    buttons = (LINK, EXPORT, ERASE)

    def get_search_results(
        self, request: HttpRequest, queryset: Customers, search_term: str
    ) -> tuple[Customers, bool]:
        """Return the customers with this id; with this e-mail address or account, too, for those who may see them.

        For others each hit would confirm a guess.
        """
        text = search_term.strip()
        if not text or "\0" in text or not self.viewer(request).sees_personal_data:
            return super().get_search_results(request, queryset, search_term)
        conditions = [Q(external_id=text), Q(user_id=text), *of_account("account", text)]
        if "@" in text:
            conditions.append(Q(orders__personal_data__email=text.lower()))
        return within(queryset, conditions), False

    def customer(self, row: CheckoutUser) -> str:
        """Return the customer's id in this shop, or else at the service."""
        return str(row)

    def address(self, row: CheckoutUser) -> str:
        """Return the address in one line."""
        return ", ".join(map(str, row.address.document.values())) if row.address else ""

    def note(self, viewer: Viewer, row: CheckoutUser) -> Value:
        """Say that the data was erased, or that it is hidden."""
        if row.erased_at:
            return _("The personal data of this customer was erased.")
        return super().note(viewer, row)
