"""The evidence of an order for a bank that decides about a chargeback: one page to read, and an annex, in a ZIP file.

The bank reads what was sold, to whom, why the payment is genuine, and when the goods were delivered and used. It reads
nothing of how the shop works: no fee or net revenue, no notes or reasons of staff, no names of staff or of code; and nothing
that does not help the shop: what is not known is left out. So this module names all that is in the file.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import reduce
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils.formats import date_format
from django.utils.timezone import get_default_timezone, is_aware, localtime, make_aware
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from checkout_integration.admin.order.payment import losses_of, reversals_of
from checkout_integration.admin.site.downloads import csv_text
from checkout_integration.admin.site.labels import ORDER_STATUSES, Text, is_test, label_of, order_label
from checkout_integration.admin.site.products import (
    account_of,
    items_of,
    paid_at,
    product_title,
    shown_product,
    with_products,
)
from checkout_integration.admin.site.values import NOTHING, money, visible
from checkout_integration.conf import app_settings
from checkout_integration.display import amount_text, shown_day
from checkout_integration.flows.ledger import state_of
from checkout_integration.hooks import load_hooks
from checkout_integration.models import Grant, Order, OutboxMessage, ReceiverRun, Transition
from checkout_integration.models.order import IS_TEST
from checkout_integration.policy.log_safety import error_location
from checkout_integration.policy.state import SETTLED_KINDS
from checkout_integration.protocol.vocabulary import OrderStatus

logger = logging.getLogger("checkout_integration.support")
NEWEST: Final = 200
"""Earlier purchases, grants and runs that are read; an order has a handful."""
MOST_SHOWN: Final = 8
"""Earlier purchases, and proofs of use, on the page; the annex has all."""
IN_MEMORY: Final = 2**20
DETAILS: Final = (
    (gettext_lazy("transaction"), "transaction"),
    (gettext_lazy("order id"), "id"),
    (gettext_lazy("receipt number"), "receipt_number"),
    (gettext_lazy("description"), "description"),
    (gettext_lazy("name"), "user.name"),
    (gettext_lazy("e-mail"), "user.email"),
    (gettext_lazy("e-mail of the receipt"), "receipt_email"),
    (gettext_lazy("phone"), "user.phone"),
    (gettext_lazy("customer's id in the shop"), "user.external_id"),
    (gettext_lazy("IP address"), "user.ip"),
    (gettext_lazy("country of the payment"), "country"),
    (gettext_lazy("country of the customer"), "user.address.country"),
    (gettext_lazy("city of the customer"), "user.address.city"),
    (gettext_lazy("country of the bill"), "billing_address.country"),
    (gettext_lazy("state of the bill"), "billing_address.state"),
    (gettext_lazy("zip of the bill"), "billing_address.zip"),
    (gettext_lazy("payment method"), "method.title"),
    (gettext_lazy("card brand"), "method.card.brand"),
    (gettext_lazy("card, first six digits"), "method.card.first6"),
    (gettext_lazy("card, last four digits"), "method.card.last4"),
    (gettext_lazy("wallet account"), "method.wallet.account"),
    (gettext_lazy("version of the accepted agreement"), "agreement_version"),
)
"""What the annex has of the order as the service stated it."""


class Event(NamedTuple):
    """Something that happened, in the words of the page."""

    at: datetime
    text: Text


class Earlier(NamedTuple):
    """A purchase of the same customer before this one, and what both have in common."""

    order: Order
    product: str
    common: Sequence[Text]


def proof_of_use(order: Order) -> list[Event] | None:
    """Return what the shop says of the use of the goods; None where its hook failed, which is logged."""
    try:
        uses = load_hooks(app_settings().project(order.project).hooks).proof_of_use(order)
        return sorted(Event(_aware(each.at), visible(each.text)) for each in uses)
    except (Exception, SystemExit) as failed:  # noqa: BLE001  # the shop's own code
        logger.error(
            "The hook proof_of_use failed: %s", error_location(failed), extra={"order_id": order.order_id}
        )
        return None


def evidence_of(order: Order, uses: Sequence[Event]) -> IO[bytes]:
    """Return the ZIP file of an order, to be read from its beginning. It is full of personal data."""
    earlier = _earlier(order)
    timeline = sorted([*_moments(order), *_delivery(order), *uses])
    annex: dict[str, list[Sequence[Any]]] = {
        "details.csv": [
            (_("detail"), _("value")),
            *(
                (label, value)
                for label, path in DETAILS
                if (value := _at_path(order, path)) not in (None, "")
            ),
        ],
        "timeline.csv": [(_("when"), _("what")), *timeline],
        "items.csv": [
            (_("name"), _("SKU"), _("platform")),
            *((each.name, each.sku, each.platform) for each in items_of(order)),
        ],
        "earlier-purchases.csv": [
            (_("when"), _("transaction"), _("product"), _("amount"), _("currency"), _("in common")),
            *map(_row, earlier),
        ],
    }
    page = render_to_string("admin/checkout_integration/evidence.html", _page(order, timeline, uses, earlier))
    files = {"summary.html": page.encode()}
    files |= {f"annex/{name}": csv_text(rows) for name, rows in annex.items()}
    sums = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items()]
    file: IO[bytes] = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  # the response closes it
    with ZipFile(file, "w", ZIP_DEFLATED) as pack:
        for name, content in {**files, "annex/checksums-sha256.txt": "".join(sums).encode()}.items():
            pack.writestr(name, content)
    file.seek(0)
    return file


def _page(
    order: Order, timeline: Sequence[Event], uses: Sequence[Event], earlier: Sequence[Earlier]
) -> dict[str, Any]:
    """Return the context of the page."""
    price, state = money(order.amount, order.currency), state_of(order)
    losses = losses_of(order, state, reversals_of(order))
    personal_data = getattr(order, "personal_data", None)
    facts = [
        (_("status"), order_label(state).text),
        (_("sold"), visible(product_title(order, items_of(order)))),
        (_("price"), price),
        (_("charged"), money(order.charge_amount, order.charge_currency)),
        (_("paid"), _time(paid_at(order.facts))),
        *((label_of(ORDER_STATUSES, kind).text, sums) for kind, sums in losses.items()),
        (_("transaction"), visible(order.transaction)),
        (_("order id"), visible(order.order_id)),
        (_("receipt number"), visible(order.receipt_number)),
    ]
    left_out = uses[MOST_SHOWN:]
    return {
        "amount": price,
        "merchant": visible(_at_path(order, "merchant_info.company_name") or ""),
        "made_at": _time(datetime.now(UTC)),
        "is_test": is_test(order),
        "erased": bool(personal_data and personal_data.erased_at),
        "facts": [(label, value) for label, value in facts if value not in ("", NOTHING)],
        "customer": list(_customer(order)),
        "genuine": [*_authentication(order), *_about_earlier(earlier)],
        "timeline": [(_time(each.at), each.text) for each in timeline if each not in left_out],
        "left_out": len(left_out),
        "no_payment": state.status not in SETTLED_KINDS,
        "no_use": not uses,
        "earlier": [
            (
                _time(each.order.created_at),
                each.product,
                money(each.order.amount, each.order.currency),
                each.common,
            )
            for each in earlier[:MOST_SHOWN]
        ],
    }


def _at_path(order: Order, path: str) -> Any:
    """Return a value of the order as the service stated it; None where it did not."""
    value: Any = order.snapshot
    return reduce(lambda part, name: getattr(part, name, None), path.split("."), value)


def _customer(order: Order) -> Iterator[Text]:
    """Yield who bought it, in sentences: what is known."""
    name, email, address = (_at_path(order, path) for path in ("user.name", "user.email", "user.address"))
    email = email or order.receipt_email
    if name:
        yield _("Name: %(name)s.") % {"name": visible(name)}
    if email:
        yield _("E-mail address: %(email)s.") % {"email": visible(email)}
    if email and _at_path(order, "user.email_verified"):
        yield _("The e-mail address was verified.")
    if account := account_of(order):
        yield _("Account in the shop: %(account)s.") % {"account": visible(account)}
        since = getattr(account, "date_joined", None)
        if since and since <= (order.created_at or order.recorded_at):
            yield _("The account exists since %(at)s.") % {"at": _time(since)}
    if _is_gift(order):
        yield _("The customer bought it as a gift for another account of the shop, which got the goods.")
    if country := order.country or (address.country if address else ""):
        yield _("Country: %(country)s.") % {"country": visible(country)}


def _is_gift(order: Order) -> bool:
    """Return whether the goods went to another account. That is all that a bank learns of it."""
    return order.checkout is not None and order.checkout.gift


def _authentication(order: Order) -> Iterator[Text]:
    """Yield how it was paid and authenticated, in sentences: what speaks for the payment."""
    method, ip = order.snapshot.method, _at_path(order, "user.ip")
    card = method.card if method else None
    if method and (title := method.title):
        yield _("It was paid with: %(method)s.") % {"method": visible(title)}
    if card and card.last4:
        yield _("The number of the card (%(brand)s) ends in %(digits)s.") % {
            "brand": visible(card.brand or NOTHING),
            "digits": visible(card.last4),
        }
    if card and card.secure3d:
        yield _("The cardholder was authenticated with 3-D Secure.")
    if wallet := _at_path(order, "method.wallet.account"):
        yield _("The account of the wallet is %(account)s.") % {"account": visible(wallet)}
    if ip:
        yield _("The customer bought from the IP address %(ip)s.") % {"ip": visible(ip)}
    for text, path in ADDRESSES:
        parts = [
            _at_path(order, f"{path}.{name}") for name in ("zip", "postal_code", "city", "state", "country")
        ]
        if given := ", ".join(visible(part) for part in parts if part):
            yield text % {"address": given}
    if order.agreement_accepted:
        yield _("The customer accepted the agreement with the payment, version: %(version)s.") % {
            "version": visible(order.agreement_version or NOTHING)
        }


ADDRESSES: Final = (
    (gettext_lazy("The billing address that was given is: %(address)s."), "billing_address"),
    (gettext_lazy("The address of the customer is: %(address)s."), "user.address"),
)


def _moments(order: Order) -> Iterator[Event]:
    """Yield when it was ordered, paid, refunded and charged back, as the service says."""
    if order.created_at:
        yield Event(order.created_at, _("The customer ordered."))
    if paid := paid_at(order.facts):
        yield Event(paid, _("The payment was successful."))
    for each in reversals_of(order):
        if each.refunded_at:
            amount = money(each.amount, each.currency) if each.amount is not None else _("an unknown amount")
            charged_back = each.status == OrderStatus.CHARGEBACK
            text = _("The bank charged back %(sum)s.") if charged_back else _("The shop refunded %(sum)s.")
            yield Event(each.refunded_at, text % {"sum": amount})


def _delivery(order: Order) -> Iterator[Event]:
    """Yield when the goods were delivered and taken back, for each time that the payment opened them."""
    messages = OutboxMessage.objects.about([order])
    runs = ReceiverRun.objects.filter(message__in=messages).select_related("message").order_by("-pk")[:NEWEST]
    by_hand = Transition.objects.filter(order=order, act=Transition.Act.MARK_GRANTED)
    for grant in Grant.objects.filter(order=order).select_related("checkout").order_by("-pk")[:NEWEST]:
        own = [each for each in runs if each.message.grant_id == grant.pk]
        # Without a checkout the shop's code learns of no goods: that it ran shows no delivery.
        delivering = [
            each
            for each in own
            if each.message.signal == "checkout_paid"
            and each.state != ReceiverRun.State.SUPERSEDED
            and (each.message.checkout_id or each.receiver in grant.completed)
        ]
        done = [each.finished_at for each in delivering if each.state == each.State.DONE and each.finished_at]
        if done:
            whole = len(done) == len(delivering)
            text = _("The goods were delivered.") if whole else _("A part of the goods was delivered.")
            if whole and grant.checkout and grant.checkout.user_id and not _is_gift(order):
                text = _("The goods were delivered to the account of the customer in the shop.")
            yield Event(max(done), text)
        elif grant.completed:
            marked = by_hand.filter(recorded_at__gte=grant.opened_at).order_by("-pk")
            at = marked.values_list("recorded_at", flat=True)[:1]
            text = _("The goods were delivered, at this time or later.")
            yield Event(next(iter(at), grant.opened_at), text)
        elif app_settings().goods == "pull":
            text = _("The goods were available in the account of the customer.")
            if _is_gift(order):
                text = _("The gift was available to its recipient.")
            yield Event(grant.opened_at, text)
        taken = [
            each.finished_at
            for each in own
            if each.message.signal == "checkout_reversed"
            and each.state == each.State.DONE
            and each.finished_at
        ]
        if taken and grant.closed_at:
            yield Event(max(taken), _("The goods were taken back."))


def _earlier(order: Order) -> list[Earlier]:
    """Return the undisputed purchases of the customer before this one, those with most in common first."""
    if order.user_id is None or order.created_at is None:
        return []
    known = Order.objects.filter(
        user=order.user_id, status=OrderStatus.PROCESSED, created_at__lt=order.created_at
    )
    orders: QuerySet[Order] = known.exclude(refunds__status=OrderStatus.CHARGEBACK)
    orders = orders.filter(IS_TEST) if is_test(order) else orders.exclude(IS_TEST)
    newest = with_products(orders).select_related("personal_data", "checkout").order_by("-created_at", "-pk")
    purchases = [
        Earlier(each, visible(shown_product(each)) or NOTHING, _common(order, each))
        for each in newest[:NEWEST]
    ]
    return sorted(purchases, key=lambda each: -len(each.common))


COMPARED: Final = (
    (gettext_lazy("card"), ("method.card.first6", "method.card.last4")),
    (gettext_lazy("IP address"), ("user.ip",)),
    (gettext_lazy("e-mail"), ("user.email",)),
)


def _common(order: Order, other: Order) -> list[Text]:
    """Return what two orders have in common; what one of them does not state is not."""
    return [
        label
        for label, paths in COMPARED
        if all(_at_path(order, path) and _at_path(order, path) == _at_path(other, path) for path in paths)
    ]


def _about_earlier(earlier: Sequence[Earlier]) -> Iterator[Text]:
    if earlier:
        count, first = len(earlier), min(each.order.created_at or each.order.recorded_at for each in earlier)
        text = ngettext(
            "The customer has %(n)s earlier purchase that was not disputed, made at %(at)s.",
            "The customer has %(n)s earlier purchases that were not disputed, the first of them made at %(at)s.",
            count,
        )
        yield text % {"n": count if count < NEWEST else f"{count}+", "at": _time(first)}


def _row(earlier: Earlier) -> Sequence[Any]:
    """Return an earlier purchase for the annex."""
    order = earlier.order
    amount = "" if order.amount is None else amount_text(order.amount, order.currency)
    common = ", ".join(map(str, earlier.common))
    return order.created_at, order.transaction, earlier.product, amount, order.currency, common


def _aware(at: datetime) -> datetime:
    return at if is_aware(at) else make_aware(at, get_default_timezone())


def _time(at: datetime | None) -> str:
    """Return a time with its zone: whoever reads it may be in another one."""
    if at is None:
        return NOTHING
    local = localtime(_aware(at))
    return f"{shown_day(local)} {date_format(local, 'H:i:s T')}"
