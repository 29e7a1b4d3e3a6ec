"""The shop's checkouts, and the orders of a checkout or of a customer as a table on their page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.urls import URLPattern, reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration import flows
from checkout_integration.admin.site import filters
from checkout_integration.admin.site.buttons import LONGEST, Button, ButtonAdmin, ReasonForm, Refused
from checkout_integration.admin.site.fields import group
from checkout_integration.admin.site.labels import (
    CHECKOUT_STATUSES,
    COUNTED_ROWS,
    LIVE,
    TEST,
    VERDICTS,
    Text,
    label_of,
    status_label,
)
from checkout_integration.admin.site.products import shown_product, with_products
from checkout_integration.admin.site.read_only import ReadOnlyInline
from checkout_integration.admin.site.values import (
    Table,
    Value,
    badge,
    copyable,
    moment,
    money,
    remarked,
    visible,
)
from checkout_integration.display import form_link, shown_number
from checkout_integration.models import Checkout, Order, OutboxMessage


class OrdersInline(ReadOnlyInline):
    """The newest orders, with links to their pages."""

    model = Order
    ordering = ("-ordered_at", "-pk")
    fields = ("order", "product", "status", "amount", "verdict", "created")
    labels = {"verdict": VERDICTS}
    product = staticmethod(shown_product)
    status = staticmethod(status_label)
    when_empty = gettext_lazy("No order yet.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the orders with their products, without their large columns."""
        orders = super().get_queryset(request).select_related("checkout")
        return with_products(orders).defer("document", "facts", "stamps", "conflicts", "checkout__metadata")

    def order(self, row: Order) -> Order:
        """Return the order itself, which is linked."""
        return row

    def amount(self, row: Order) -> str:
        """Return the order's amount."""
        return money(row.amount, row.currency)

    def created(self, row: Order) -> datetime:
        """Return when the service created it, or when it was first seen."""
        return row.created_at or row.recorded_at


def _counted(rows: Sequence[Any]) -> list[Table]:
    """Return how many rows would be deleted, by what they are, and what is marked as a test and stays."""
    counts, staying = flows.retention.count_test_data(), flows.retention.count_undeletable()
    reasons = {
        "checkouts": _("test checkouts with an order that is no test"),
        "orders": _("orders with real money, or whose goods were delivered for a live checkout"),
    }
    cells, marked = (
        [
            [(_("kind"), kinds.get(name, name)), (_("how many"), shown_number(n))]
            for name, n in found.items()
            if n
        ]
        for kinds, found in ((COUNTED_ROWS, counts), (reasons, staying))
    )
    return [
        Table(_("What is deleted"), cells, empty=_("None.")),
        Table(_("What stays, although it is marked TEST"), marked),
    ]


def _delete_tests(row: None, *, staff: AbstractBaseUser, reason: str) -> Text:
    try:
        counts = flows.retention.delete_test_data(staff=staff, reason=reason, seconds=LONGEST)
    except flows.retention.Protected as error:
        raise Refused(str(error)) from None
    names = {"checkouts": counts.get("checkouts", 0), "orders": counts.get("orders", 0)}
    left = flows.retention.count_test_data()
    if left["checkouts"] or left.get("orders"):
        text = _("Test checkouts deleted: %(checkouts)d, orders: %(orders)d. There are more: press again.")
        return text % names
    return _("Test checkouts deleted: %(checkouts)d, orders: %(orders)d.") % names


TEST_DATA: Final = Button(
    name="test-data",
    label=gettext_lazy("Delete all test data"),
    permission="delete_test_data",
    question=gettext_lazy(
        "All test checkouts and test payments are deleted, with their refunds, notifications and history, and customers of "
        "whom nothing else is known. Orders that are no tests stay, and what user.validate has asked. Whatever comes about a "
        "deleted order is skipped. This cannot be undone."
    ),
    danger=True,
    form=ReasonForm,
    operation=_delete_tests,
    preview=_counted,
)
"""About no row: it has a page of its own."""


UNCLAIM: Final = Button(
    name="undo-claim",
    label=gettext_lazy("Undo the claim"),
    permission="link_account",
    question=gettext_lazy(
        "The account has claimed this purchase on the return page, by the address that the buyer has. It loses it. The "
        "shop's code does not run: what it has delivered to the account stays there, and is delivered to nobody else. "
        "Whoever has the address can claim it again, until it expires."
    ),
    form=ReasonForm,
    offered=lambda row: row.claimed_at is not None,
    operation=flows.operations.undo_claim,
    refused=gettext_lazy("Nothing changed: the purchase was not claimed."),
    done=lambda row, undone: _("The claim is undone: the purchase is nobody's again."),
)


def _agreements() -> filters.Choices:
    now = datetime.now(UTC)
    lasting, over = Q(owned_until__gt=now), Q(owned_until__lte=now)
    reversed_ = Q(status=Checkout.Status.REVERSED, lasts_days__isnull=False)
    not_renewed = over & Q(status=Checkout.Status.PAID, paid_order__recurring_id__gt="")
    return {
        "lasting": (_("lasts"), lasting),
        "ended": (_("ended"), over | reversed_),
        "not_renewed": (_("ended: its renewals stopped"), not_renewed),
        "reversed": (_("ended: every payment was reversed"), reversed_),
    }


@admin.register(Checkout)
class CheckoutAdmin(ButtonAdmin):
    """Checkouts: their content, customer, price, and paying order."""

    list_display = ("reference", "status", "test", "price", "user", "order", "origin", "recorded_at")
    list_filter = (
        filters.label_filter("status", gettext_lazy("status"), CHECKOUT_STATUSES),
        filters.flag_filter("test", gettext_lazy("mode"), gettext_lazy("test"), gettext_lazy("live")),
        filters.ProjectFilter,
        filters.choice_filter("agreement", gettext_lazy("agreement"), _agreements),
        filters.days_filter("recorded_at"),
        ("recorded_at", filters.DateFilter),
    )
    list_select_related = ("user", "paid_order")
    list_deferred = (
        *("products", "metadata", "payment_form_url"),
        *("paid_order__document", "paid_order__facts", "paid_order__stamps", "paid_order__conflicts"),
    )
    ordering = ("-recorded_at", "-pk")
    sortable = {"recorded_at": "recorded_at"}
    search_fields = ("reference", "order_id")
    searched_accounts = ("user", "recipient")
    search_help_text = gettext_lazy(
        "Checkout reference or order id. With the permission to see personal data: the login name of the account."
    )
    page_related = ("user", "recipient", "subject_type", "paid_order")
    fieldsets = (
        group(None, "status failure test price paid_order paid_at"),
        group(gettext_lazy("Agreement"), "lasts_days grace_days renewed_at paid_until owned_until"),
        group(gettext_lazy("Payment form"), "payment_form payment_form_url order_id abandoned"),
        group(
            gettext_lazy("Content"), "type description products_sold virtual_currency platform_id metadata"
        ),
        group(
            gettext_lazy("In this shop"),
            "reference project user claimed_at gift_for subject origin recorded_at",
        ),
    )
    inlines = (OrdersInline,)
    buttons = (UNCLAIM,)
    headings = {
        "paid_at": gettext_lazy("learned of the payment"),
        "test": gettext_lazy("mode"),
        "user": gettext_lazy("account"),
        "claimed_at": gettext_lazy("claimed"),
        "gift_for": gettext_lazy("a gift for"),
        "lasts_days": gettext_lazy("days that a payment lasts"),
        "renewed_at": gettext_lazy("last payment"),
        "grace_days": gettext_lazy("days of grace"),
        "paid_order": gettext_lazy("paid by order"),
        "payment_form_url": gettext_lazy("address"),
        "order_id": gettext_lazy("order of the form"),
        "abandoned": gettext_lazy("left unpaid"),
        "products_sold": gettext_lazy("products"),
        "subject": gettext_lazy("thing of the shop"),
        "recorded_at": gettext_lazy("created"),
    }
    labels = {"test": {True: TEST, False: LIVE}}
    personal_fields = ("payment_form_url",)

    def get_urls(self) -> list[URLPattern]:
        """Return the addresses of the screen, and that of the page that deletes all test data."""
        needs, name = TEST_DATA.permission, TEST_DATA.name
        page = self.page("test-data/", self.test_data_view, name, needs=needs, calls_service=True)
        return [page, *super().get_urls()]

    def test_data_view(self, request: HttpRequest) -> HttpResponseBase:
        """Show how much test data there is, and what stands in the way; on POST delete it."""
        form = TEST_DATA.form(request.POST if request.method == "POST" else None)
        back = reverse("admin:app_list", args=(self.opts.app_label,), current_app=self.admin_site.name)
        try:
            if form.is_valid():
                messages.success(request, str(self.press(TEST_DATA, request, None, form.cleaned_data)))
                return HttpResponseRedirect(back)
            flows.retention.refuse_protected()
        except (Refused, flows.retention.Protected) as refused:
            messages.error(request, str(refused))
        return self.confirmation(TEST_DATA, request, [], back, heading=_("Test data"), form=form)

    def status(self, row: Checkout) -> Value:
        """Return the status, and until when it is owned, days of grace included, where it was sold for some days."""
        state = badge(label_of(CHECKOUT_STATUSES, row.status))
        if row.owned_until is None or row.status != Checkout.Status.PAID:
            return state
        text = _("ended {}") if row.has_ended else _("owned until {}")
        return remarked(state, format_html(text, moment(row.owned_until)))

    def price(self, row: Checkout) -> str:
        """Return the price; "–" where the service sets it."""
        return money(row.expected_amount, row.currency)

    def order(self, row: Checkout) -> str:
        """Return the id of the order that paid; if none has paid, the id of the order that was created for the form."""
        return row.paid_order.order_id if row.paid_order else row.order_id

    def payment_form(self, row: Checkout) -> str:
        """Return whether the customer can pay."""
        if not row.payment_form_url:
            return _("There is no payment form.")
        if not row.is_payable:
            return _("There is nothing left to pay in the form.")
        return _("The customer can pay in this form.")

    def payment_form_url(self, row: Checkout) -> Value:
        """Return the address of the form, to copy; it may contain a token. "" when there is nothing left to pay."""
        return copyable(form_link(row), _("Address of the payment form"))

    def abandoned(self, row: Checkout) -> datetime | None:
        """Return when the shop's code was to remind the customer; None if it was not."""
        messages = OutboxMessage.objects.filter(checkout=row, signal="checkout_abandoned")
        return messages.values_list("recorded_at", flat=True).first()

    def products_sold(self, row: Checkout) -> str:
        """Return the products. The service may set their price."""
        return ", ".join(map(str, row.products))

    def virtual_currency(self, row: Checkout) -> str:
        """Return the amount of virtual currency that was sold."""
        return money(row.virtual_currency_amount, "")

    def gift_for(self, row: Checkout) -> object:
        """Return the account that owns it in place of the buyer."""
        return (row.recipient or _("an account that was deleted")) if row.gift else ""

    def subject(self, row: Checkout) -> str:
        """Return the shop's own object without loading it: its class may be gone."""
        kind = row.subject_type
        return f"{kind.app_label}.{kind.model} {visible(row.subject_id)}" if kind else ""
