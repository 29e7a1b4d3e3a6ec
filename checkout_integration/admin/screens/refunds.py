"""Refunds and chargebacks, including those that wait for their order."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from checkout_integration.admin.site import filters
from checkout_integration.admin.site.downloads import CsvAdmin
from checkout_integration.admin.site.fields import group
from checkout_integration.admin.site.labels import ORDER_STATUSES, StateLabel, is_test
from checkout_integration.admin.site.large_tables import ORDER_DOCUMENTS
from checkout_integration.admin.site.values import Value, link, money
from checkout_integration.models import Order, Refund
from checkout_integration.protocol.vocabulary import OrderStatus

WAITING = StateLabel(_("waiting for its order"), "wait")
KINDS = {kind.value: ORDER_STATUSES[kind] for kind in (OrderStatus.REFUNDED, OrderStatus.CHARGEBACK)}


@admin.register(Refund)
class RefundAdmin(CsvAdmin):
    """Refunds and chargebacks: the amount, and the reason."""

    list_display = ("refund", "status", "amount", "order", "refunded_at", "reason")
    list_filter = (
        filters.label_filter("status", _("kind"), KINDS),
        filters.empty_filter("order", _("order"), _("waiting for its order"), _("known")),
        # The orders first: of tests a shop with a million payments has few, and an index of its own.
        filters.mode_filter(lambda mode: Q(order__in=Order.objects.order_by().filter(mode))),
        filters.text_filter(
            _("currency of the payment"),
            ("currency", _("currency"), "search", filters.of_currency("order__currency")),
        ),
        filters.ProjectFilter,
        filters.days_filter("reversed_at"),
        ("reversed_at", filters.DateFilter),
    )
    csv_columns = (
        *("document_id", "order__order_id", "project", "status", "refunded_at", "recorded_at"),
        *("amount", "currency", "reason", "code", "receipt_number", "transaction"),
        *("order__created_at", "order__product", "order__amount", "order__currency"),
        *("order__country", "order__vat_payer"),
        *("order__is_production", "order__live"),
    )
    sortable = {"refunded_at": "reversed_at"}
    ordering = ("-reversed_at", "-pk")
    list_select_related = ("order__personal_data",)
    list_deferred = ("document", *ORDER_DOCUMENTS)
    search_fields = ("order__order_id", "transaction", "document_id")
    search_help_text = _("Order id, transaction, or id of the refund.")
    page_related = ("order",)
    fieldsets = (
        group(None, "status order amount reason code refunded_at"),
        group(_("Receipt"), "receipt_number receipt_url document_id transaction project recorded_at"),
        group(_("As sent by the service"), "document"),
    )
    headings = {
        "status": _("kind"),
        "receipt_url": _("receipt"),
    }
    labels = {"status": ORDER_STATUSES}
    linked = ("order",)
    # A reversal document that waits for its order is a whole Order object, customer included.
    personal_fields = ("receipt_url", "document")
    when_empty = _("No refund yet. In the sandbox, the operator page refunds a paid order.")

    def refund(self, row: Refund) -> str:
        """Return its own id, or that of the order."""
        return str(row)

    def amount(self, row: Refund) -> str:
        """Return the amount that was given back, and of how much where it is a part."""
        given, order = money(row.amount, row.currency), row.order
        if order is None or row.amount is None or order.amount is None or row.currency != order.currency:
            return given
        # More than the price is with VAT, which the service has added.
        paid = {"given": given, "paid": money(order.amount, order.currency)}
        return str(_("%(given)s of %(paid)s")) % paid if row.amount < order.amount else given

    def order(self, row: Refund) -> Order | StateLabel:
        """Return the order, where it is known."""
        return row.order or WAITING

    def receipt_url(self, row: Refund) -> Value:
        """Return a link to the receipt."""
        return link(row.receipt_url, loopback=is_test(row.order)) if row.receipt_url else ""
