"""The check before each attempt: does a run of ``checkout_paid`` or ``checkout_reversed`` still have something to do?

The runs of one checkout are exclusive, so what was granted cannot change between this check and the attempt. Only a run that
was made before its order was bound to a checkout belongs to another line: a reversal waits until that run has ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from checkout_integration.flows.database import about_order, key_of, locked, open_incidents, update
from checkout_integration.flows.outbox import receivers
from checkout_integration.flows.outbox.messages import without_common, write_messages
from checkout_integration.flows.outbox.receivers import name_here, other_names, stored_name
from checkout_integration.models import Checkout, Grant, Notification, Order, OutboxMessage, ReceiverRun
from checkout_integration.models.order import public_state_of
from checkout_integration.policy.signals import signal_facts
from checkout_integration.policy.undoing import GrantedBy, Ruling, undo
from checkout_integration.policy.verdict import Reason
from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.signals import checkout_abandoned, checkout_paid, checkout_reversed

# Which receivers of ``checkout_paid`` were begun and completed for a grant: its runs show it, and two columns of the grant.
#
# A run that has counted an attempt was begun, and one that is done has completed. Code that resets or deletes a run writes
# this on the grant first (`remember`). Staff who have granted by hand are written there too.

State = ReceiverRun.State
GAME_SERVER: Final = "game server"
"""Stands among the completed receivers of a grant that a game server has acknowledged; ``undoes`` may name it."""


def granted_by_receivers(grant: Grant) -> tuple[GrantedBy, bool]:
    """Return the receivers of ``checkout_paid`` that began and completed for a closed grant, and whether one is running.

    By the names under which their runs are stored.

    RACE: one statement reads all runs, so each of them is either running, or has ended and shows how. No run begins any more,
    whatever its line: an attempt looks for an open grant under its run's lock, and its claim was committed before that. If a
    run is reset after it was read here, the grant says what it did, and the grant is read last.
    """
    opening = key_of(grant.project, checkout_paid.name, grant.key)
    own = ReceiverRun.primary.filter(message__idempotency_key=opening)
    runs = list(own.values_list("receiver", "state", "attempts"))
    columns = Grant.primary.only("begun", "completed").get(pk=grant.pk)
    begun = {receiver for receiver, _, attempts in runs if attempts}
    completed = {receiver for receiver, state, _ in runs if state == State.DONE}
    by = GrantedBy(
        begun=_stored(begun.union(columns.begun)), completed=_stored(completed.union(columns.completed))
    )
    return by, any(state == State.RUNNING for _, state, _ in runs)


def remember(runs: Iterable[ReceiverRun]) -> None:
    """Write on their grants which receivers of ``checkout_paid`` these runs have begun and completed.

    Inside a transaction that has locked them. Lock order: runs, then grants. The ledger locks grants, and waits for no run.
    """
    begun: dict[int, list[ReceiverRun]] = defaultdict(list)
    for run in runs:
        if run.attempts:
            begun[run.message_id].append(run)
    opening = OutboxMessage.primary.filter(pk__in=begun, signal=checkout_paid.name)
    messages = {message.grant_id: message.pk for message in opening if message.grant_id}
    grants = list(locked(Grant.primary.filter(pk__in=messages)).order_by("pk"))
    for grant in grants:
        own = begun[messages[grant.pk]]
        grant.begun = sorted({*grant.begun, *(run.receiver for run in own)})
        grant.completed = sorted(
            {*grant.completed, *(run.receiver for run in own if run.state == State.DONE)}
        )
    update(grants, ("begun", "completed"))


def complete_by_staff(grant: int, receiver: str) -> bool:
    """Note on an open grant that a receiver has completed; return False if it is not open. Inside a transaction.

    RACE: the ledger may be closing the grant. Under its lock it is either open, and the reversal will find this note, or
    closed, and nothing is noted.
    """
    row = locked(Grant.primary.filter(pk=grant).only("state", "completed")).get()
    if row.state != Grant.State.OPEN:
        return False
    row.completed = sorted({*row.completed, receiver})
    row.save(update_fields=["completed"])
    return True


def ruling_on(run: ReceiverRun) -> Ruling:
    """Return whether a run is to be run. The caller has locked its row and read its grant."""
    message = run.message
    if _ran_as_another(run):
        return Ruling.SUPERSEDED
    if message.signal == checkout_abandoned.name:
        paying = message.checkout is None or not is_abandoned(message.checkout)
        return Ruling.SUPERSEDED if paying else Ruling.RUN
    if message.grant is None:
        return Ruling.RUN
    if message.signal == checkout_paid.name:
        return Ruling.RUN if message.grant.state == Grant.State.OPEN else Ruling.SUPERSEDED
    if message.signal == checkout_reversed.name:
        return _ruling_on_reversal(run, message.grant)
    return Ruling.RUN


def is_abandoned(checkout: Checkout) -> bool:
    """Return whether a checkout waits for its customer, who can pay in its form.

    It is judged when ``checkout_abandoned`` is written, and again right before a receiver runs. Not while a payment may be
    under way: an order is pending, or something is stored about it and not applied yet. An erased customer is not reminded.
    """
    if checkout.status != Checkout.Status.OPEN or not checkout.payment_form_url or checkout.erased_at:
        return False
    stored = Notification.primary.filter(project=checkout.project, due_at__isnull=False)
    pending = Order.primary.filter(checkout=checkout.pk, status=OrderStatus.PENDING)
    about = [stored.filter(reference=checkout.reference), pending]
    if checkout.order_id:
        about.append(stored.filter(object_id=checkout.order_id))
    return not any(rows.exists() for rows in about)


def _ran_as_another(run: ReceiverRun) -> bool:
    """Return whether the receiver was begun for this message under another of its names, as its runs are one.

    Two runs are there if both names were connected before a release declared that they are one receiver. They are of one
    line, so the other one is not running.
    """
    others = other_names(run.message.signal, run.receiver)
    if not others:
        return False
    runs = ReceiverRun.primary.filter(message=run.message_id, receiver__in=others)
    return runs.filter(attempts__gt=0).exists()


def _ruling_on_reversal(run: ReceiverRun, grant: Grant) -> Ruling:
    """Return whether a receiver of ``checkout_reversed``, which this process can run, has goods to revoke.

    A release may undo the same goods by another name than this one: what was recorded last counts too. The receivers of
    ``checkout_paid`` are known that are connected here, or that a receiver of another process undoes.
    """
    granted, is_running = granted_by_receivers(grant)
    if is_running:
        return Ruling.WAIT
    remembered, paid = receivers.this_process.remembered, checkout_paid.connected(sender=Order)
    undoing = checkout_reversed.undoing(name_here(checkout_reversed, run.receiver), paid)
    row = remembered.row(checkout_reversed.name, run.receiver)
    undone = {*undoing.names, *(row.undoes if row and undoing.names else ())}  # empty if it undoes all
    others = [each for each in remembered.rows if each.signal == checkout_reversed.name and each is not row]
    undone_by_others = {name for each in others if each.retired_at is None for name in each.undoes}
    known = _stored(undone_by_others.union(paid)) | {GAME_SERVER}
    return undo(granted, _stored(undone), connected=known, attempted=undoing.when == "attempted")


def _stored(names: Iterable[str]) -> frozenset[str]:
    return frozenset(stored_name(checkout_paid.name, name) for name in names)


def ask_staff_to_undo(run: ReceiverRun) -> None:
    """Ask staff for a review: goods were granted by receivers that are no longer known. Inside the caller's transaction."""
    message, reason = run.message, Reason.RECEIVERS_RENAMED
    # Lock order: order, checkout. The messages of a line are recorded under the lock of its checkout or order.
    order = locked(Order.primary.filter(outbox_messages=message)).get()
    if message.checkout_id:
        locked(Checkout.primary.filter(pk=message.checkout_id)).get()
    own = {
        "source": message.all_arguments["source"],
        "reason": reason,
        **signal_facts(public_state_of(order)),
    }
    review = OutboxMessage(
        idempotency_key=key_of(message.project, "review", order.order_id, reason),
        signal="payment_review",
        project=message.project,
        order=order,
        checkout_id=message.checkout_id,
        arguments=without_common(own),
    )
    write_messages([review])
    open_incidents([about_order(order, f"review:{reason}", detail=run.receiver)])
