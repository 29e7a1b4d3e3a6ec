"""Customers, as the service knows them, and the button that erases one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.contrib import admin
from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from checkout_integration import flows
from checkout_integration.admin.screens.link_account import LINK
from checkout_integration.admin.screens.orders_inline import OrdersInline
from checkout_integration.admin.site import Button, ButtonAdmin, ProjectFilter, Refused, Value, Viewer
from checkout_integration.models import CheckoutUser, Order

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

PERSONAL: Final = (
    *("name", "email", "phone", "ip", "locale", "address", "metadata"),
    *("notify_new_region", "notify_new_region_email"),
)


def _erase(row: CheckoutUser | Order, staff: AbstractBaseUser, reason: str) -> StrOrPromise:
    persons = flows.privacy.find_persons(
        **({"customer": row} if isinstance(row, CheckoutUser) else {"order": row})
    )
    if not persons:
        raise Refused(_("There is no data of this customer."))
    erasures = [flows.privacy.erase_customer(person) for person in persons]
    row.refresh_from_db()  # the log of what staff did names the row: by then without the customer
    orders = sum(erasure.orders for erasure in erasures)
    text = ngettext(
        "The customer is erased. %(n)d order remains without personal data.",
        "The customer is erased. %(n)d orders remain without personal data.",
        orders,
    )
    return text % {"n": orders}


def _is_erasable(row: CheckoutUser | Order) -> bool:
    personal = row if isinstance(row, CheckoutUser) else getattr(row, "personal_data", None)
    return personal is None or personal.erased_at is None


ERASE: Final = Button(
    name="erase",
    label=gettext_lazy("Erase the customer"),
    permission="erase_customer",
    question=gettext_lazy(
        "All personal data of this customer is deleted, here and on all their orders in this project: names, addresses, ids, "
        "and the bodies of notifications. Amounts, statuses and times stay. Notifications that arrive later are stored "
        "without the customer's data. This cannot be undone."
    ),
    danger=True,
    offered=_is_erasable,
    act=_erase,
)


@admin.register(CheckoutUser)
class CustomerAdmin(ButtonAdmin):
    """The customer's ids, the linked account, and their orders."""

    list_display = ("customer", "user_id", "account", "recorded_at")
    list_filter = (ProjectFilter, ("recorded_at", admin.DateFieldListFilter))
    list_select_related = ("account",)
    search_fields = ("external_id", "user_id")
    search_help_text = gettext_lazy("The customer's id in this shop, or at the service.")
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
    buttons = (LINK, ERASE)

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
