"""The only writer of orders, refunds and users: lock → load → policy → write.

News arrives by notification, list or creation, always as a batch (a notification is a batch of one), always as observations.
Applying a batch twice, or batches in another order, ends in the same state (G3).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from checkout_integration.conf import Project
from checkout_integration.flows.database.connection import locked, read_committed, state_database
from checkout_integration.flows.installation import installed_at
from checkout_integration.flows.ledger.customers import Sighted, find_users, forget_erased
from checkout_integration.flows.ledger.entry import Cause, Entry, Notice
from checkout_integration.flows.ledger.fulfilment import Settlement, settle
from checkout_integration.flows.ledger.locking import load_entries, lock
from checkout_integration.flows.ledger.reversals import absorb, keep_waiting, retarget
from checkout_integration.flows.ledger.writing import write
from checkout_integration.hooks import load_hooks
from checkout_integration.models import Checkout, Order
from checkout_integration.policy.consequences import REVIEWED, new_contradictions, new_events
from checkout_integration.policy.facts import decide
from checkout_integration.policy.observation import Observation, Source, Timing
from checkout_integration.policy.state import observe, unknown_words
from checkout_integration.policy.verdict import Reason, Terms, Verdict, VerdictStatus, judge
from checkout_integration.protocol.vocabulary import OrderStatus

logger = logging.getLogger("checkout_integration.ledger")


def record(
    project: Project, observations: Sequence[Observation], cause: Cause, *, likely_bound: bool = False
) -> list[Entry]:
    """Records a batch and returns an entry for each order in it. ``likely_bound`` as for `locking.lock`.

    One transaction, or a part of the caller's, who cannot go on with it after an exception. Raises ``IntegrityError`` when
    another transaction recorded one of the orders for the first time at the same moment: the caller repeats its whole
    transaction.
    """
    with transaction.atomic(using=state_database(), savepoint=False):
        read_committed()
        batch = compute(project, observations, cause, likely_bound=likely_bound)
        store(project, batch, cause)
    return batch.entries


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What a batch of observations comes to, computed under its locks and not written yet.

    Attributes:
        entries: one for each order.
        settlements: what they mean for checkouts and grants.
        waiting: reversal documents whose orders are not known.
        sighted: the customer of a first order, for `find_users`.

    """

    entries: list[Entry]
    settlements: list[Settlement]
    waiting: Sequence[Observation] = ()
    sighted: Sighted | None = None


def compute(
    project: Project, observations: Sequence[Observation], cause: Cause, *, likely_bound: bool = False
) -> Batch:
    """Return what a batch comes to: lock, load, run the policy and settle. Inside a transaction."""
    observations, waiting = retarget(project, observations)
    held = lock(project, observations, likely_bound=likely_bound)
    entries = load_entries(project, observations, held)
    if held.awaited:
        absorb(project, entries)
    for entry in entries:
        _move(project, entry)
        _resolve(project, entry, held.checkouts)
    terms = _terms(project, entries)
    for entry in entries:
        _judge(entry, terms)
        _follow(entry, cause)
    settlements = settle(project, entries)
    return Batch(entries=entries, settlements=settlements, waiting=waiting, sighted=held.sighted)


def store(project: Project, batch: Batch, cause: Cause) -> None:
    """Write whatever `compute` changed, in the same transaction."""
    keep_waiting(project, batch.waiting)
    find_users(project, batch.entries, batch.sighted)
    forget_erased(project, batch.entries)
    write(project, [entry for entry in batch.entries if entry.to_write], batch.settlements, cause)


def accepted(order: Order, project: Project) -> Batch:
    """Return what it comes to when a payment is accepted: its goods are granted as if it were verified.

    Inside a transaction. Raises ``ValueError`` when the order is not in review or historic, or its payment was reversed.
    """
    entry = _entry_of(order, project)
    if entry.verdict_before.status not in ACCEPTABLE or not entry.before.stands:
        raise ValueError(
            "Only a paid order that is in review, or from before the installation, can be accepted."
        )
    entry.verdict = Verdict(VerdictStatus.ACCEPTED, Reason.BY_STAFF)
    return Batch(entries=[entry], settlements=settle(project, [entry]))


def bound(order: Order, project: Project, find_checkout: Callable[[Entry], Checkout], cause: Cause) -> Batch:
    """Return what it comes to when an order is bound to a checkout: its payment is judged against it.

    Inside a transaction. ``find_checkout`` is called under the order's lock, and locks what it returns. Raises ``ValueError``
    when the order is bound already.
    """
    entry = _entry_of(order, project)
    if entry.row.checkout_id is not None:
        raise ValueError("The order is bound to a checkout already.")
    entry.checkout = find_checkout(entry)
    _judge(entry, _terms(project, [entry]))
    _follow(entry, cause)
    return Batch(entries=[entry], settlements=settle(project, [entry]))


def restore(order: Order, project: Project, staff: AbstractBaseUser, reason: str) -> Entry:
    """Record a staff member's decision that a reversed payment stands after all, such as a dispute that was won.

    A part of the caller's transaction. Raises ``ValueError`` when the payment was not reversed.
    """
    entry = _entry_of(order, project)
    if not entry.before.fully_reversed:
        raise ValueError("Only a payment that was refunded or charged back can be restored.")
    facts = decide(entry.before.facts, OrderStatus.PROCESSED, datetime.now(UTC))
    entry.after = replace(entry.before, facts=facts)
    if not entry.verdict.pays:
        entry.verdict = Verdict(VerdictStatus.ACCEPTED, Reason.BY_STAFF)
    _decide(project, entry, Cause(source=Source.STAFF, staff=staff, reason=reason))
    return entry


ACCEPTABLE = (VerdictStatus.REVIEW, VerdictStatus.HISTORIC)


def _entry_of(order: Order, project: Project) -> Entry:
    known = [Observation(source=Source.STAFF, order=order.snapshot)]
    (entry,) = load_entries(project, known, lock(project, known))
    return entry


def _decide(project: Project, entry: Entry, cause: Cause) -> None:
    """Settle and write what a member of staff decided about one order."""
    store(project, Batch(entries=[entry], settlements=settle(project, [entry])), cause)


def _move(project: Project, entry: Entry) -> None:
    timing = Timing(retry_interval=project.retry_delta, list_margin=project.list_delta)
    for observation in entry.observations:
        entry.after = observe(entry.after, observation, timing)
        entry.incidents.extend(sorted(unknown_words(observation)))


def _resolve(project: Project, entry: Entry, held: list[Checkout]) -> None:
    """Asks the shop which sale an unbound payment is for; ``held`` are the sales of the batch, which it may name again."""
    if entry.checkout is not None or not entry.after.settled or entry.before == entry.after:
        return
    named = load_hooks(project.hooks).resolve_checkout(entry.after.order)
    if named is None:
        return
    entry.checkout = next((each for each in held if each.pk == named.pk), None)
    if entry.checkout is None:
        # Locked after the sales of the batch, whatever its key: a deadlock ends in a repeated transaction.
        own = Checkout.objects.using(state_database()).filter(project=project.alias)
        entry.checkout = locked(own.filter(pk=named.pk)).first()
        held += [entry.checkout] if entry.checkout else []


def _terms(project: Project, entries: Sequence[Entry]) -> Terms:
    """Return what the settings say; when the app was installed is read only for orders without a checkout."""
    unbound = any(entry.checkout is None for entry in entries)
    return Terms(
        installed_at=installed_at(project) if unbound else None,
        accept_unbound=project.unbound_orders == "accept",
        accept_test=project.accept_test_payments,
        historic_margin=project.historic_delta,
    )


def _judge(entry: Entry, terms: Terms) -> None:
    """Decide whether the payment pays for its checkout."""
    sale = entry.checkout.sale if entry.checkout else None
    entry.verdict = judge(entry.after, sale, terms, before=entry.verdict_before)


def _follow(entry: Entry, cause: Cause) -> None:
    """Collect what follows for this order: the service's facts, and what staff should look at."""
    entry.silent = entry.verdict.status is VerdictStatus.HISTORIC and cause.source is Source.LIST
    if entry.silent:
        entry.incidents.clear()
        return
    contradictions = new_contradictions(entry.before, entry.after)
    for event in new_events(entry.before, entry.after):
        signal = event.replace(".", "_")
        entry.notices.append(Notice(signal, (signal, entry.order_id)))
    in_review = entry.after.stands and entry.verdict.status is VerdictStatus.REVIEW
    if in_review and entry.verdict != entry.verdict_before:
        entry.ask_for_review(entry.verdict.reason)
        _say_what_to_set(entry)
    for code in contradictions:
        if code in REVIEWED:
            entry.ask_for_review(code)
        else:
            entry.incidents.append(code)


def _say_what_to_set(entry: Entry) -> None:
    if entry.verdict.reason == Reason.UNBOUND:
        # %r: the id is the service's text, and a line end in it would forge a line of the log (C.10).
        logger.warning(
            "Order %r is paid and bound to no checkout of this shop, so no goods were granted. Sell with "
            "flows.create_checkout, name its checkout in Hooks.resolve_checkout, or set UNBOUND_ORDERS.",
            entry.order_id,
        )
