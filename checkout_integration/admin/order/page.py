"""The page of one order: a summary on top, then the details, then the timeline."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from django.db.models import Q
from django.utils.html import format_html, format_html_join
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.admin.order.fulfilment import (
    GRANT,
    LEFT,
    failures_table,
    fulfilment_summary,
    has_failed,
    is_tried_again,
    mark_paused,
    of_goods,
    runs_by_itself,
)
from checkout_integration.admin.order.payment import (
    paid_summary,
    received_summary,
    reversals_of,
    reversals_table,
    reversed_at,
    verdict_summary,
)
from checkout_integration.admin.order.timeline import NEWEST, history_of, incidents_of, timeline_of
from checkout_integration.admin.site import labels
from checkout_integration.admin.site.fields import Viewer
from checkout_integration.admin.site.labels import Text, label_of
from checkout_integration.admin.site.products import (
    buyer_summary,
    items_of,
    paid_at,
    product_summary,
    product_title,
    recipient_of,
)
from checkout_integration.admin.site.reasons import incident_sentence, reason_sentence
from checkout_integration.admin.site.values import (
    NOTHING,
    Answer,
    FieldGroup,
    Table,
    Value,
    badge,
    copyable,
    field_group,
    hidden,
    link,
    moment,
    money,
    pretty,
    short,
    shown_value,
    visible,
)
from checkout_integration.conf import app_settings
from checkout_integration.display import form_link
from checkout_integration.flows.ledger import state_of
from checkout_integration.flows.monitoring import order_queues
from checkout_integration.flows.outbox import UNFINISHED
from checkout_integration.models import (
    Checkout,
    Grant,
    Incident,
    Order,
    OrderItem,
    OutboxMessage,
    ReceiverRun,
    Refund,
    StaffAct,
    Transition,
)
from checkout_integration.models.order import IS_PAYMENT
from checkout_integration.policy.state import OrderState
from checkout_integration.policy.verdict import VerdictStatus
from checkout_integration.protocol.decoder import Snapshot
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.vocabulary import OrderStatus


def items_table(items: Sequence[OrderItem], viewer: Viewer) -> Table:
    """Return the items as a table."""
    label = _("activation code")
    rows = [
        [
            (_("name"), visible(item.name)),
            (_("SKU"), visible(item.sku or item.item_id)),
            (_("platform"), visible(item.platform)),
            # Anyone who has the code can redeem it.
            (_("activation code"), viewer.personal(copyable(item.code, label)) if item.code else NOTHING),
        ]
        for item in items
    ]
    return Table(_("Items"), rows)


def without_codes(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without activation codes: they are no personal data, but can be redeemed."""
    items = document.get("items")
    if not isinstance(items, list):
        return document
    masked = [
        {**item, "code": "…"} if isinstance(item, dict) and item.get("code") else item for item in items
    ]
    return {**document, "items": masked}


FIELD_GROUPS: Final = (
    (
        gettext_lazy("Order"),
        (
            "id transaction status type description platform_id country created_at canceled canceled_at cancellation "
            "refunded refunded_at is_production testing_case form_mode recurring recurring_id"
        ),
    ),
    (
        gettext_lazy("Money"),
        (
            "amount currency original_amount charge_amount charge_currency vat_payer tax fee net_revenue "
            "virtual_currency_amount is_buy_for_virtual_currency"
        ),
    ),
    (gettext_lazy("Refund"), "refund"),
    (gettext_lazy("Customer"), "user billing_address"),
    (gettext_lazy("Payment method"), "method"),
    (
        gettext_lazy("Receipt and agreement"),
        (
            "receipt_number receipt_id receipt_url receipt_email receipt_phone agreement_version agreement_accepted "
            "notify_sale notify_sale_email"
        ),
    ),
    (gettext_lazy("Origin"), "issuer merchant_info metadata"),
)
_NOT_SPECIFIED: Final = {field.name for field in dataclasses.fields(Snapshot)}


def field_groups_of(order: Order, *, sees_personal_data: bool) -> list[FieldGroup]:
    """Return the fields that the service sent; personal values are hidden from those who may not see them."""
    whole, public = order.snapshot, parse_order(order.document)
    seen = whole if sees_personal_data else public
    return [
        dataclasses.replace(field_group(title, _fields(whole, seen, names.split())), specified=True)
        for title, names in FIELD_GROUPS
    ]


def _fields(whole: Any, seen: Any, names: list[str], prefix: str = "") -> Iterator[tuple[str, Value]]:
    for name in names:
        value, shown = getattr(whole, name), getattr(seen, name, None)
        label = f"{prefix}{name.replace('_', ' ')}"
        if value in (None, "", {}):
            continue
        if isinstance(value, Snapshot):
            inner = [field.name for field in dataclasses.fields(value) if field.name not in _NOT_SPECIFIED]
            yield from _fields(value, shown, inner, f"{label} · ")
        else:
            yield label, hidden() if shown in (None, "", {}) else shown_value(name, shown)


def order_page(order: Order, viewer: Viewer) -> dict[str, Any]:
    """Return all that ``order_page.html`` shows. The number of SQL statements does not depend on the length of its history.

    ``suggested``: the buttons for its state, by name; the first one that is offered stands out.
    """
    about = OutboxMessage.objects.about([order])
    messages = list(about.select_related("grant").order_by("-pk")[:NEWEST])
    runs = list(
        ReceiverRun.objects.filter(message__in=about).select_related("message").order_by("-pk")[:NEWEST]
    )
    mark_paused(runs)
    state, items, reversals = state_of(order), items_of(order), reversals_of(order)
    incidents = incidents_of(order)
    history = history_of(order)
    twice = dict(_paid_again(order, viewer))
    sentence, suggested = _what_to_do(
        order, state, reversals, messages, runs, incidents, paid_again=any(twice.values())
    )
    status = labels.order_label(state)
    changed = format_html(_("last read or changed here: {}"), moment(order.changed_at))
    timeline = timeline_of(order, viewer, history, messages, runs, incidents, reversals)
    return {
        "headline": [_what_and_when(order, items, viewer), sentence],
        "suggested": suggested,
        "at_service": _at_service(order),
        "giving_back": _giving_back(order) if state.stands else "",
        "badges": [
            badge(status),
            badge(labels.mode_label(order)),
            badge(label_of(labels.VERDICTS, order.verdict)),
            *([badge(labels.BLOCKED)] if order.user and order.user.blocked_at else []),
        ],
        "notes": [*_note_of_staff(history), *twice],
        "summary": [
            (_("What was bought?"), product_summary(order, items)),
            (_("Who bought it?"), buyer_summary(order, viewer)),
            (_("Is it for a checkout of this shop?"), verdict_summary(order, state, viewer, history)),
            (_("What did the customer pay?"), paid_summary(order, state, viewer, reversals)),
            (_("What does the shop receive?"), received_summary(order, state, reversals)),
            (_("Were the goods granted?"), fulfilment_summary(order, messages, runs)),
            (_("What is its status?"), Answer(badge(status), [status.meaning, changed])),
            (_("Where is the receipt?"), _receipt(order, viewer)),
        ],
        "in_this_shop": _in_this_shop(order, viewer),
        "field_groups": field_groups_of(order, sees_personal_data=viewer.sees_personal_data),
        "tables": [
            failures_table(runs, viewer),
            items_table(items, viewer),
            reversals_table(reversals, viewer),
        ],
        "timeline": timeline,
        "story": [each for each in timeline if not each.engine],
        "engine_room": [each for each in timeline if each.engine],
        "document_title": _("The order as sent by the service (JSON)")
        if viewer.sees_personal_data
        else _("The order as sent by the service, without personal data (JSON)"),
        "document": pretty(
            order.whole_document if viewer.sees_personal_data else without_codes(order.document)
        ),
    }


def _what_and_when(order: Order, items: Sequence[OrderItem], viewer: Viewer) -> Value:
    """Return the order in one line: product, price, customer, and when the service says that it was paid."""
    product, price = product_title(order, items) or _("unknown product"), money(order.amount, order.currency)
    state = state_of(order)
    at, status = None if state.fully_reversed else paid_at(order.facts), labels.order_label(state).text
    ordered = format_html(_("ordered {}, now: {}"), moment(order.created_at or order.recorded_at), status)
    paid = format_html(_("paid {}"), moment(at)) if at else ordered
    buyer = buyer_summary(order, viewer).value
    who = _("unknown customer") if buyer == NOTHING else buyer
    return format_html("{} · {} · {} · {}", short(product), price, who, paid)


def _what_to_do(
    order: Order,
    state: OrderState,
    reversals: Sequence[Refund],
    messages: Sequence[OutboxMessage],
    runs: Sequence[ReceiverRun],
    incidents: Sequence[Incident],
    *,
    paid_again: bool,
) -> tuple[Value, Sequence[str]]:
    """Return in one sentence what somebody has to do, and since when; mostly nothing. And the buttons that do it."""
    since = _("{} Since {}.")
    if order.verdict == VerdictStatus.REVIEW and state.stands:
        decide = _("Somebody has to decide: {} What is not accepted, refund at the service.")
        text = format_html(decide, reason_sentence(order.verdict_reason))
        return format_html(since, text, moment(order.recorded_at)), ("accept",) if order.checkout else (
            "bind",
        )
    if failed := _of_failures(runs):
        return failed
    incident = next((each for each in incidents if each.resolved_at is None), None)
    if incident is not None:
        text = format_html(_("Somebody has to look: {}"), incident_sentence(incident.kind))
        return format_html(since, text, moment(incident.recorded_at)), ("check",)
    if not state.settled and state.status in (OrderStatus.CREATED, OrderStatus.PENDING):
        return _("No payment has come yet. If the customer has paid, check with the service."), ("check",)
    granting = [each for each in messages if each.signal == GRANT]
    if granting and (queue := _goods_queue(order)):
        text = format_html(_("Somebody has to look: {}."), queue)
        return format_html(since, text, moment(granting[-1].recorded_at)), ("check",)
    is_guests = order.checkout is not None and order.checkout.owner_id is None and not order.checkout.gift
    fetched = [each.grant for each in granting if each.grant and each.grant.waits_for_server]
    goods = [of_goods(order, state, messages, runs)]
    if fetched and is_guests:  # the claim is what the shop's code waits for, too
        goods = [_("The goods wait until the guest adds the purchase to an account.")]
    elif fetched:
        goods.insert(0, _("The goods wait for a game server."))
    lines = [*_of_renewal(order, state), *_of_money(order, state, reversals), *goods]
    delivered = [run.finished_at for run in runs if run.state == ReceiverRun.State.DONE]
    delivered += [each.grant.acknowledged_at for each in granting if each.grant]
    is_elsewhere = state.stands and _was_elsewhere(order, [at for at in delivered if at])
    at_last = _at_last(order, state, paid_again=paid_again, is_elsewhere=is_elsewhere)
    is_busy = LEFT in goods or any(run.state in UNFINISHED for run in runs)
    lines.append(at_last or ("" if is_busy else _("Nothing to do.")))
    waits = is_guests and (fetched or any(run.is_postponed for run in runs))
    button = "link-account" if waits else "check"
    return format_html_join(" ", "{}", [(line,) for line in lines if line]), (button,)


def _at_last(order: Order, state: OrderState, *, paid_again: bool, is_elsewhere: bool) -> Value:
    """Return what is left to somebody where nothing waits or has failed; mostly ""."""
    if state.status == OrderStatus.CHARGEBACK:
        return _("To contest it at the bank, download the evidence.")
    if order.verdict == VerdictStatus.ACCEPTED and order.checkout is None and state.stands:
        return _(
            "Accepted without a checkout: the shop's code may have delivered nothing. Look, and deliver by hand."
        )
    if paid_again and state.stands:
        return _("Look at the customer's other order below: perhaps one of them is too many.")
    if is_elsewhere:
        return _("Another account had this purchase before: what was delivered there is moved by hand.")
    return ""


def _was_elsewhere(order: Order, delivered: Sequence[datetime]) -> bool:
    """Return whether it was delivered when another account had it: by a link, or a claim that was undone."""
    checkout, customer = order.checkout, order.user
    if checkout is None or not delivered:
        return False
    if checkout.claimed_at or checkout.user_id is None:
        undone = StaffAct.objects.filter(order=order, act=StaffAct.Act.UNCLAIM)
        for lost in undone.exclude(account=checkout.user_id):
            if any(datetime.fromisoformat(lost.detail) <= at < lost.recorded_at for at in delivered):
                return True
    linked_at = customer.linked_at if customer else None
    before = [at for at in delivered if linked_at is None or at < linked_at]
    if not (customer and before and (checkout.by_link or checkout.user_id is None)):
        return False
    links = StaffAct.objects.filter(customer=customer, act=StaffAct.Act.LINK)
    return links.exclude(account=checkout.user_id).exists()


def _of_failures(runs: Sequence[ReceiverRun]) -> tuple[Value, Sequence[str]] | None:
    """Return what to do about code of the shop that has failed; None if none has."""
    failing = [run for run in runs if has_failed(run)]
    if not failing:
        if not any(map(is_tried_again, runs)):
            return None
        return _(
            "The shop's code has failed, and runs again now. Reload this page to see what came of it."
        ), ()
    what = _(
        "The shop's code was given up: an engineer finds the place below. When it is corrected, run it again."
    )
    if all(run.state != ReceiverRun.State.FAILED for run in failing):
        again = _("by itself") if runs_by_itself() else _("with the next notification")
        what = _(
            "The shop's code has failed, and runs again %(again)s: an engineer finds the place below. Running it before it "
            "is corrected costs an attempt."
        ) % {"again": again}
    causes = {run.waited_for for run in failing}
    if "" not in causes:
        what = _(
            "What the shop's code waits for has not come in time: %(cause)s. Once it is there, run the code again."
        ) % {"cause": visible(", ".join(sorted(causes)))}
    grants = [run.message.grant for run in failing if run.message.signal == GRANT]
    if len(grants) == len(failing) and all(each and each.state == Grant.State.CLOSED for each in grants):
        what = _(
            "The shop's code was given up, and the payment was reversed since: there is nothing to grant any more. Run the "
            "code once, and it ends without doing anything."
        )
    since = moment(min(run.message.recorded_at for run in failing))
    return format_html(_("{} Since {}."), what, since), ("run",)


def _of_renewal(order: Order, state: OrderState) -> Iterator[Value]:
    """Yield that it is a renewal, until when it is paid, or what follows where it was not paid."""
    checkout = order.checkout
    if not order.recurring_id or checkout is None:
        return
    if state.settled and order.order_id != checkout.order_id and checkout.paid_until:
        yield format_html(
            _("This is a renewal: its agreement is paid until {}."), moment(checkout.paid_until)
        )
    if state.settled:
        return
    if checkout.paid_order_id in (None, order.pk):
        return
    yield _("This is a renewal, and it was not paid.")
    if checkout.owned_until:
        yield format_html(_("What was paid before is owned until {}."), moment(checkout.owned_until))
    else:
        yield _("The shop has said no end, so the customer keeps what was paid for before.")


def _of_money(order: Order, state: OrderState, reversals: Sequence[Refund]) -> Iterator[Value]:
    """Yield that a payment is reversed, or that a part of it was given back."""
    if state.fully_reversed:
        at = reversed_at(order, reversals, state.status)
        yield format_html("{} {}.", capfirst(labels.order_label(state).text), moment(at))
    elif state.partial:
        yield _("A part of the money was given back: that takes no goods back.")
    elif order.verdict == VerdictStatus.REVOKED:
        yield _(
            "The goods were revoked by staff, and the money stays with the shop. “Accept this payment” gives them back."
        )


def _goods_queue(order: Order) -> Text:
    """Return the name of the queue in which the order waits for its goods, as the front page has it; "" for none."""
    queues = order_queues()
    waiting = (queues[name] for name in ("not_granted", "undelivered"))
    return next((label for label, rows in waiting if Order.objects.filter(rows, pk=order.pk).exists()), "")


def _at_service(order: Order) -> Value:
    """Return a link to the service's own page of the order, where the settings have its address."""
    project = app_settings().projects.get(order.project)
    if project is None or not project.order_url:
        return ""
    address = project.order_url.replace("{order_id}", quote(order.order_id, safe=""))
    return format_html('<a href="{}" rel="noopener noreferrer">{}</a>', address, _("Open at the service"))


def _giving_back(order: Order) -> Value:
    """Return where money is given back, with the link to the service's page where the settings have its address."""
    text, link = (
        _(
            "Money is given back at the service only. After a refund of all of it the shop's code takes back what was "
            "delivered."
        ),
        _at_service(order),
    )
    return format_html("{} {}", text, link) if link else text


def _note_of_staff(history: Sequence[Transition]) -> Iterator[Value]:
    """Yield the newest note of a colleague, who wrote it to be read."""
    for note in [each for each in history if each.act == Transition.Act.NOTE and each.reason][:1]:
        at, author = moment(note.recorded_at), short(note.actor or NOTHING)
        yield format_html(_("Note by {}, {}: {}"), author, at, visible(note.reason))


SOON: Final = timedelta(days=1)
"""Within so long, a second payment of a customer for the same product may be one too many."""


def _paid_again(order: Order, viewer: Viewer) -> Iterator[tuple[Value, bool]]:
    """Yield the newest other payments of the customer for the same product, made about the same time; does it stand?

    A renewal is not one too many.
    """
    if order.user_id is None or order.created_at is None or not order.product:
        return
    near = Q(created_at__gte=order.created_at - SOON, created_at__lte=order.created_at + SOON)
    same = Order.objects.filter(IS_PAYMENT, near, user=order.user_id, product=order.product)
    if order.recurring_id:
        same = same.exclude(recurring_id=order.recurring_id)
    for other in same.exclude(pk=order.pk).order_by("-created_at")[:3]:
        note = format_html(
            _("The customer paid for the same product in another order too, {}: {} ({}, {})"),
            moment(other.created_at),
            viewer.row(other),
            money(other.amount, other.currency),
            labels.status_label(other).text,
        )
        stands = state_of(other).stands
        yield format_html("{}. {}", note, _giving_back(other)) if stands else note, stands


def _receipt(order: Order, viewer: Viewer) -> Answer:
    number = visible(order.receipt_number)
    if not order.receipt_url:
        none = _("The service sent no link to a receipt.")
        personal_data = getattr(order, "personal_data", None)
        if personal_data and personal_data.erased_at:
            none = _("Its address was erased with the customer's data.")
        return Answer(number or NOTHING, [none])
    address = viewer.personal(link(order.receipt_url, loopback=labels.is_test(order)))
    return Answer(number or _("at the service"), [address])


def _in_this_shop(order: Order, viewer: Viewer) -> FieldGroup:
    checkout = order.checkout
    account = checkout.user if checkout else None
    linked = order.user.account if order.user else None
    subject = checkout.subject_type if checkout else None
    subject_class = subject.model_class() if subject else None
    return field_group(
        _("In this shop"),
        [
            (_("order id"), copyable(order.order_id, _("order id"))),
            (_("transaction"), copyable(order.transaction, _("transaction"))),
            (_("project"), visible(order.project)),
            (_("checkout"), viewer.row(checkout)),
            (_("reference"), copyable(checkout.reference if checkout else "", _("Checkout reference"))),
            (_("customer"), viewer.row(order.user)),
            (_("account"), viewer.row(account)),
            (_("a gift for"), recipient_of(order, viewer)),
            (_("account of the customer"), viewer.row(linked if linked != account else None)),
            (
                _("thing of the shop"),
                viewer.link(subject_class, checkout.subject_id, f"{subject} {checkout.subject_id}")
                if checkout and subject_class
                else "",
            ),
            (_("origin"), short(order.origin)),
            (_("payment form"), _form_link(checkout, viewer)),
            (_("conflicting values"), visible(", ".join(map(str, order.conflicts)))),
            (_("first seen"), moment(order.recorded_at)),
            (_("last change"), moment(order.changed_at)),
        ],
    )


def _form_link(checkout: Checkout | None, viewer: Viewer) -> Value:
    """Return the address of the form, to copy, while the customer can pay; its token is personal."""
    address = form_link(checkout) if checkout else ""
    return viewer.personal(copyable(address, _("Address of the payment form"))) if address else ""
