"""What a customer has paid and owns: sums for each currency, open checkouts, goods and notes, on the customer's page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, TypeAlias

from django.contrib.auth import get_user_model
from django.db.models import F, Q
from django.utils.html import format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from checkout_integration.admin.site.fields import Viewer
from checkout_integration.admin.site.labels import CHECKOUT_STATUSES, label_of
from checkout_integration.admin.site.large_tables import COUNTED, ORDER_DOCUMENTS, keys_of
from checkout_integration.admin.site.products import shown_product, with_products
from checkout_integration.admin.site.values import (
    NOTHING,
    Table,
    Value,
    badge,
    copyable,
    moment,
    money,
    short,
    visible,
)
from checkout_integration.display import shown_number
from checkout_integration.models import Checkout, CheckoutUser, Grant, Order, OrderItem, Refund, Transition
from checkout_integration.policy.facts import REVERSALS
from checkout_integration.policy.state import SETTLED_KINDS
from checkout_integration.protocol.vocabulary import OrderStatus

Amounts: TypeAlias = "list[Decimal | None]"
NEWEST: Final = 20
"""Rows of each table."""


def tables_of(customer: CheckoutUser, viewer: Viewer) -> list[Table]:
    """Return the tables, for those who may see orders and checkouts. The number of statements depends on no row."""
    tables = []
    if viewer.may("view_order"):
        tables += [_sums(customer), _goods(customer, viewer), _notes(customer, viewer)]
    if viewer.may("view_checkout"):
        tables += [_agreements(customer, viewer), _checkouts(customer, viewer)]
    return tables


def _sums(customer: CheckoutUser) -> Table:
    """Return what was paid, refunded and charged back, each currency by itself; of the newest orders, to a limit.

    What the account has claimed, or got by a link, was paid as a guest: it is the same person's.
    """
    whose = [Q(user=customer)]
    if customer.account_id:
        whose.append(Q(checkout__user=customer.account_id, project=customer.project))
    keys = keys_of(Order.objects.all(), whose)
    paid = Order.objects.filter(pk__in=keys, status__in=SETTLED_KINDS).order_by("-pk")
    # Of a payment that staff have restored, no reversal stands: the page about money counts none of it either.
    lost = Refund.objects.filter(order__in=keys, order__status__in=REVERSALS).order_by("-pk")
    found: dict[str, dict[str, Amounts]] = {}
    for currency, amount in paid.values_list("currency", "amount")[:COUNTED]:
        found.setdefault(currency, {}).setdefault("paid", []).append(amount)
    for status, currency, amount in lost.values_list("status", "currency", "amount")[:COUNTED]:
        found.setdefault(currency, {}).setdefault(status, []).append(amount)
    kinds = {
        "paid": _("paid"),
        OrderStatus.REFUNDED.value: _("refunded"),
        OrderStatus.CHARGEBACK.value: _("charged back"),
    }
    rows = [
        [
            (_("currency"), visible(currency) or NOTHING),
            *((label, _sum(of.get(kind, []), currency) or NOTHING) for kind, label in kinds.items()),
        ]
        for currency, of in sorted(found.items())
    ]
    return Table(_("What they paid"), rows, _("Nothing yet."))


def paid_and_receipts(customers: Sequence[CheckoutUser]) -> tuple[dict[Any, str], dict[Any, str]]:
    """Return what each of these customers paid, each currency by itself, and the newest address of a receipt of theirs."""
    orders = Order.objects.filter(user__in=customers).order_by("-pk")
    paid = orders.filter(status__in=SETTLED_KINDS).values_list("user", "currency", "amount")
    found: dict[Any, dict[str, Amounts]] = {}
    for customer, currency, amount in paid[:COUNTED]:
        found.setdefault(customer, {}).setdefault(currency, []).append(amount)
    sums = {
        customer: ", ".join(_sum(amounts, currency) for currency, amounts in sorted(of.items()))
        for customer, of in found.items()
    }
    receipts = orders.exclude(personal_data__email="").exclude(personal_data=None)
    newest_first = list(receipts.values_list("user", "personal_data__email")[:COUNTED])
    return sums, dict(reversed(newest_first))


def _sum(amounts: Amounts, currency: str) -> str:
    """Return a sum and of how many it is; what is unknown is counted, and never zero."""
    known = [amount for amount in amounts if amount is not None]
    unknown = len(amounts) - len(known)
    parts = []
    if known:
        parts.append(f"{money(sum(known, Decimal(0)), currency)} ({shown_number(len(known))})")
    if unknown:
        text = ngettext("%(n)s without an amount", "%(n)s without an amount", unknown)
        parts.append(text % {"n": shown_number(unknown)})
    return ", ".join(parts)


GRANTED: Final = ("order", "checkout", "opened_at")


def _goods(customer: CheckoutUser, viewer: Viewer) -> Table:
    """Return the goods for which a payment is valid now: the customer's, or given to the account by somebody.

    What belongs to another account is not the customer's, whoever paid for it; what the account has claimed is.
    """
    grants = Grant.objects.filter(state=Grant.State.OPEN).order_by("-pk")
    nobodys = Q(checkout=None) | Q(checkout__user=None, checkout__gift=False)
    bought = grants.filter(nobodys, order__user=customer).exclude(
        checkout__owned_until__lte=datetime.now(UTC)
    )
    owned = Checkout.objects.owned_by(customer.account).order_by("-pk")[:NEWEST] if customer.account else ()
    found = [*bought.values_list(*GRANTED)[:NEWEST]]
    found += grants.filter(checkout__in=[each.pk for each in owned]).values_list(*GRANTED)[:NEWEST]
    # An agreement has a grant for each of its payments: it is owned once, since the first.
    first = {checkout or -order: (order, at) for order, checkout, at in reversed(found)}
    opened: dict[Any, Any] = dict(first.values())
    orders = with_products(Order.objects.filter(pk__in=opened).select_related("checkout")) if opened else ()
    items = OrderItem.objects.filter(order__in=opened).exclude(code="").order_by("position")
    codes: list[tuple[Any, Value]] = [
        (key, viewer.personal(copyable(code, _("activation code"))))
        for key, code in items.values_list("order", "code")
    ]
    rows = [
        [
            (_("product"), short(shown_product(order))),
            (
                _("activation code"),
                format_html_join("", "{}", ((code,) for key, code in codes if key == order.pk)) or NOTHING,
            ),
            (_("order"), viewer.row(order)),
            (_("since"), moment((order.checkout and order.checkout.paid_at) or opened[order.pk])),
        ]
        for order in sorted(orders, key=lambda each: -each.pk)
    ]
    return Table(_("What they own"), rows, "" if rows else _whose(customer))


def _whose(customer: CheckoutUser) -> str:
    """Return whose it is what a guest has bought and an account has claimed; "" where there is no such account."""
    bought = Checkout.objects.filter(orders__user=customer, status=Checkout.Status.PAID, user__isnull=False)
    bought = bought.exclude(user=customer.account_id).exclude(owned_until__lte=datetime.now(UTC))
    owners = get_user_model()._default_manager.filter(pk__in=bought.values("user")).order_by("pk")
    names = ", ".join(map(short, owners[:NEWEST]))
    return _("What they bought belongs to the account %(accounts)s.") % {"accounts": names} if names else ""


def _notes(customer: CheckoutUser, viewer: Viewer) -> Table:
    notes = Transition.objects.filter(order__user=customer, act=Transition.Act.NOTE).exclude(reason="")
    newest = notes.select_related("staff", "order").defer(*ORDER_DOCUMENTS).order_by("-pk")[:NEWEST]
    rows = [
        [
            (_("when"), moment(each.recorded_at)),
            (_("by"), short(each.actor or NOTHING)),
            (_("order"), viewer.row(each.order)),
            (_("note"), visible(each.reason)),
        ]
        for each in newest
    ]
    return Table(_("Notes"), rows)


def _agreements(customer: CheckoutUser, viewer: Viewer) -> Table:
    """Return what the customer pays for again and again, or bought for some days; what an account has claimed is its own."""
    # Where every payment is reversed, there is no end left, but it was an agreement.
    reversed_ones = Q(status=Checkout.Status.REVERSED, lasts_days__isnull=False)
    lasting = Checkout.objects.filter(Q(owned_until__isnull=False) | reversed_ones)
    bought = Q(pk__in=Order.objects.filter(user=customer).values("checkout"))
    if customer.account_id:
        bought = Q(user=customer.account_id) | Q(recipient=customer.account_id) | bought & Q(user=None)
    else:
        bought &= Q(user=None)
    own = lasting.filter(bought).order_by(F("owned_until").desc(nulls_last=True), "-pk")
    rows = [
        [
            (_("agreement"), viewer.link(Checkout, each.pk, _sold(each) or each)),
            # Learnt from the list, a payment is found later than it was made.
            (_("since"), moment(min(filter(None, (each.paid_at, each.renewed_at)), default=None))),
            (_("last payment"), moment(each.renewed_at)),
            (_("paid until"), moment(each.paid_until)),
            (_("owned until"), moment(each.owned_until)),
            (
                _("state"),
                _("ended") if each.has_ended or each.status != Checkout.Status.PAID else _("lasts"),
            ),
        ]
        for each in own[:NEWEST]
    ]
    return Table(_("Agreements"), rows)


def _sold(checkout: Checkout) -> str:
    return checkout.description or ", ".join(map(str, checkout.products))


def _checkouts(customer: CheckoutUser, viewer: Viewer) -> Table:
    """Return the newest checkouts of the customer's account: a guest's are known by their orders."""
    own: Any = (
        Checkout.objects.filter(user=customer.account_id) if customer.account_id else Checkout.objects.none()
    )
    rows = [
        [
            (_("checkout"), viewer.row(each)),
            (_("product"), short(_sold(each))),
            (_("status"), badge(label_of(CHECKOUT_STATUSES, each.status))),
            (_("price"), money(each.expected_amount, each.currency)),
            (_("created"), moment(each.recorded_at)),
        ]
        for each in own.order_by("-recorded_at", "-pk")[:NEWEST]
    ]
    return Table(_("Checkouts of the account"), rows)
