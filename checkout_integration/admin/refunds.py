"""Refunds and chargebacks, those that wait for their order included."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.admin.display import badge, moment, money, pretty, short, visible
from checkout_integration.admin.filters import ProjectFilter, empty_filter, words_filter
from checkout_integration.admin.page import Page, Raw, Value, chapter
from checkout_integration.admin.screen import Screen
from checkout_integration.admin.search import of_our_projects
from checkout_integration.admin.viewer import Viewer
from checkout_integration.admin.words import ORDER, Word, is_sandboxed, word
from checkout_integration.models import Order, Refund
from checkout_integration.protocol.vocabulary import OrderStatus

WAITS = Word(gettext_lazy("waits for its order"), "wait")
KINDS = {kind.value: ORDER[kind] for kind in (OrderStatus.REFUNDED, OrderStatus.CHARGEBACK)}


@admin.register(Refund)
class RefundScreen(Screen):
    """What was given back."""

    list_display = ("refund", "kind", "sum", "of_order", "when", "why")
    list_filter = (
        words_filter("status", gettext_lazy("kind"), KINDS),
        empty_filter(
            "order", gettext_lazy("order"), gettext_lazy("waits for its order"), gettext_lazy("known")
        ),
        ProjectFilter,
        ("refunded_at", admin.DateFieldListFilter),
    )
    list_select_related = ("order__personal_data",)
    search_fields = ("order__order_id",)
    search_help_text = gettext_lazy("Order id or transaction.")
    unlisted = ("document", "order__document", "order__facts", "order__stamps", "order__conflicts")
    related = ("order",)
    when_empty = gettext_lazy("No refund yet. In the sandbox, its operator page refunds a paid order.")

    def search_conditions(self, text: str) -> list[Q]:
        """What the search box looks for."""
        return [Q(order__order_id=text), of_our_projects(transaction=text)]

    def page(self, viewer: Viewer, row: Refund) -> Page:
        """The refund's page."""
        return Page(
            badges=[badge(word(ORDER, row.status)), *([] if row.order_id else [badge(WAITS)])],
            chapters=[
                chapter(
                    _("Refund"),
                    [
                        (_("order"), viewer.link(Order, row.order_id, row.order)),
                        (_("amount"), money(row.amount, row.currency)),
                        (_("reason"), visible(row.reason)),
                        (_("code"), visible(row.code)),
                        (_("refunded at"), moment(row.refunded_at)),
                        (_("receipt number"), visible(row.receipt_number)),
                        (
                            _("receipt"),
                            viewer.personal_link(row.receipt_url, loopback=is_sandboxed(row.order)),
                        ),
                        (_("document id"), visible(row.document_id)),
                        (_("transaction"), visible(row.transaction)),
                        (_("project"), visible(row.project)),
                        (_("recorded"), moment(row.recorded_at)),
                    ],
                )
            ],
            # A reversal document that waits for its order is a whole Order object, customer included.
            raws=[Raw(_("As the service told it (JSON)"), pretty(row.document))]
            if viewer.sees_personal_data
            else [],
        )

    @admin.display(description=gettext_lazy("refund"))
    def refund(self, row: Refund) -> str:
        """Its own id, or that of the order."""
        return short(row)

    @admin.display(description=gettext_lazy("kind"))
    def kind(self, row: Refund) -> Value:
        """Refund or chargeback."""
        return badge(word(ORDER, row.status))

    @admin.display(description=gettext_lazy("amount"))
    def sum(self, row: Refund) -> str:
        """What was given back."""
        return money(row.amount, row.currency)

    @admin.display(description=gettext_lazy("order"))
    def of_order(self, row: Refund) -> Value:
        """The order, where it is known."""
        return short(row.order) if row.order else badge(WAITS)

    @admin.display(description=gettext_lazy("refunded at"))
    def when(self, row: Refund) -> Value:
        """As the service said."""
        return moment(row.refunded_at)

    @admin.display(description=gettext_lazy("reason"))
    def why(self, row: Refund) -> str:
        """As the service said."""
        return short(row.reason)
