"""The shop's checkouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.admin.screens.orders_inline import OrdersInline
from checkout_integration.admin.site import (
    CHECKOUT_STATUSES,
    LIVE,
    TEST,
    DateFilter,
    OriginFilter,
    ProjectFilter,
    ReadOnlyAdmin,
    StateLabel,
    Value,
    copyable,
    flag_filter,
    label_filter,
    money,
    of_account,
    visible,
    within,
)
from checkout_integration.display import form_link
from checkout_integration.models import Checkout

if TYPE_CHECKING:
    Checkouts: TypeAlias = QuerySet[Checkout]


@admin.register(Checkout)
class CheckoutAdmin(ReadOnlyAdmin):
    """Checkouts: their content, customer, price, and paying order."""

    list_display = ("reference", "status", "mode", "price", "user", "order", "origin", "recorded_at")
    list_filter = (
        label_filter("status", gettext_lazy("status"), CHECKOUT_STATUSES),
        flag_filter("test", gettext_lazy("mode"), gettext_lazy("test"), gettext_lazy("live")),
        ProjectFilter,
        OriginFilter,
        ("recorded_at", DateFilter),
    )
    csv_columns = (
        *(
            "reference",
            "project",
            "status",
            "failure",
            "test",
            "type",
            "expected_amount",
            "currency",
            "description",
        ),
        *(
            "platform_id",
            "virtual_currency_amount",
            "order_id",
            "paid_order__order_id",
            "recorded_at",
            "paid_at",
        ),
        *("user_id", "subject_type__model", "subject_id"),
    )
    list_select_related = ("user", "paid_order")
    list_deferred = (
        *("products", "metadata", "payment_form_url"),
        *("paid_order__document", "paid_order__facts", "paid_order__stamps", "paid_order__conflicts"),
    )
    ordering = ("-recorded_at", "-pk")
    sortable = {"recorded_at": "recorded_at"}
    search_fields = ("reference", "order_id")
    search_help_text = gettext_lazy(
        "Checkout reference or order id. With the permission to see personal data: the login name of the account."
    )
    page_related = ("user", "subject_type", "paid_order")
    fieldsets = (
        (None, {"fields": ("status", "failure", "mode", "price", "paid_order", "paid_at")}),
        (gettext_lazy("Payment form"), {"fields": ("payment_form", "payment_form_url", "order_id")}),
        (
            gettext_lazy("Content"),
            {
                "fields": (
                    "type",
                    "description",
                    "products_sold",
                    "virtual_currency",
                    "platform_id",
                    "metadata",
                )
            },
        ),
        (
            gettext_lazy("In this shop"),
            {"fields": ("reference", "project", "user", "subject", "origin", "recorded_at")},
        ),
    )
    inlines = (OrdersInline,)
    headings = {
        "mode": gettext_lazy("mode"),
        "price": gettext_lazy("price"),
        "user": gettext_lazy("account"),
        "order": gettext_lazy("order"),
        "origin": gettext_lazy("origin"),
        "paid_order": gettext_lazy("paid by order"),
        "payment_form": gettext_lazy("payment form"),
        "payment_form_url": gettext_lazy("address"),
        "order_id": gettext_lazy("order of the form"),
        "products_sold": gettext_lazy("products"),
        "virtual_currency": gettext_lazy("virtual currency"),
        "subject": gettext_lazy("belongs to"),
        "recorded_at": gettext_lazy("created"),
    }
    labels = {"status": CHECKOUT_STATUSES}
    personal_fields = ("payment_form_url",)

    def get_search_results(
        self, request: HttpRequest, queryset: Checkouts, search_term: str
    ) -> tuple[Checkouts, bool]:
        """Return the checkouts that the text names; those of an account for viewers who may see personal data."""
        text = search_term.strip()
        if not text or not self.viewer(request).sees_personal_data:
            return super().get_search_results(request, queryset, search_term)
        named = [Q((name, text)) for name in self.search_fields]
        return within(queryset, [*named, *of_account("user", text)]), False

    def mode(self, row: Checkout) -> StateLabel:
        """Return TEST or LIVE."""
        return TEST if row.test else LIVE

    def price(self, row: Checkout) -> str:
        """Return the price; "–" where the service sets it."""
        return money(row.expected_amount, row.currency)

    def order(self, row: Checkout) -> str:
        """Return the id of the order that paid; if none has paid, the id of the order that was created for the form."""
        return row.paid_order.order_id if row.paid_order else row.order_id

    def origin(self, row: Checkout) -> str:
        """Return where the customer came from, as the shop says."""
        return visible(row.origin)

    def payment_form(self, row: Checkout) -> str:
        """Return whether the customer can pay."""
        if not row.payment_form_url:
            return _("There is no payment form.")
        if not row.is_payable:
            return _("There is nothing left to pay in the form.")
        return _("The customer can pay in this form.")

    def payment_form_url(self, row: Checkout) -> Value:
        """Return the address of the form, to copy; it may contain a token. "" when there is nothing left to pay."""
        address = form_link(row)
        return copyable(address, _("Address of the payment form")) if address else ""

    def products_sold(self, row: Checkout) -> str:
        """Return the products. The service may set their price."""
        return ", ".join(map(str, row.products))

    def virtual_currency(self, row: Checkout) -> str:
        """Return the amount of virtual currency that was sold."""
        return money(row.virtual_currency_amount, "")

    def subject(self, row: Checkout) -> str:
        """Return the shop's own object without loading it: its class may be gone."""
        kind = row.subject_type
        return f"{kind.app_label}.{kind.model} {visible(row.subject_id)}" if kind else ""
