"""The list of orders, and its search box."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList, ChangeListSearchForm
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import URLPattern
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_safe

from checkout_integration import flows
from checkout_integration.admin.order.buttons import (
    BUTTONS,
    CHECK,
    CHECK_SELECTED,
    LONGEST_CHECK,
    RUN_SELECTED,
    failure_in_words,
)
from checkout_integration.admin.order.evidence import evidence_of, proof_of_use
from checkout_integration.admin.order.fulfilment import unfinished_goods
from checkout_integration.admin.order.page import order_page
from checkout_integration.admin.order.payment import pays_another_amount
from checkout_integration.admin.order.search import find_orders, of_amount
from checkout_integration.admin.site import filters, labels
from checkout_integration.admin.site.buttons import ButtonAdmin
from checkout_integration.admin.site.downloads import CsvAdmin, sent_in_pieces
from checkout_integration.admin.site.labels import Text, label_of
from checkout_integration.admin.site.products import (
    PRODUCT,
    paid_at,
    product_name,
    shown_product,
    with_products,
)
from checkout_integration.admin.site.reasons import reason_label
from checkout_integration.admin.site.values import Value, badge, in_list, moment, money, remarked, short
from checkout_integration.conf import app_settings
from checkout_integration.flows.monitoring import order_queues
from checkout_integration.flows.outbox import UNFINISHED
from checkout_integration.flows.sync import fetch_newest, fetch_orders
from checkout_integration.hooks import overrides
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Order,
    OrderItem,
    ReceiverRun,
    Refund,
    StaffAct,
)
from checkout_integration.models.columns import LONGEST_IDENTIFIER, as_column_text
from checkout_integration.models.order import IN_REVIEW, IS_PAYMENT
from checkout_integration.policy.verdict import FOREIGN, Reason, VerdictStatus
from checkout_integration.protocol.vocabulary import OrderStatus

DUE: Final = ReceiverRun.State.DUE
NO_ID: Final = re.compile(r"[@\s]")
"""What is in an e-mail address, or between card, day and amount, and in no id of the service."""


def _unbound() -> filters.Choices:
    """Return the choices to which incidents about many payments lead."""
    return {
        reason.value: (
            _("in review: %(reason)s") % {"reason": reason_label(reason)},
            IN_REVIEW & Q(verdict_reason=reason, checkout=None),
        )
        for reason in sorted(FOREIGN)
    }


def _with_sku(text: str) -> Q:
    """Return the condition that an order has such an item: a subquery, which a planner can begin with where they are few."""
    return Q(Exists(OrderItem.objects.filter(order=OuterRef("pk"), sku=text)))


def _of_origin(text: str) -> Q:
    """Return the condition of an origin: an OR over one table, since a union would collect every row of a common text."""
    return Q(utm_source=text) | Q(utm_campaign=text) | Q(referrer_host=text)


def _with_run(**condition: Any) -> Q:
    """Return the condition that an order has such a run; an index of the state finds them, since they are few."""
    runs = ReceiverRun.objects.filter(**condition, message__order__isnull=False)
    return Q(pk__in=runs.values(payer=Coalesce("message__grant__order", "message__order")))


RECEIVERS: Final = {
    "waiting": (_("waiting or running"), _with_run(state__in=UNFINISHED)),
    "failing": (_("failing, retried later"), _with_run(state=DUE, attempts__gt=0, postponed_for="")),
    "postponed": (labels.POSTPONED.text, _with_run(state=DUE, postponed_for__gt="")),
    "failed": (_("failed: given up"), _with_run(state=ReceiverRun.State.FAILED)),
}
PAID: Final = {
    "yes": (_("paid; refunded and charged back, too"), IS_PAYMENT),
    "no": (_("never paid"), ~IS_PAYMENT),
}
"""A payment is one that the page about money counts."""
NET: Final = {"unknown": (_("net not stated"), Q(net_revenue_amount=None))}
"""The choice to which the page about money leads: for its days, since there may be many."""
ACCEPTED: Final = {
    "other": (
        _("accepted, with another amount than expected"),
        Q(verdict=VerdictStatus.ACCEPTED, checkout__expected_amount__isnull=False, amount__isnull=False)
        & ~Q(amount=F("checkout__expected_amount"), currency=F("checkout__currency")),
    )
}
"""Payments that staff have accepted although the checkout has another amount."""


@admin.register(Order)
class OrderAdmin(CsvAdmin, ButtonAdmin):
    """The list of all orders, and the page of one."""

    list_display = ("order_id", "product", "user", "email", "status", "amount", "verdict", "created")
    list_filter = (
        filters.label_filter("status", _("status"), labels.ORDER_STATUSES),
        filters.label_filter("verdict", _("check"), labels.VERDICTS),
        filters.choice_filter("accepted", _("accepted by staff"), ACCEPTED),
        filters.choice_filter("queue", _("waiting for staff"), order_queues),
        filters.choice_filter("unbound", _("without a checkout"), _unbound),
        filters.choice_filter("receivers", _("code of the shop"), RECEIVERS),
        filters.mode_filter(),
        filters.ProjectFilter,
        filters.days_filter("ordered_at"),
        ("ordered_at", filters.DateFilter),
        filters.choice_filter("paid", _("paid"), PAID),
        filters.choice_filter("net", _("net"), NET, least_choices=2),
        filters.text_filter(
            _("amount"),
            ("amount", _("amount"), "search", of_amount),
            ("currency", _("currency"), "search", filters.of_currency("currency")),
        ),
        filters.text_filter(
            _("product"),
            ("product", _("name of the product"), "search", lambda text: Q(product=as_column_text(text))),
            ("sku", _("SKU of an item"), "search", _with_sku),
        ),
        filters.text_filter(
            _("country and payment method"),
            ("country", _("country"), "search", lambda text: Q(country=text.upper())),
            ("method", _("payment method"), "search", lambda text: Q(method_type__in={text, text.upper()})),
        ),
        filters.text_filter(
            _("origin (source, campaign or host)"),
            ("origin", _("origin (source, campaign or host)"), "search", _of_origin),
        ),
    )
    csv_columns = (
        *("order_id", "project", "status", "verdict", "verdict_reason", "type", "is_production", "live"),
        *("created_at", "paid_at", "recorded_at", "changed_at", "refunded_at", "canceled_at"),
        *("product", "country", "method_type"),
        *("amount", "currency", "charge_amount", "charge_currency"),
        *("tax_amount", "tax_currency", "tax_rate", "vat_payer"),
        *("fee_amount", "fee_currency", "net_revenue_amount", "net_revenue_currency"),
        *("refund_amount", "refund_currency", "transaction", "receipt_number", "recurring_id"),
        *("checkout__reference", "user__external_id", "personal_data__email", "personal_data__last4"),
    )
    csv_computed = {"product": (PRODUCT, product_name), "paid_at": (("facts",), paid_at)}
    list_select_related = ("user", "checkout", "personal_data")
    list_deferred = (
        *("document", "facts", "stamps", "conflicts"),
        *("checkout__metadata", "checkout__payment_form_url", "personal_data__document"),
    )
    personal_fields = ("email",)
    linked = ("user",)
    sortable = {"created": "ordered_at"}
    ordering = ("-ordered_at", "-pk")
    search_fields = ("order_id",)
    search_help_text = _(
        "Id of an order or refund, transaction, receipt number, customer's id, e-mail, last four digits of the card, "
        "activation code, checkout reference, or login name of the account: in full, or the beginning. Or what is known of a "
        "payment: card, day, amount, currency, such as 4242 2026-11-25 9.99 USD."
    )
    search_help_text_masked = _(
        "Id of an order or refund, transaction, receipt number, customer's id, or checkout reference: in full, or the "
        "beginning. E-mail, card, activation code and account are searched only with the permission “Can see personal data "
        "of customers”."
    )
    headings = {"user": _("customer")}
    page_related = (
        "checkout",
        "checkout__user",
        "checkout__recipient",
        "user",
        "user__account",
        "personal_data",
    )
    change_form_template = "admin/checkout_integration/order_page.html"
    change_list_template = "admin/checkout_integration/order_list.html"
    buttons = BUTTONS
    list_buttons = (CHECK_SELECTED, RUN_SELECTED)

    def page_context(self, request: HttpRequest, row: Order) -> dict[str, Any]:
        """Add the content of the order's page."""
        evidence = self.address_of("evidence", row) if self._may_download_evidence(request) else ""
        page, context = order_page(row, self.viewer(request)), super().page_context(request, row)
        # One button for the state, the others under "More"; the sort is stable.
        buttons = sorted(context["buttons"], key=lambda each: each[0].name not in page["suggested"])
        disputed = evidence if row.status == OrderStatus.CHARGEBACK else ""
        first = 0 if disputed else 1
        page["notes"] += self._for_others(request, row, page["suggested"], bool(evidence))
        project = app_settings().projects.get(row.project)
        if disputed and project and not overrides(project.hooks, "proof_of_use"):
            text = _(
                "The evidence says nothing of how the goods were used: the shop's code has no hook “proof_of_use”."
            )
            page["notes"].append(text)
        context |= {"evidence": evidence, "disputed": disputed, "page": page}
        return {**context, "buttons": buttons[:first], "more": buttons[first:]}

    def _for_others(
        self, request: HttpRequest, row: Order, suggested: Sequence[str], may_download: bool
    ) -> Iterator[Value]:
        """Yield what the page asks for and the viewer may not do: a colleague may."""
        viewer = self.viewer(request)
        needed = [each for each in self.buttons if each.name in suggested and each.offered(row)]
        acts = [each.label for each in needed if each is not CHECK and not viewer.may(each.permission)]
        if row.status == OrderStatus.CHARGEBACK and not may_download:
            acts.append(_("Download the evidence (ZIP)"))
        for act in acts:
            yield format_html(str(_("You may not do this yourself. Ask a colleague who may: “{}”.")), act)

    def get_urls(self) -> list[URLPattern]:
        """Return the addresses of the screen, of an order's evidence, and of the search box on the app's page."""
        return [
            self.page(
                "<path:object_id>/evidence/", self.evidence_view, "evidence", needs="download_evidence"
            ),
            self.page("find/", self.find_view, "find"),
            self.page("ask/", self.ask_view, "ask", needs="check_order", calls_service=True),
            *super().get_urls(),
        ]

    @method_decorator(require_safe)
    def find_view(self, request: HttpRequest) -> HttpResponseBase:
        """Lead to the only row that the text finds, else to its list: of orders, or else of customers or checkouts."""
        form, viewer = ChangeListSearchForm(request.GET), self.viewer(request)
        text = form.cleaned_data[SEARCH_VAR].strip() if form.is_valid() else ""
        for screen in map(self.admin_site.get_model_admin, (Order, CheckoutUser, Checkout) if text else ()):
            if not screen.has_view_permission(request):
                continue
            rows, _duplicates = screen.get_search_results(request, screen.model._default_manager.all(), text)
            found = list(rows.order_by().only("pk")[:2])
            if len(found) == 1:
                return HttpResponseRedirect(viewer.address(screen.model, "change", found[0].pk))
            if found:
                return HttpResponseRedirect(
                    f"{viewer.address(screen.model, 'changelist')}?{urlencode({SEARCH_VAR: text})}"
                )
        return HttpResponseRedirect(f"{self.address_of('changelist')}?{urlencode({SEARCH_VAR: text})}")

    def ask_view(self, request: HttpRequest) -> HttpResponse:
        """Ask the service for what the search has not found here, and search again. A GET only leads to the list."""
        if request.method != "POST":
            return HttpResponseRedirect(self.address_of("changelist"))
        text = request.POST.get(SEARCH_VAR, "").strip()[:LONGEST_IDENTIFIER].replace("\0", "")
        level, found = messages.WARNING, False
        is_id = NO_ID.search(text) is None
        try:
            if is_id:
                found = bool(text) and fetch_orders(text, seconds=LONGEST_CHECK)
            else:
                fetch_newest(seconds=LONGEST_CHECK)
            self.record(request, StaffAct.Act.CHECK, project=None)
        except flows.CheckoutError as error:
            answer: Text = _("The service did not answer. %(why)s") % {"why": failure_in_words(error)}
        else:
            answer = _("The service has no order with this id, reference or customer.")
            if found:
                level, answer = messages.SUCCESS, _("The service has it. What it has sent is here now.")
                if Refund.objects.filter(document_id=text, order=None).exists():
                    level, answer = (
                        messages.WARNING,
                        _(
                            "The service has it as refunded or charged back, and its payment is not known here. If it is "
                            "an order, and no document of a refund, the next complete pass over the list records it."
                        ),
                    )
            elif not is_id:
                level = messages.INFO
                answer = _(
                    "The service cannot look for this text: it knows ids only. Its newest orders of the last day were read, "
                    "and this is what is here now."
                )
        self.message_user(request, answer, level)
        page = "find" if found or not is_id else "changelist"
        return HttpResponseRedirect(f"{self.address_of(page)}?{urlencode({SEARCH_VAR: text})}")

    @method_decorator(require_GET)
    def evidence_view(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """Send the evidence of an order for a bank. A GET changes nothing, but is logged: it has personal data."""
        if not self.viewer(request).sees_personal_data:
            raise PermissionDenied
        order = self.get_object(request, unquote(object_id))
        if order is None:
            raise Http404
        self.record(request, StaffAct.Act.EVIDENCE, project=order.project, order=order)
        uses = proof_of_use(order)
        if uses is None:
            text = _("The evidence has no proof of use: the shop's own code for it failed. Ask an engineer.")
            self.message_user(request, text, messages.WARNING)
        file = evidence_of(order, uses or [])
        name = f"evidence-{slugify(order.order_id)}.zip"
        headers = {"Cache-Control": "no-store"}
        return sent_in_pieces(request, FileResponse(file, as_attachment=True, filename=name, headers=headers))

    def _may_download_evidence(self, request: HttpRequest) -> bool:
        viewer = self.viewer(request)
        return viewer.may("download_evidence") and viewer.sees_personal_data

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Return the list, with the goods that its rows wait for; its search box names what this viewer may search for."""
        changelist = super().get_changelist_instance(request)
        if not self.viewer(request).sees_personal_data:
            changelist.search_help_text = str(self.search_help_text_masked)
        changelist.result_list = list(changelist.result_list)
        goods = unfinished_goods(changelist.result_list)
        for row in changelist.result_list:
            row.goods = goods.get(row.pk)
        return changelist

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return the address of the button that asks the service."""
        return {"ask": self.address_of("ask")} if self.viewer(request).may("check_order") else {}

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the orders that the text names."""
        sees = self.viewer(request).sees_personal_data
        return find_orders(queryset, search_term, sees_personal_data=sees), False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the orders of the list with their products."""
        return with_products(super().get_queryset(request))

    def product(self, row: Order) -> Value:
        """Return what was bought, and where the customer came from, as the service says."""
        return remarked(short(shown_product(row)), row.origin and in_list(row.origin))

    def email(self, row: Order) -> str:
        """Return the customer's e-mail address."""
        personal_data = getattr(row, "personal_data", None)
        return personal_data.email if personal_data else ""

    def status(self, row: Any) -> Value:
        """Return the status, a refund of a part is not one of all; and the goods where they are not as it says."""
        status = badge(labels.status_label(row))
        return format_html("{} {}", status, badge(row.goods)) if row.goods else status

    def amount(self, row: Order) -> Value:
        """Return the order's amount, and whether it is real money where that is not as its project is set."""
        project = app_settings().projects.get(row.project)
        usual = labels.TEST if project and project.accept_test_payments else labels.LIVE
        mode = labels.mode_label(row)
        amount = money(row.amount, row.currency)
        return format_html(
            '<span class="ci-money">{}</span> {}', amount, "" if mode is usual else badge(mode)
        )

    def verdict(self, row: Order) -> Value:
        """Return the verdict, with its reason where it has one."""
        reason = reason_label(row.verdict_reason)
        if row.verdict == VerdictStatus.ACCEPTED and pays_another_amount(row):
            reason = f"{reason}, {reason_label(Reason.AMOUNT)}"
        return remarked(badge(label_of(labels.VERDICTS, row.verdict)), reason and in_list(reason))

    def created(self, row: Order) -> Value:
        """Return when the service created it, or when it was first seen if the service sent no time; to the minute."""
        return moment(row.ordered_at, "H:i")
