"""From payments to goods: which order pays a checkout, its status, and the grants that the shop's signals follow.

Called under the locks of the batch. Whoever writes an order that is bound to a checkout has locked the checkout, so its other
orders stay as they are read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.db.models import Q

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import key_of, state_database
from checkout_integration.flows.ledger.entry import Entry, Notice, verdict_of
from checkout_integration.flows.ledger.rows import state_of
from checkout_integration.models import Checkout, Grant, Order
from checkout_integration.policy.fulfilment import (
    Fulfilment,
    Line,
    Payment,
    fulfilment_of,
    grant_changes,
    payment_of,
)
from checkout_integration.policy.verdict import Reason


@dataclass(kw_only=True)
class Settlement:
    """What a batch means for one checkout, or for one order without a checkout.

    ``before`` and ``after`` are the checkout's status and payer; no ``after`` where no money moved. ``orders`` are all orders
    of it, by the service's id; ``grants`` all that were ever opened for it; of these ``changed``, and beside them ``opened``,
    are to be written.
    """

    project: Project
    checkout: Checkout | None
    entries: list[Entry]
    before: tuple[str, int | None] = ("", None)
    orders: dict[str, Order] = field(default_factory=dict)
    payments: list[Payment] = field(default_factory=list)
    grants: list[Grant] = field(default_factory=list)
    opened: list[Grant] = field(default_factory=list)
    changed: list[Grant] = field(default_factory=list)
    after: tuple[str, Order | None] | None = None


def settle(project: Project, entries: Iterable[Entry]) -> list[Settlement]:
    """Return what the changed entries of a batch mean for their checkouts, with the signals in those entries."""
    changed = [entry for entry in entries if entry.changed]
    settlements = _by_checkout(project, changed)
    moved = [settlement for settlement in settlements if any(map(_moves_money, settlement.entries))]
    _load(moved)
    for settlement in moved:
        fulfilment = fulfilment_of(settlement.payments)
        _change_grants(settlement, fulfilment)
        if settlement.checkout is not None:
            _move_checkout(settlement, settlement.checkout, fulfilment)
            _review_second_payments(settlement, settlement.checkout, fulfilment)
    return settlements


def _by_checkout(project: Project, entries: Sequence[Entry]) -> list[Settlement]:
    settlements: dict[object, Settlement] = {}
    for entry in entries:
        checkout = entry.checkout
        key = checkout.pk if checkout else entry.order_id
        if key not in settlements:
            before = (str(checkout.status), checkout.paid_order_id) if checkout else ("", None)
            settlements[key] = Settlement(project=project, checkout=checkout, entries=[], before=before)
        settlements[key].entries.append(entry)
    return list(settlements.values())


def _moves_money(entry: Entry) -> bool:
    """Whether an order became another payment than before, or came to its checkout."""
    before = payment_of(entry.order_id, entry.before, entry.verdict_before)
    return (
        entry.is_new or entry.newly_bound or before != payment_of(entry.order_id, entry.after, entry.verdict)
    )


def _load(settlements: Sequence[Settlement]) -> None:
    """Read the other orders of the checkouts, and the grants, by one statement each where there can be any."""
    checkouts = [each.checkout.pk for each in settlements if each.checkout]
    known = [entry.row.pk for each in settlements for entry in each.entries if not entry.is_new]
    orders = Order.objects.using(state_database()).filter(checkout__in=checkouts).exclude(pk__in=known)
    others = list(orders.select_related("personal_data")) if checkouts else []
    grants = Grant.objects.using(state_database()).filter(Q(checkout__in=checkouts) | Q(order__in=known))
    granted = list(grants.order_by("pk")) if checkouts or known else []
    for settlement in settlements:
        siblings = [
            row for row in others if settlement.checkout and row.checkout_id == settlement.checkout.pk
        ]
        rows = [*(entry.row for entry in settlement.entries), *siblings]
        settlement.orders = {row.order_id: row for row in rows}
        settlement.payments = [
            *(payment_of(entry.order_id, entry.after, entry.verdict) for entry in settlement.entries),
            *(payment_of(row.order_id, state_of(row), verdict_of(row)) for row in siblings),
        ]
        settlement.grants = [grant for grant in granted if _belongs(grant, settlement, rows)]


def _belongs(grant: Grant, settlement: Settlement, rows: Sequence[Order]) -> bool:
    """Whether a grant is the checkout's, or of one of its orders from before that was bound."""
    mine = settlement.checkout is not None and grant.checkout_id == settlement.checkout.pk
    return mine or grant.order_id in {row.pk for row in rows}


def _change_grants(settlement: Settlement, fulfilment: Fulfilment) -> None:
    by_key = {grant.pk: grant for grant in settlement.grants}
    ids = {row.pk: order_id for order_id, row in settlement.orders.items()}
    open_grants = [
        (grant.pk, ids[grant.order_id])
        for grant in settlement.grants
        if grant.state == Grant.State.OPEN and grant.order_id in ids
    ]
    changes = grant_changes(fulfilment, settlement.payments, open_grants)
    for key, order_id in changes.payers.items():
        _keep(settlement, by_key[key], settlement.orders[order_id])
    for key in changes.closed:
        _close(settlement, by_key[key])
    for line in changes.opened:
        _open(settlement, line)


def _keep(settlement: Settlement, grant: Grant, payer: Order) -> None:
    checkout = settlement.checkout.pk if settlement.checkout else None
    if (grant.order_id, grant.checkout_id) == (payer.pk, checkout):
        return
    grant.order, grant.checkout = payer, settlement.checkout
    settlement.changed.append(grant)


def _close(settlement: Settlement, grant: Grant) -> None:
    grant.state, grant.closed_at = Grant.State.CLOSED, datetime.now(UTC)
    settlement.changed.append(grant)
    _notify(settlement, grant, "checkout_reversed")


def _open(settlement: Settlement, line: Line) -> None:
    payer = settlement.orders[line.payer]
    number = 1 + max((grant.number for grant in [*settlement.grants, *settlement.opened]), default=0)
    scope = settlement.checkout.reference if settlement.checkout else payer.order_id
    kind = "checkout" if settlement.checkout else "order"
    grant = Grant(
        key=key_of("grant", settlement.project.alias, kind, scope, number),
        project=settlement.project.alias,
        checkout=settlement.checkout,
        order=payer,
        number=number,
        renewal=line.renewal,
    )
    settlement.opened.append(grant)
    _notify(settlement, grant, "checkout_paid", payer=line.payer)


def _notify(settlement: Settlement, grant: Grant, signal: str, payer: str = "") -> None:
    """Add the signal to the entry of the grant's order, else to the one that caused it."""
    # Not `grant.order`, which would be read; a payer that is not inserted yet has no key.
    own = [entry for entry in settlement.entries if payer == entry.order_id or grant.order_id == entry.row.pk]
    entry = (own or settlement.entries)[0]
    entry.notices.append(Notice(signal, (signal, grant.key), {"renewal": grant.renewal}, grant=grant))


def _move_checkout(settlement: Settlement, checkout: Checkout, fulfilment: Fulfilment) -> None:
    payer = settlement.orders.get(fulfilment.payer)
    settlement.after = (fulfilment.status.value, payer)
    if payer is not None and checkout.paid_at is None:
        checkout.paid_at = datetime.now(UTC)


def _review_second_payments(settlement: Settlement, checkout: Checkout, fulfilment: Fulfilment) -> None:
    """Ask staff to look at payments beside the one that pays: once for each, whichever of them came first."""
    for order_id in fulfilment.paid_twice:
        own = [entry for entry in settlement.entries if entry.order_id == order_id]
        order = settlement.orders[order_id]
        (own or settlement.entries)[0].ask_for_review(Reason.PAID_TWICE, order)


def write_grants(settlements: Iterable[Settlement]) -> None:
    """Write what `settle` opened, closed and gave to another payer. Called after the orders were written."""
    grants = Grant.objects.using(state_database())
    every = list(settlements)
    if opened := [grant for each in every for grant in each.opened]:
        grants.bulk_create(opened)
    if changed := [grant for each in every for grant in each.changed]:
        grants.bulk_update(changed, ["order", "checkout", "state", "closed_at"])
