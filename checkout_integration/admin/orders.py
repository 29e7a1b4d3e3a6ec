"""The list of orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from checkout_integration.admin.binding import BIND
from checkout_integration.admin.display import NOTHING, badge, moment, money, short
from checkout_integration.admin.erasing import ERASE
from checkout_integration.admin.filters import ModeFilter, ProjectFilter, ReceiversFilter, words_filter
from checkout_integration.admin.order_buttons import ACCEPT, CHECK
from checkout_integration.admin.order_page import order_page
from checkout_integration.admin.page import Page, Value
from checkout_integration.admin.pressing import ButtonScreen
from checkout_integration.admin.search import find_orders
from checkout_integration.admin.viewer import Viewer
from checkout_integration.admin.words import ORDER, VERDICT, brief_reason, mode_of, word
from checkout_integration.models import Order

if TYPE_CHECKING:
    Orders = QuerySet[Order]


@admin.register(Order)
class OrderScreen(ButtonScreen):
    """Every order that the service told of."""

    list_display = ("order", "status_words", "paid_amount", "verdict_words", "customer", "created")
    list_filter = (
        words_filter("status", _("status"), ORDER),
        words_filter("verdict", _("verdict"), VERDICT),
        ReceiversFilter,
        ModeFilter,
        ProjectFilter,
        ("created_at", admin.DateFieldListFilter),
    )
    list_select_related = ("user",)
    search_fields = ("order_id",)
    search_help_text = _(
        "Order id, transaction, receipt number, customer's id, e-mail, last four digits of the card, activation code, "
        "or checkout reference: the whole of it, or how it begins."
    )
    search_help_text_masked = _(
        "Order id, transaction, receipt number, customer's id, or checkout reference: the whole of it, or how it begins. "
        "E-mail, card and activation code are searched only with the permission “Can see personal data of customers”."
    )
    unlisted = ("document", "facts", "stamps", "conflicts")
    buttons = (BIND, ACCEPT, CHECK, ERASE)
    related = ("checkout", "checkout__user", "user", "personal_data")

    def page(self, viewer: Viewer, row: Order) -> Page:
        """The order's page."""
        return order_page(row, viewer)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """The list, with the kinds of text that this viewer may search for."""
        changelist = super().get_changelist_instance(request)
        if not self.viewer(request).sees_personal_data:
            changelist.search_help_text = str(self.search_help_text_masked)
        return changelist

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """One search box for every kind of text."""
        sees = self.viewer(request).sees_personal_data
        return find_orders(queryset, search_term, sees_personal_data=sees), False

    @admin.display(description=_("order id"))
    def order(self, order: Order) -> str:
        """The service's id."""
        return short(order.order_id)

    @admin.display(description=_("status"))
    def status_words(self, order: Order) -> Value:
        """The status in words."""
        return badge(word(ORDER, order.status))

    @admin.display(description=_("amount"))
    def paid_amount(self, order: Order) -> Value:
        """The order's amount, and whether it is real money."""
        amount = money(order.amount, order.currency)
        return format_html('<span class="ci-money">{}</span> {}', amount, badge(mode_of(order)))

    @admin.display(description=_("verdict"))
    def verdict_words(self, order: Order) -> Value:
        """The verdict, with its reason where it has one."""
        verdict = badge(word(VERDICT, order.verdict))
        reason = brief_reason(order.verdict_reason)
        return (
            format_html('{} <span class="ci-reason">{}</span>', verdict, short(reason)) if reason else verdict
        )

    @admin.display(description=_("customer"))
    def customer(self, order: Order) -> Value:
        """The customer's id in this shop."""
        return short(order.user) if order.user else NOTHING

    @admin.display(description=_("created"), ordering="created_at")
    def created(self, order: Order) -> Value:
        """When the service made it; when we first heard of it, where the service has not said."""
        return moment(order.created_at or order.recorded_at)
