"""The only writer of orders, refunds and users: lock → load → policy → write.

News arrives by notification, list or creation, always as a batch (a notification is a batch of one), always as observations.
Applying a batch twice, or batches in another order, ends in the same state (G3).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from checkout_integration.conf import Project
from checkout_integration.flows.customers import find_users, forget_erased
from checkout_integration.flows.database import locked, read_committed, state_database
from checkout_integration.flows.entry import Cause, Entry, Notice
from checkout_integration.flows.grants import announce_review, grant, take_back
from checkout_integration.flows.installation import installed_at
from checkout_integration.flows.locking import load_entries, lock
from checkout_integration.flows.reversals import absorb, keep_waiting, retarget
from checkout_integration.flows.writing import write
from checkout_integration.hooks import load_hooks
from checkout_integration.models import Checkout, Order
from checkout_integration.policy.consequences import REVIEWED, new_contradictions, new_events
from checkout_integration.policy.observation import Observation, Source, Timing
from checkout_integration.policy.state import observe, unknown_words
from checkout_integration.policy.verdict import Reason, Verdict, VerdictStatus, is_historic, judge

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
        observations, waiting = retarget(project, observations)
        held = lock(project, observations, likely_bound=likely_bound)
        keep_waiting(project, waiting)
        entries = load_entries(project, observations, held)
        if held.awaited:
            absorb(project, entries)
        historic_before = installed_at(project) if cause.source is Source.LIST else None
        for entry in entries:
            _move(project, entry)
            _resolve(project, entry, held.checkouts)
            _judge(project, entry, historic_before)
            _follow(entry, cause)
        find_users(project, entries, held.sighted)
        forget_erased(project, entries)
        write(project, [entry for entry in entries if entry.changed or entry.incidents], cause)
    return entries


def accept(order: Order, project: Project, staff: AbstractBaseUser, reason: str) -> Entry:
    """Records a staff member's acceptance of a payment in review: its goods are granted as if it were verified.

    A part of the caller's transaction. Raises ``ValueError`` when the order is not in review, or its payment was taken back.
    """
    cause = Cause(source=Source.STAFF, staff=staff, reason=reason)
    known = [Observation(source=Source.STAFF, order=order.snapshot)]
    (entry,) = load_entries(project, known, lock(project, known))
    if entry.verdict_before.status is not VerdictStatus.REVIEW or not entry.before.paid:
        raise ValueError("Only a paid order that is in review can be accepted.")
    entry.verdict = Verdict(VerdictStatus.ACCEPTED, Reason.BY_STAFF)
    grant(entry)
    write(project, [entry], cause)
    return entry


def _move(project: Project, entry: Entry) -> None:
    timing = Timing(retry_interval=project.retry_delta, list_margin=project.list_delta)
    for observation in entry.observations:
        entry.after = observe(entry.after, observation, timing)
        entry.incidents.extend(sorted(unknown_words(observation)))


def _resolve(project: Project, entry: Entry, held: list[Checkout]) -> None:
    """Asks the shop which sale an unbound payment is for; ``held`` are the sales of the batch, which it may name again."""
    if entry.checkout is not None or not entry.after.succeeded or entry.before == entry.after:
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


def _judge(project: Project, entry: Entry, historic_before: datetime | None) -> None:
    """Decides whether the payment pays for its sale. What was decided once for good stands."""
    held = entry.verdict_before
    if held.status is VerdictStatus.HISTORIC or held.reason in (Reason.BY_STAFF, Reason.PAID_TWICE):
        return
    unbound = entry.is_new and entry.checkout is None
    if unbound and historic_before and is_historic(entry.after, historic_before):
        entry.verdict = Verdict(VerdictStatus.HISTORIC)
        return
    entry.verdict = judge(
        entry.after,
        entry.checkout.sale if entry.checkout else None,
        accept_unbound=project.unbound_orders == "accept",
        accept_test=project.accept_test_payments,
    )


def _follow(entry: Entry, cause: Cause) -> None:
    """What follows from the move: the service's facts, the shop's sale, and what staff should look at."""
    contradictions = new_contradictions(entry.before, entry.after)
    entry.incidents.extend(contradictions)
    if entry.verdict.status is VerdictStatus.HISTORIC and cause.source is Source.LIST:
        return
    for event in new_events(entry.before, entry.after):
        signal = event.replace(".", "_")
        entry.notices.append(Notice(signal, (signal, entry.order_id)))
    if entry.granted and not entry.granted_before:
        grant(entry)
    take_back(entry)
    in_review = entry.after.paid and entry.verdict.status is VerdictStatus.REVIEW
    if in_review and entry.verdict != entry.verdict_before:
        announce_review(entry, entry.verdict.reason)
        _say_what_to_set(entry)
    for code in contradictions:
        if code in REVIEWED:
            announce_review(entry, code)


def _say_what_to_set(entry: Entry) -> None:
    if entry.verdict.reason == Reason.UNBOUND:
        # %r: the id is the service's text, and a line end in it would forge a line of the log (C.10).
        logger.warning(
            "Order %r is paid and bound to no checkout of this shop, so no goods were granted. Sell with "
            "flows.create_checkout, name its checkout in Hooks.resolve_checkout, or set UNBOUND_ORDERS.",
            entry.order_id,
        )
