"""Customers, as the service knows them."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.admin.chapters import shown_value
from checkout_integration.admin.display import NOTHING, hidden, moment, short, visible
from checkout_integration.admin.erasing import ERASE
from checkout_integration.admin.filters import ProjectFilter
from checkout_integration.admin.order_table import order_table
from checkout_integration.admin.page import Page, Value, chapter
from checkout_integration.admin.pressing import ButtonScreen
from checkout_integration.admin.viewer import Viewer
from checkout_integration.models import CheckoutUser, Order

PERSONAL = (
    *("name", "email", "phone", "ip", "locale", "address", "metadata"),
    *("notify_new_region", "notify_new_region_email"),
)


@admin.register(CheckoutUser)
class CustomerScreen(ButtonScreen):
    """Who buys here."""

    list_display = ("customer", "service_id", "shop_account", "recorded")
    list_filter = (ProjectFilter, ("recorded_at", admin.DateFieldListFilter))
    list_select_related = ("account",)
    search_fields = ("external_id", "user_id")
    search_help_text = gettext_lazy("The customer's id in this shop, or at the service.")
    related = ("account",)
    buttons = (ERASE,)

    def search_conditions(self, text: str) -> list[Q]:
        """What the search box looks for."""
        return [Q(external_id=text), Q(user_id=text)]

    def page(self, viewer: Viewer, row: CheckoutUser) -> Page:
        """The customer's page."""
        return Page(
            note=self._note(viewer, row),
            chapters=[
                chapter(
                    _("Customer"),
                    [
                        (_("id in this shop"), visible(row.external_id)),
                        (_("id at the service"), visible(row.user_id)),
                        (_("account"), short(row.account) if row.account else ""),
                        (_("project"), visible(row.project)),
                        (_("first heard of"), moment(row.recorded_at)),
                        (_("erased"), moment(row.erased_at)),
                    ],
                ),
                chapter(_("As their latest order and user.validate say"), self._told(viewer, row)),
            ],
            tables=[order_table(viewer, Order.objects.filter(user=row))],
        )

    def _told(self, viewer: Viewer, row: CheckoutUser) -> list[tuple[str, Value]]:
        told = [(name, getattr(row, name)) for name in PERSONAL]
        sees = viewer.sees_personal_data
        return [(name, shown_value(name, value) if sees else hidden()) for name, value in told if value]

    def _note(self, viewer: Viewer, row: CheckoutUser) -> str:
        if row.erased_at:
            return _("The personal data of this customer was erased.")
        if not viewer.sees_personal_data:
            return _("Personal data is hidden: you need the permission “Can see personal data of customers”.")
        return ""

    @admin.display(description=gettext_lazy("id in this shop"))
    def customer(self, row: CheckoutUser) -> str:
        """The customer's id in this shop, or else at the service."""
        return short(row)

    @admin.display(description=gettext_lazy("id at the service"))
    def service_id(self, row: CheckoutUser) -> str:
        """The customer's id at the service."""
        return short(row.user_id)

    @admin.display(description=gettext_lazy("account"))
    def shop_account(self, row: CheckoutUser) -> str:
        """The linked account of this shop."""
        return short(row.account) if row.account else NOTHING

    @admin.display(description=gettext_lazy("first heard of"))
    def recorded(self, row: CheckoutUser) -> Value:
        """When the first order of this customer came."""
        return moment(row.recorded_at)
