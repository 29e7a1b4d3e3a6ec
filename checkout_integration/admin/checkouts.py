"""The shop's sales."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.admin.display import NOTHING, badge, moment, money, pretty, short, visible
from checkout_integration.admin.filters import ProjectFilter, flag_filter, words_filter
from checkout_integration.admin.order_table import order_table
from checkout_integration.admin.page import Answer, Page, Raw, Value, chapter
from checkout_integration.admin.screen import Screen
from checkout_integration.admin.search import of_our_projects
from checkout_integration.admin.viewer import Viewer
from checkout_integration.admin.words import CHECKOUT, LIVE, TEST, word
from checkout_integration.models import Checkout, Order


@admin.register(Checkout)
class CheckoutScreen(Screen):
    """What was asked for, by whom, at what price, and which order paid it."""

    list_display = ("sale", "status_words", "mode", "price", "buyer", "order", "recorded")
    list_filter = (
        words_filter("status", gettext_lazy("status"), CHECKOUT),
        flag_filter("test", gettext_lazy("mode"), gettext_lazy("test"), gettext_lazy("live")),
        ProjectFilter,
        ("recorded_at", admin.DateFieldListFilter),
    )
    list_select_related = ("user", "paid_order")
    search_fields = ("reference", "order_id")
    search_help_text = gettext_lazy("Checkout reference or order id.")
    unlisted = (
        *("products", "metadata", "payment_form_url"),
        *("paid_order__document", "paid_order__facts", "paid_order__stamps", "paid_order__conflicts"),
    )
    related = ("user", "subject_type", "paid_order")

    def search_conditions(self, text: str) -> list[Q]:
        """What the search box looks for."""
        return [Q(reference=text), of_our_projects(order_id=text)]

    def page(self, viewer: Viewer, row: Checkout) -> Page:
        """The sale's page."""
        status = word(CHECKOUT, row.status)
        return Page(
            badges=[badge(status), badge(TEST if row.test else LIVE)],
            answers=[
                Answer(_("What is its state?"), badge(status), [visible(row.failure) or status.meaning]),
                Answer(
                    _("What was asked for?"), asked_for(row), [visible(row.description), visible(row.type)]
                ),
                paid_by(row, viewer),
                form_of(row, viewer),
            ],
            chapters=[
                chapter(
                    _("Sale"),
                    [
                        (_("reference"), visible(row.reference)),
                        (_("project"), visible(row.project)),
                        (_("buyer"), short(row.user) if row.user else ""),
                        (_("belongs to"), subject_of(row)),
                        (_("products"), visible(", ".join(map(str, row.products)))),
                        (_("virtual currency"), money(row.virtual_currency_amount, "")),
                        (_("platform"), visible(row.platform_id)),
                        (_("order of the form"), visible(row.order_id)),
                        (_("failure"), visible(row.failure)),
                        (_("recorded"), moment(row.recorded_at)),
                    ],
                )
            ],
            tables=[order_table(viewer, Order.objects.filter(checkout=row))],
            raws=[Raw(_("Metadata (JSON)"), pretty(row.metadata))],
        )

    @admin.display(description=gettext_lazy("reference"))
    def sale(self, row: Checkout) -> str:
        """The sale's reference."""
        return short(row.reference)

    @admin.display(description=gettext_lazy("status"))
    def status_words(self, row: Checkout) -> Value:
        """The status in words."""
        return badge(word(CHECKOUT, row.status))

    @admin.display(description=gettext_lazy("mode"))
    def mode(self, row: Checkout) -> Value:
        """TEST or LIVE."""
        return badge(TEST if row.test else LIVE)

    @admin.display(description=gettext_lazy("price"))
    def price(self, row: Checkout) -> str:
        """What the buyer is asked to pay."""
        return money(row.expected_amount, row.currency)

    @admin.display(description=gettext_lazy("buyer"))
    def buyer(self, row: Checkout) -> str:
        """The account in this shop."""
        return short(row.user) if row.user else NOTHING

    @admin.display(description=gettext_lazy("order"))
    def order(self, row: Checkout) -> str:
        """The order that paid; while none has, the one that was created for the form."""
        return short(row.paid_order.order_id if row.paid_order else row.order_id)

    @admin.display(description=gettext_lazy("recorded"), ordering="pk")
    def recorded(self, row: Checkout) -> Value:
        """When the sale began."""
        return moment(row.recorded_at)


def asked_for(checkout: Checkout) -> str:
    """The price, or the products where the service sets the price."""
    if checkout.expected_amount is not None:
        return money(checkout.expected_amount, checkout.currency)
    return visible(", ".join(map(str, checkout.products))) or NOTHING


def subject_of(checkout: Checkout) -> str:
    """The shop's own object, named without loading it: its class may be gone."""
    kind = checkout.subject_type
    return f"{kind.app_label}.{kind.model} {visible(checkout.subject_id)}" if kind else ""


def paid_by(checkout: Checkout, viewer: Viewer) -> Answer:
    """The order that paid."""
    order = viewer.link(Order, checkout.paid_order_id, checkout.paid_order)
    return Answer(_("Which order paid it?"), order, [moment(checkout.paid_at)] if checkout.paid_at else [])


def form_of(checkout: Checkout, viewer: Viewer) -> Answer:
    """The hosted form, in whose address a token may be; a sandbox on this machine has one without TLS."""
    if not checkout.payment_form_url:
        return Answer(_("Where does the buyer pay?"), NOTHING, [_("There is no form.")])
    if not checkout.is_payable:
        return Answer(
            _("Where does the buyer pay?"), NOTHING, [_("There is nothing left to pay in the form.")]
        )
    address = viewer.personal_link(checkout.payment_form_url, loopback=True)
    return Answer(_("Where does the buyer pay?"), _("in this form"), [address])
