"""Customers, found by id or e-mail, the buttons to link, export and erase one, and the record of who did."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from checkout_integration import flows
from checkout_integration.admin.screens.checkouts import OrdersInline
from checkout_integration.admin.screens.customer_tables import paid_and_receipts, tables_of
from checkout_integration.admin.site import filters
from checkout_integration.admin.site.buttons import Button, ButtonAdmin, ReasonForm, Refused
from checkout_integration.admin.site.fields import Viewer, group
from checkout_integration.admin.site.labels import BLOCKED, CHECKOUT_STATUSES, Text, label_of
from checkout_integration.admin.site.read_only import NEWEST
from checkout_integration.admin.site.values import (
    NOTHING,
    FieldGroup,
    Table,
    Value,
    badge,
    field_group,
    in_list,
    moment,
    money,
    short,
    visible,
)
from checkout_integration.flows.privacy import Person, PrivacyRequest
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Grant,
    Order,
    PersonalData,
    ReceiverRun,
    StaffAct,
)
from checkout_integration.models.order import IN_REVIEW
from checkout_integration.policy.verdict import Reason
from checkout_integration.protocol.vocabulary import OrderStatus

DISPUTED_WITHIN: Final = timedelta(days=120)
"""Banks mostly take a customer's dispute for so long after the payment."""


class LinkForm(ReasonForm):
    """A form with the login name of an account, and a reason."""

    account = forms.CharField(
        label=gettext_lazy("Account"),
        max_length=255,
        help_text=gettext_lazy("The full login name of the account."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    field_order = ("account", "reason")

    def clean_account(self) -> AbstractBaseUser:
        """Return the account of this name."""
        accounts = get_user_model()
        name = {accounts.USERNAME_FIELD: self.cleaned_data["account"]}
        account: AbstractBaseUser | None = accounts._default_manager.filter(**name).first()
        if account is None:
            raise forms.ValidationError(
                _("There is no account with this login name; an e-mail address is mostly none.")
            )
        return account


def _link(customer: CheckoutUser, *, staff: AbstractBaseUser, account: AbstractBaseUser, reason: str) -> Text:
    before, delivered = customer.account, _delivered_to(customer)
    if customer.account_id != account.pk and (moves_nothing := _moves_nothing(customer)):
        raise Refused(_("Nothing changed. %(why)s") % {"why": moves_nothing}, field="account")
    if not flows.operations.link_account(customer, account, staff=staff, reason=reason):
        raise Refused(_("Nothing changed: the customer is linked to this account already, or was erased."))
    names = {"account": short(account), "before": short(before)}
    text = _("The customer is linked to the account %(account)s.")
    if before not in (None, account):
        text = _("The customer is linked to the account %(account)s. It was %(before)s.")
    return f"{text % names} {delivered}".strip()


def _moves_nothing(customer: CheckoutUser) -> Text:
    """Return whose all is that the customer bought, where a link would move nothing of it; else ""."""
    owners = get_user_model()._default_manager.filter(
        pk__in=Checkout.objects.filter(orders__user=customer, by_link=False).values("user")
    )
    names = ", ".join(map(short, owners.order_by("pk")[:NEWEST]))
    if not names or flows.operations.linkable_checkouts(customer).exists():
        return ""
    text = _(
        "What the customer bought belongs to the account %(accounts)s, and stays there: a link moves nothing."
    )
    how = _(
        "To give it to another account, revoke the goods on the page of the order, and deliver them in the shop by hand."
    )
    if Checkout.objects.filter(orders__user=customer, claimed_at__isnull=False).exists():
        how = _(
            "The account has claimed it. To give it to another one, undo the claim on the page of the checkout first."
        )
    return f"{text} {how}" % {"accounts": names}


def _effects_of_linking(customer: CheckoutUser) -> list[Text]:
    texts = (_moves_nothing(customer), _delivered_to(customer), _others_with_the_address(customer))
    return [text for text in texts if text]


def _delivered_to(customer: CheckoutUser) -> Text:
    """Return that the shop's code has delivered to the account of the link that ends here; "" where it has not."""
    bought = flows.operations.linkable_checkouts(customer).filter(by_link=True)
    runs = ReceiverRun.objects.filter(message__checkout__in=bought, message__signal="checkout_paid")
    if not runs.filter(state=ReceiverRun.State.DONE, message__grant__state=Grant.State.OPEN).exists():
        return ""
    text = _(
        "What the shop's code has done, perhaps for the account %(account)s, it does not do again: move by hand what it "
        "has written there."
    )
    return text % {"account": short(customer.account)}


def _others_with_the_address(customer: CheckoutUser) -> Text:
    """Return which other guests have the e-mail address: the service may know a guest anew at each purchase."""
    addresses = PersonalData.objects.filter(order__user=customer, email__gt="").values_list(
        "email", flat=True
    )
    known = list(dict.fromkeys(addresses.order_by("-pk")[:NEWEST]))
    rows = (
        PersonalData.objects.filter(email__in=known).exclude(order__user=customer).exclude(order__user=None)
    )
    keys = rows.filter(order__user__account=None, order__checkout__user=None).values("order__user")
    others = ", ".join(
        map(short, CheckoutUser.objects.filter(pk__in=keys, project=customer.project)[:NEWEST])
    )
    text = _("Other guests have the same e-mail address, and are linked one by one: %(customers)s.")
    return text % {"customers": others} if others else ""


def _unlink(customer: CheckoutUser, *, staff: AbstractBaseUser, reason: str) -> Text:
    delivered = _delivered_to(customer)
    if not flows.operations.unlink_account(customer, staff=staff, reason=reason):
        raise Refused(_("Nothing changed: the customer is not linked to an account."))
    customer.refresh_from_db()
    account = (
        _("The customer's account is %(account)s again.") % {"account": short(customer.account)}
        if customer.account
        else _("The customer has no account now.")
    )
    undone = _("The link is undone: what the account got by it is nobody's again.")
    return " ".join(filter(None, (undone, account, str(delivered))))


def _bought(customers: Sequence[CheckoutUser]) -> list[Table]:
    """Return the checkouts that the account gets by a link, or loses by its end."""
    checkouts = flows.operations.linkable_checkouts(customers[0])
    cells = [
        [
            (_("reference"), short(each)),
            (_("what was sold"), short(", ".join(each.products) or each.description)),
            (
                _("paid"),
                money(each.paid_order.amount, each.paid_order.currency) if each.paid_order else NOTHING,
            ),
            (_("status"), label_of(CHECKOUT_STATUSES, each.status).text),
        ]
        for each in checkouts.select_related("paid_order")[:NEWEST]
    ]
    return [Table(_("What the customer bought without an account"), cells, empty=_("Nothing."))]


def about_customer(row: Order | CheckoutUser, viewer: Viewer) -> list[FieldGroup]:
    """Return who the customer is: name and e-mail address for those who may see them, account and id for all."""
    customer = row.user if isinstance(row, Order) else row
    person = row.snapshot.user if isinstance(row, Order) else row.snapshot
    checkout = row.checkout if isinstance(row, Order) else None
    account = (checkout.user if checkout else None) or (customer.account if customer else None)
    personal_data = getattr(row, "personal_data", None)
    email = (personal_data.email if personal_data else "") or (person.email if person else "") or ""
    name = (person.name if person else "") or ""
    fields = [
        (_("name"), viewer.personal(visible(name)) if name else _("unknown")),
        (_("e-mail"), viewer.personal(visible(email)) if email else _("unknown")),
        (_("account"), short(account) if account else _("none")),
        (_("customer"), viewer.row(customer) if customer else _("a guest")),
    ]
    return [field_group(_("The customer"), fields)]


def _email(customer: CheckoutUser) -> str:
    """Return the customer's e-mail address, or else the newest one to which a receipt of theirs went."""
    receipts = PersonalData.objects.filter(order__user=customer).exclude(email="").order_by("-order")
    return customer.email or receipts.values_list("email", flat=True).first() or ""


def _unblocked(customer: CheckoutUser, lifted: bool) -> Text:
    person = flows.operations.rows_of_person(customer)
    waiting = Order.objects.filter(IN_REVIEW, user__in=person, verdict_reason=Reason.BLOCKED)
    if not waiting.exists():
        return _("The block is lifted.")
    return _("The block is lifted. Payments that are in review for it wait for you.")


def _blocked(customer: CheckoutUser) -> Value:
    """Return since when the customer is blocked, by whom and why; "" for one who is not."""
    if customer.blocked_at is None:
        return ""
    acts = StaffAct.objects.filter(
        act=StaffAct.Act.BLOCK, customer__in=flows.operations.rows_of_person(customer)
    )
    act = acts.select_related("staff").order_by("-pk").first()
    who, why = (short(act.actor or NOTHING), visible(act.reason)) if act else (NOTHING, "")
    return format_html(_("since {}, by {}: {}"), moment(customer.blocked_at), who, why)


def _about_block(row: Order | CheckoutUser, viewer: Viewer) -> list[FieldGroup]:
    customer = row.user if isinstance(row, Order) else row
    blocked = _blocked(customer) if customer else ""
    return [*about_customer(row, viewer), field_group(_("The block"), [(_("blocked"), blocked)])]


BLOCK: Final = Button(
    name="block",
    label=gettext_lazy("Block the customer"),
    permission="block_customer",
    question=gettext_lazy(
        "The customer can buy here no more: the service is answered that they may not pay, before the shop's own checks are "
        "asked, and no new checkout is made for them. A payment that comes all the same waits for staff. What they own stays "
        "theirs. The block stays until staff lift it, also when the customer is erased."
    ),
    danger=True,
    form=ReasonForm,
    offered=lambda customer: customer.blocked_at is None,
    operation=flows.operations.block_customer,
    refused=gettext_lazy("Nothing changed: the customer is blocked already."),
    done=lambda customer, blocked: _("The customer is blocked."),
    about=about_customer,
)
UNBLOCK: Final = Button(
    name="unblock",
    label=gettext_lazy("Lift the block"),
    permission="block_customer",
    question=gettext_lazy(
        "The customer may buy here again, under each id that they have, or had before they were erased. Payments that are in "
        "review for the block stay there: accept them, or refund them at the service."
    ),
    form=ReasonForm,
    offered=lambda customer: customer.blocked_at is not None,
    operation=flows.operations.unblock_customer,
    refused=gettext_lazy("Nothing changed: the customer is not blocked."),
    done=_unblocked,
    about=_about_block,
)
LINK: Final = Button(
    name="link-account",
    label=gettext_lazy("Link to an account"),
    permission="link_account",
    question=gettext_lazy(
        "The customer is linked to an account of this shop, which replaces the previous one. The account then owns what the "
        "customer bought without an account, and will buy. What another account bought stays its own. The shop's code "
        "does not run, unless it waits for an account: then it runs now. The link can be undone."
    ),
    form=LinkForm,
    offered=lambda customer: customer.erased_at is None,
    operation=_link,
    about=about_customer,
    effects=_effects_of_linking,
    preview=_bought,
)
UNLINK: Final = Button(
    name="unlink-account",
    label=gettext_lazy("Undo the link to the account"),
    permission="link_account",
    question=gettext_lazy(
        "What the account got by the link is nobody's again; what it bought itself stays its own. The customer has the "
        "account again that bought this customer's orders itself, or none. The shop's code does not run."
    ),
    form=ReasonForm,
    offered=lambda customer: customer.linked_at is not None,
    operation=_unlink,
    about=about_customer,
    effects=lambda customer: [text for text in [_delivered_to(customer)] if text],
    preview=_bought,
)


class RequestForm(ReasonForm):
    """A form with the reason of an act on personal data."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Say what to write."""
        super().__init__(*args, **kwargs)
        self.fields["reason"].help_text = _(
            "For example the number of the customer's request. It is stored for good, with your name: write no personal data "
            "of the customer."
        )


def _find(row: CheckoutUser | Order) -> list[Person]:
    if isinstance(row, CheckoutUser):
        return flows.privacy.find_persons(customer=row)
    return flows.privacy.find_persons(order=row)


def _persons(row: CheckoutUser | Order) -> list[Person]:
    persons = _find(row)
    if not persons:
        raise Refused(_("There is no data of this customer."))
    return persons


def _erase(row: CheckoutUser | Order, *, staff: AbstractBaseUser, reason: str) -> Text:
    request = PrivacyRequest(reason=reason, staff=staff)
    erasures = [flows.privacy.erase_customer(person, request) for person in _persons(row)]
    orders = sum(erasure.orders for erasure in erasures)
    notifications = sum(erasure.notifications for erasure in erasures)
    sentences = (
        _("The customer is erased."),
        ngettext(
            "%(n)d order remains without personal data.",
            "%(n)d orders remain without personal data.",
            orders,
        )
        % {"n": orders},
        ngettext(
            "The body of %(n)d notification is gone.",
            "The bodies of %(n)d notifications are gone.",
            notifications,
        )
        % {"n": notifications},
    )
    return " ".join(sentences)


def _export(row: CheckoutUser | Order, *, staff: AbstractBaseUser, reason: str) -> StreamingHttpResponse:
    pieces = flows.privacy.export_customer(_persons(row), PrivacyRequest(reason=reason, staff=staff))
    # Not named after the customer: browsers show and keep names of files.
    name = f"customer-{row.pk}.json" if isinstance(row, CheckoutUser) else f"customer-of-order-{row.pk}.json"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(pieces, content_type="application/json", headers=headers)


def _counted(rows: Sequence[CheckoutUser | Order]) -> list[Table]:
    """Return how many rows have data of the customer, by indexed look-ups alone."""
    cells = []
    for person in _find(rows[0]):
        found = flows.privacy.preview_erasure(person, reads_bodies=False)
        cells.append(
            [
                (_("project"), person.project),
                (_("customers"), str(found.customers)),
                (_("orders"), str(found.orders)),
                (_("checkouts"), str(found.checkouts)),
                (_("notifications"), str(found.notifications)),
                (_("decisions"), str(found.decisions)),
            ]
        )
    return [Table(_("Rows with data of this customer"), cells, empty=_("None."))]


def _is_erasable(row: CheckoutUser | Order) -> bool:
    personal = row if isinstance(row, CheckoutUser) else getattr(row, "personal_data", None)
    return personal is None or personal.erased_at is None


def _against_erasing(row: Order | CheckoutUser) -> list[Text]:
    """Return what speaks against erasing the customer now: an open dispute, or a payment that can still be disputed."""
    customer = row.user if isinstance(row, Order) else row
    orders = Order.objects.filter(user=customer) if customer else Order.objects.filter(pk=row.pk)
    found: list[Text] = []
    disputed = orders.filter(status=OrderStatus.CHARGEBACK).count()
    if disputed:
        text = ngettext(
            "%(n)d order is charged back: what could be shown to the bank about it is erased too.",
            "%(n)d orders are charged back: what could be shown to the bank about them is erased too.",
            disputed,
        )
        found.append(text % {"n": disputed})
    waiting = orders.filter(IN_REVIEW).count()
    if waiting:
        text = ngettext(
            "%(n)d payment waits for a decision: afterwards nobody can see whose it is.",
            "%(n)d payments wait for a decision: afterwards nobody can see whose they are.",
            waiting,
        )
        found.append(text % {"n": waiting})
    newest = (
        orders.exclude(created_at=None).order_by("-created_at").values_list("created_at", flat=True).first()
    )
    if newest and (age := datetime.now(UTC) - newest) < DISPUTED_WITHIN:
        text = _(
            "The newest order is %(days)d days old. Customers can dispute a payment at their bank for about %(most)d days: "
            "what the bank could be shown is erased."
        )
        found.append(text % {"days": age.days, "most": DISPUTED_WITHIN.days})
    return found


ERASE: Final = Button(
    name="erase",
    label=gettext_lazy("Erase the customer"),
    permission="erase_customer",
    question=gettext_lazy(
        "All personal data of this customer is deleted, here and on all their orders in this project: names, addresses, ids, "
        "and the bodies of notifications, also of those that could not be read. Amounts, statuses and times stay, as do "
        "the account in the shop with what it owns, and what the service has. Notifications that arrive later are stored "
        "without the customer's data. This cannot be undone."
    ),
    danger=True,
    form=RequestForm,
    offered=_is_erasable,
    operation=_erase,
    about=about_customer,
    effects=_against_erasing,
    preview=_counted,
)
EXPORT: Final = Button(
    name="export",
    label=gettext_lazy("Export the customer's data"),
    permission="export_customer",
    question=gettext_lazy(
        "Everything that is stored about this customer in this project, as a JSON file: orders, checkouts, notifications as "
        "they came, decisions, notes. Nothing is changed. The export is recorded with your name. The file comes at once, and "
        "this page stays."
    ),
    form=RequestForm,
    offered=_is_erasable,
    operation=_export,
    about=about_customer,
    preview=_counted,
)


PERSONAL: Final = (
    *("name", "email", "phone", "ip", "locale", "address", "metadata"),
    *("notify_new_region", "notify_new_region_email"),
)


@admin.register(CheckoutUser)
class CustomerAdmin(ButtonAdmin):
    """The customer's ids, the linked account, and their orders."""

    list_display = ("customer", "email", "account", "paid", "recorded_at")
    list_filter = (
        filters.ProjectFilter,
        filters.empty_filter(
            "account",
            gettext_lazy("account"),
            gettext_lazy("without an account"),
            gettext_lazy("with an account"),
        ),
        filters.empty_filter("blocked_at", gettext_lazy("blocked"), gettext_lazy("no"), gettext_lazy("yes")),
        ("recorded_at", filters.DateFilter),
    )
    ordering = ("-recorded_at", "-pk")
    list_select_related = ("account",)
    search_fields = ("external_id", "user_id")
    searched_accounts = ("account", "orders__checkout__user")
    search_help_text = gettext_lazy(
        "The customer's id in this shop, or at the service. With the permission to see personal data: an e-mail address, the "
        "login name of the account, or the id that a customer had who was erased."
    )
    page_related = ("account",)
    fieldsets = (
        group(None, "external_id user_id account project recorded_at blocked erased_at"),
        group(gettext_lazy("From the latest order and user.validate"), " ".join(PERSONAL)),
    )
    inlines = (OrdersInline,)
    headings = {
        "customer": gettext_lazy("id in this shop"),
        "external_id": gettext_lazy("id in this shop"),
        "user_id": gettext_lazy("id at the service"),
        "recorded_at": gettext_lazy("first seen"),
        "paid": gettext_lazy("what they paid"),
    }
    personal_fields = PERSONAL
    buttons = (LINK, UNLINK, BLOCK, UNBLOCK, EXPORT, ERASE)
    blocked = staticmethod(_blocked)

    def search_conditions(self, viewer: Viewer, text: str) -> list[Q]:
        """Return the conditions of ids and accounts; of e-mail addresses and erased ids for those who see personal data."""
        conditions = super().search_conditions(viewer, text)
        if viewer.sees_personal_data:
            conditions += [Q(orders__personal_data__email=text.lower()), flows.privacy.tombstones_named(text)]
        return conditions

    def page_context(self, request: HttpRequest, row: CheckoutUser) -> dict[str, Any]:
        """Name the page after the customer, for those who may see names; add what they paid and own."""
        context, viewer = super().page_context(request, row), self.viewer(request)
        who = " · ".join(filter(None, (row.name, _email(row)))) if viewer.sees_personal_data else ""
        who = str(row) if row.erased_at else who
        named = {"heading": short(who), "title": short(who)} if who else {}
        badges = [badge(BLOCKED)] if row.blocked_at else []
        return {**context, **named, "tables": tables_of(row, viewer), "badges": badges}

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Return the list; what its rows paid, and where their receipts went, is read at once."""
        changelist = super().get_changelist_instance(request)
        shown = list(changelist.result_list)
        paid, receipts = paid_and_receipts(shown) if self.viewer(request).may("view_order") else ({}, {})
        for row in shown:
            row.paid, row.receipt_email = paid.get(row.pk, NOTHING), receipts.get(row.pk, "")
        changelist.result_list = shown
        return changelist

    def customer(self, row: CheckoutUser) -> Value:
        """Return the customer's id in this shop, or else at the service; and whether they are blocked."""
        return format_html("{} {}", in_list(row), badge(BLOCKED)) if row.blocked_at else str(row)

    def email(self, row: Any) -> str:
        """Return the customer's e-mail address; in a list, the newest one to which a receipt went."""
        email: str = row.receipt_email if hasattr(row, "receipt_email") else row.email
        return email

    def paid(self, row: Any) -> str:
        """Return what the customer paid, each currency by itself."""
        paid: str = row.paid
        return paid

    def address(self, row: CheckoutUser) -> str:
        """Return the address in one line, in the specification's sequence: PostgreSQL sorts the keys of a document."""
        if row.address is None:
            return ""
        names = [each.name for each in dataclasses.fields(row.address) if each.name in row.address.document]
        sent = {**dict.fromkeys(names), **row.address.document}
        return ", ".join(map(str, sent.values()))
