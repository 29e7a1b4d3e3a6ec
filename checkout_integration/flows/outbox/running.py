"""The run of a receiver. Every step may be repeated: rows say what is due, and many processes may work at the same time."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Final

from asgiref.sync import async_to_sync, iscoroutinefunction
from django.db import connections, transaction

from checkout_integration import telemetry
from checkout_integration.conf import app_settings
from checkout_integration.flows.database import (
    LONGEST_PAUSE,
    MOST_DEADLOCKS,
    TRANSIENT_DATABASE_ERRORS,
    Query,
    is_deadlock,
    limit_struck,
    limits_raised,
    state_database,
    use_read_committed_next,
    with_retries,
    write_transaction,
)
from checkout_integration.flows.outbox.claiming import BATCH, HOLD, Worker, claim, give_back
from checkout_integration.flows.outbox.exclusivity import finish
from checkout_integration.flows.outbox.messages import rows_among_arguments
from checkout_integration.flows.outbox.receivers import callables, plan_of, record_own
from checkout_integration.flows.outbox.retrying import (
    fail,
    give_up,
    leave_to_others,
    postpone,
    put_back,
    take_back_attempt,
)
from checkout_integration.flows.outbox.undoing import ask_staff_to_undo, ruling_on
from checkout_integration.models import Checkout, Grant, Order, OutboxMessage, ReceiverRun
from checkout_integration.models.order import public_state_of
from checkout_integration.models.row import Row
from checkout_integration.policy.signals import signal_facts
from checkout_integration.policy.undoing import Ruling
from checkout_integration.protocol.form import safe_address
from checkout_integration.signals import LIFE_CYCLE, SIGNALS, RetryLater, checkout_abandoned
from checkout_integration.signals.durable import Receiver

State = ReceiverRun.State
OUTCOMES: Final = {State.DONE: "succeeded", State.SUPERSEDED: "superseded", State.FAILED: "given_up"}

# The arguments of receivers, read for a whole batch. The beginning of an attempt checks whether they have changed.


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A claimed run with the rows of its arguments, if they were loaded. ``order``: with a grant, its payer.

    ``others``: other rows among the arguments, by the names of these; None for one that was removed.
    """

    run: ReceiverRun
    order: Order | None = None
    others: Mapping[str, Row | None] = field(default_factory=dict)
    is_loaded: bool = False


def prepare(runs: Sequence[ReceiverRun]) -> list[Prepared]:
    """Load the rows of a batch. A single run loads them after it is locked, so they cannot have changed."""
    return load(runs) if len(runs) > 1 else [Prepared(run=run) for run in runs]


def load(runs: Sequence[ReceiverRun]) -> list[Prepared]:
    """Read the arguments of runs: at most one statement each for messages with grants, orders, and other rows."""
    by_key = {message.pk: message for message in _MESSAGES.rows(keys={run.message_id for run in runs})}
    payers = {message.payer_id for message in by_key.values()} - {None}
    orders = _ORDERS.rows(keys=payers) if payers else []
    paying: dict[int | None, Order] = {order.pk: order for order in orders}
    others = rows_among_arguments(by_key.values())
    prepared = []
    for run in runs:
        run.message = message = by_key[run.message_id]
        order = paying.get(message.payer_id)
        if order is not None and order.pk == message.order_id:
            message.order = order
        if order is not None and message.grant is not None:
            message.grant.order = order
        if order is not None and order.checkout_id == message.checkout_id:
            message.checkout = order.checkout
        prepared.append(Prepared(run=run, order=order, others=others.get(message.pk, {}), is_loaded=True))
    return prepared


def lock(prepared: Prepared) -> bool | None:
    """Lock a claimed run for the open transaction; return None when another process has taken it over.

    Otherwise return whether grant, order and checkout are unchanged since they were loaded. Mostly they are: one statement.
    """
    run, order = prepared.run, prepared.order
    ours: dict[str, object] = {"run": run.pk, "fence": run.fence}
    if not prepared.is_loaded:
        return False if _locking().fetch(**ours) else None
    grant = run.message.grant
    checkout = order.checkout if order is not None else None
    values = {**ours}
    if grant is not None:
        values |= {"grant": grant.pk, "grant_state": grant.state, "payer": grant.order_id}
    if order is not None:
        values |= {"order": order.pk, "changed_at": order.changed_at}
    if checkout is not None:
        values |= {"checkout": checkout.pk, "status": checkout.status}
    if _locking(grant is not None, order is not None, checkout is not None).fetch(**values):
        return True
    return False if _locking().fetch(**ours) else None


_MESSAGES: Final = Query(OutboxMessage, "own.id IN {keys}", joined=("grant", "transition"))
_ORDERS: Final = Query(Order, "own.id IN {keys}", joined=("personal_data", "checkout", "user"))
_OURS: Final = "own.id = {run} AND own.fence = {fence} AND own.state = 'running'"
# In subqueries, since MariaDB locks every table that is joined.
_UNCHANGED: Final = (
    "EXISTS (SELECT 1 FROM {grants} WHERE id = {grant} AND state = {grant_state} AND order_id = {payer})",
    "EXISTS (SELECT 1 FROM {orders} WHERE id = {order} AND changed_at = {changed_at})",
    "EXISTS (SELECT 1 FROM {checkouts} WHERE id = {checkout} AND status = {status})",
)


@cache
def _locking(*loaded: bool) -> Query[ReceiverRun]:
    """Return the query that locks a run if its loaded grant, order and checkout are unchanged."""
    conditions = [text for text, is_loaded in zip(_UNCHANGED, loaded, strict=False) if is_loaded]
    where = " AND ".join([_OURS, *conditions])
    return Query(
        ReceiverRun, where, only=["id"], lock=["own"], grants=Grant, orders=Order, checkouts=Checkout
    )


# One attempt to run one receiver: exactly once for its effects in this database, at least once for others.

logger = logging.getLogger("checkout_integration.receivers")


class _TakenOver(Exception):
    """Another process has taken over the run; what this one did is rolled back."""


class ProcessEnded(Exception):
    """The receiver ended its process at each attempt, so no failure could be stored: it was killed, or out of memory."""


@dataclass(frozen=True, kw_only=True)
class DueSummary:
    """What was done of what was due: applied, run, or both.

    Attributes:
        applied: notifications that were applied.
        waiting: notifications that failed or are quarantined.
        run: receivers that were run.
        failed: how many of these receivers failed.
        postponed: receivers that were run as well, and asked to be called later.
        ended_early: whether it ended before all was done.

    """

    applied: int = 0
    waiting: int = 0
    run: int = 0
    failed: int = 0
    postponed: int = 0
    ended_early: bool = False

    @property
    def did_anything(self) -> bool:
        """Whether there was anything due."""
        return bool(self.applied or self.waiting or self.run or self.postponed)

    def __add__(self, other: DueSummary) -> DueSummary:
        return DueSummary(
            applied=self.applied + other.applied,
            waiting=self.waiting + other.waiting,
            run=self.run + other.run,
            failed=self.failed + other.failed,
            postponed=self.postponed + other.postponed,
            ended_early=other.ended_early,
        )


def attempt(prepared: Prepared) -> DueSummary:
    """Run a claimed run; return what was done: nothing, when its receiver was not called.

    A deadlock is no failure of the receiver: it is run again at once, and no attempt is counted. Nor is a database that is
    busy or lost before the receiver is called: the run is due again. SQLite is busy while any other process writes.
    """
    run = prepared.run
    for deadlocks in range(1, MOST_DEADLOCKS + 1):
        failure: BaseException | None = None
        begun, called = time.monotonic(), list[ReceiverRun]()
        try:
            state = _attempt(prepared, called)
        except _TakenOver:
            text = "ReceiverRun %s was taken over by another process; its effects here are undone."
            logger.warning(text, run.pk, extra=run.log_ids)
            return DueSummary()
        except (Exception, SystemExit) as error:  # noqa: BLE001  # a receiver may raise anything, and must not stop the others
            failure = error
        if failure is None:
            _report(run, state)
            return DueSummary(run=1, failed=int(state == State.FAILED))
        # Not while the exception is handled: it would be the context of an error of ours, which is logged with its message.
        if not is_deadlock(failure) or deadlocks == MOST_DEADLOCKS:
            if not called and isinstance(failure, TRANSIENT_DATABASE_ERRORS):
                give_back([run])
                return DueSummary()
            if isinstance(failure, RetryLater) and postpone(run, failure):
                return DueSummary(postponed=1)
            fail(run, failure, limit_struck(failure, time.monotonic() - begun, app_settings().receiver_limit))
            return DueSummary(run=1, failed=1)
        # Read anew: the receiver may have changed its rows, and those that it reached from them, in memory.
        prepared = Prepared(run=run)
        time.sleep(random.uniform(0, LONGEST_PAUSE))  # noqa: S311  # jitter, no secret
    raise AssertionError  # not reached: the last try returns


def _report(run: ReceiverRun, state: ReceiverRun.State) -> None:
    """Count and log the end of a run, after its commit; `fail` counts and logs failures."""
    if outcome := OUTCOMES.get(state):
        message = run.message
        telemetry.count(telemetry.RUNS, project=message.project, signal=message.signal, outcome=outcome)
        logger.info("Receiver %s %s at attempt %s.", run.receiver, outcome, run.attempts, extra=run.log_ids)


def _attempt(prepared: Prepared, called: list[ReceiverRun]) -> ReceiverRun.State:
    """Lock the run, call the receiver, and mark it as done with the receiver's own writes; return its new state.

    ``called``: gets the run before its receiver is called.
    """
    alias, run = state_database(), prepared.run
    if not connections[alias].in_atomic_block:
        use_read_committed_next()
    with write_transaction():
        if (unchanged := lock(prepared)) is None:
            raise _TakenOver
        if not unchanged:
            (prepared,) = load([run])
        ruling = ruling_on(run)
        if ruling is not Ruling.RUN:
            return _leave(run, ruling)
        receiver = callables(run.message.signal).get(run.receiver)
        if receiver is None:
            # It was connected when the run was claimed, or is connected to another signal only.
            leave_to_others(run)
            return State.UNKNOWN
        if run.attempts > plan_of(run.message.signal, run.receiver).most_attempts:
            raise ProcessEnded
        called.append(run)
        with limits_raised(app_settings().receiver_limit), _savepoint():
            _call(prepared, receiver)
        return _finish(run, State.DONE)


def _savepoint() -> Any:
    """Return a savepoint on InnoDB, where a deadlock removes the savepoint together with all that the receiver wrote.

    So a receiver that hides the deadlock fails at its end, and is not marked as done. Other databases end the transaction.
    """
    alias = state_database()
    return transaction.atomic(using=alias) if connections[alias].vendor == "mysql" else nullcontext()


def _finish(run: ReceiverRun, state: ReceiverRun.State) -> ReceiverRun.State:
    if not finish(run, state):
        raise _TakenOver
    return state


def _leave(run: ReceiverRun, ruling: Ruling) -> ReceiverRun.State:
    """Carry out a ruling other than to run it; return the run's new state."""
    if ruling is Ruling.SUPERSEDED:
        take_back_attempt(run)
        return _finish(run, State.SUPERSEDED)
    if ruling is Ruling.WAIT:
        put_back(run)
        return State.DUE
    if not give_up(run, "ReceiversRenamed"):
        raise _TakenOver
    ask_staff_to_undo(run)
    return State.FAILED


AT_END: Final[list[Callable[[ReceiverRun], None]]] = []
"""Called when a receiver has returned, in its transaction: empty, but for the test kit, which interrupts receivers there."""


def _call(prepared: Prepared, receiver: Receiver) -> None:
    run = prepared.run
    signal = SIGNALS[run.message.signal]
    call: Receiver = async_to_sync(receiver) if iscoroutinefunction(receiver) else receiver
    with telemetry.timed(telemetry.RECEIVER, project=run.message.project, signal=signal.name):
        telemetry.describe(run.log_ids)
        call(sender=Order, signal=signal, **arguments_of(prepared))
    for act in AT_END:
        act(run)


def arguments_of(prepared: Prepared) -> dict[str, Any]:
    """Return the named arguments of a receiver; docs/fulfilment.md and docs/receivers.md say what they mean."""
    run, message, order = prepared.run, prepared.run.message, prepared.order
    own = {
        "idempotency_key": message.idempotency_key,
        "attempt": run.attempts,
        **message.all_arguments,
        **prepared.others,
    }
    transition = message.transition
    if order is not None and order.pk != message.order_id:
        # The grant was handed over to this order, to which nothing happened by the event.
        transition, own = None, {**own, "previous_status": "", **signal_facts(public_state_of(order))}
    if SIGNALS[message.signal] in LIFE_CYCLE:
        return {"project": message.project, **own}
    checkout = message.checkout
    if message.signal == checkout_abandoned.name and checkout is not None:
        project = app_settings().projects.get(message.project)
        own["form_url"] = safe_address(checkout.payment_form_url, **(project.plain_http if project else {}))
    return {
        "order": order,
        "checkout": checkout,
        "grant": message.grant,
        # Where there is none, the document is not parsed.
        "refund": order.refund if order is not None and order.whole_document.get("refund") else None,
        "transition": transition,
        "verdict": order.verdict if order else "",
        **own,
    }


SECONDS_EACH: Final = 0.01
"""The expected time of one run with its claim: nothing is claimed when less time is left."""


def run_due(
    limit: int = 200,
    seconds: float = 30.0,
    *,
    lines: Collection[str] | None = None,
    worker: Worker | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> DueSummary:
    """Run due receiver runs, oldest first, until none is left, ``limit`` have run, or ``seconds`` have passed.

    Args:
        limit: how many runs at most.
        seconds: after the first run, none is begun that is expected to end later; the last batches are as large as it allows.
        lines: only runs of these lines.
        worker: the worker, of whose slots this call is one; a receiver has at most half of them while others wait.
        stopping: called after each run; True ends the work.

    """
    ends_at, summary, stopped = time.monotonic() + seconds, DueSummary(), False
    record_own(runs=True)
    while not stopped:
        affordable = int((ends_at - time.monotonic()) / SECONDS_EACH)
        if (size := min(BATCH, limit - summary.run, affordable)) < 1:
            break
        if not (claimed := claim(size, worker, lines)):
            return summary
        hold_ends_at = time.monotonic() + HOLD.total_seconds()
        prepared = with_retries(partial(prepare, claimed))
        # One run is begun even if it may end late: a small budget must get something done.
        while prepared and time.monotonic() < (ends_at - SECONDS_EACH if summary.run else ends_at):
            summary += attempt(prepared.pop(0))
            if (stopped := stopping()) or time.monotonic() >= hold_ends_at:
                break
        give_back([left.run for left in prepared])
    return replace(summary, ended_early=True)
